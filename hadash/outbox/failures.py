"""What a server's answer to a message means. The same for all transports."""

from __future__ import annotations


class Unavailable(Exception):
    """There is no server that would take anything now: it does not answer, or wants another sign-in. No
    message is at fault.
    """


class Deferred(Exception):
    """The server says "later". Nothing was taken. ``at_least``: seconds that it has asked for."""

    def __init__(self, said: str, at_least: float = 0.0) -> None:
        super().__init__(said)
        self.at_least = at_least


class Refused(Exception):
    """The server refuses this message or this recipient for good."""


class Gone(Refused):
    """The other side says that there is nobody any more, for this message and for all others."""


class Untold(Exception):
    """The connection ended after the message was handed over and before the server answered: it may have it."""


class NotOurs(Exception):
    """``before_hand_over`` said no. Nothing was handed over."""
