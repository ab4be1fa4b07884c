"""What is not done, and why: for the person who asked. Pure."""

from __future__ import annotations

from hadash.sentences import Sentence


class Refused(Exception):
    """What was asked for is not possible. ``reasons`` are for the person who asked."""

    def __init__(self, *reasons: Sentence) -> None:
        super().__init__(" ".join(str(reason) for reason in reasons))
        self.reasons = list(reasons)
