"""Writes that request no answer (acks=0): whether the broker has processed them."""

from __future__ import annotations


class Acks0:
    """The acks=0 writes of one connection to a broker.

    A broker processes the requests of a connection one by one, so the answer to one more request proves that it has
    processed the writes before it. Without that request it is unknown.
    """

    __slots__ = ("on_the_way", "proofs")

    def __init__(self) -> None:
        #: Whether any were written since the last proof was requested.
        self.on_the_way = False
        #: Requests under way that serve as proofs.
        self.proofs = 0

    def written(self) -> None:
        """Note that one more write was passed on."""
        self.on_the_way = True

    def asked(self) -> None:
        """Note that the request goes out whose answer proves the writes before it."""
        self.on_the_way = False
        self.proofs += 1

    def proved(self) -> None:
        """Note that such an answer has arrived."""
        self.proofs -= 1
