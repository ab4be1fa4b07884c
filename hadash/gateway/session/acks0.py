"""Writes that ask for no answer (acks=0): whether the broker has worked them off."""

from __future__ import annotations


class Acks0:
    """Of one connection to a broker, which works off its requests one by one: the answer to one more request
    proves that it has worked off the writes before it. Until that is asked for, nobody can tell.
    """

    __slots__ = ("on_the_way", "proofs")

    def __init__(self) -> None:
        #: Some were written since the last proof was asked for.
        self.on_the_way = False
        #: Requests that are under way as proofs.
        self.proofs = 0

    def written(self) -> None:
        """One more was passed on."""
        self.on_the_way = True

    def asked(self) -> None:
        """The request goes out whose answer proves those that were written by now."""
        self.on_the_way = False
        self.proofs += 1

    def proved(self) -> None:
        """That answer has come."""
        self.proofs -= 1
