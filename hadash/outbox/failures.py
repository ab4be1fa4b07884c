"""The failures of sending a message, for all transports."""

from __future__ import annotations


class Unavailable(Exception):
    """The server accepts no message now: it does not answer, or refuses the sign-in. The message is not at fault."""


class Deferred(Exception):
    """The server asks to try later. Nothing was accepted. ``at_least``: the seconds that it has asked for."""

    def __init__(self, said: str, at_least: float = 0.0) -> None:
        super().__init__(said)
        self.at_least = at_least


class Refused(Exception):
    """The server refuses this message or this recipient permanently."""


class Gone(Refused):
    """The recipient no longer exists, for this message and for all others."""


class Untold(Exception):
    """The connection ended after the message was handed over and before the server answered: it may have
    accepted it.
    """


class NotOurs(Exception):
    """``before_hand_over`` returned ``False``: nothing was handed over."""
