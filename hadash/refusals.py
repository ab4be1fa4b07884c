"""The error for a request that is not carried out, with its reasons. Pure."""

from __future__ import annotations

from hadash.sentences import Sentence


class Refused(Exception):
    """The request is not possible. ``reasons`` are shown to the person who asked."""

    def __init__(self, *reasons: Sentence) -> None:
        super().__init__(" ".join(str(reason) for reason in reasons))
        self.reasons = list(reasons)
