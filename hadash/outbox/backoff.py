"""Computes when a deferred delivery is tried again. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """The delays between tries. ``delays``: seconds between a try and the next; there is one try more than
    delays.
    ``jitter``: the largest share by which a delay is extended, so that deliveries that failed together are not
    retried together.
    """

    delays: Sequence[float]
    jitter: float = 0.0

    @property
    def tries(self) -> int:
        return len(self.delays) + 1

    def delay_after(self, tries: int, key: str, at_least: float = 0.0) -> float | None:
        """Return the seconds until the next try; ``None`` when there is none.

        :param tries: the number of tries so far, from 1.
        :param key: the delivery's key, from which its jitter is derived.
        :param at_least: the seconds that the server has asked for (Retry-After).

        >>> plan = RetryPlan((60, 300))
        >>> [plan.delay_after(tries, "a") for tries in (1, 2, 3)]
        [60.0, 300.0, None]
        >>> plan.delay_after(1, "a", at_least=90.0)
        90.0
        """
        if tries > len(self.delays):
            return None
        share = zlib.crc32(f"{key} {tries}".encode()) / 2**32
        return max(self.delays[tries - 1] * (1 + self.jitter * share), at_least)
