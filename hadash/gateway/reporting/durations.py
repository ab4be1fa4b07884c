"""A histogram of how long something takes."""

from __future__ import annotations

#: The upper bounds of the histogram of resolve times, in seconds: from a dictionary look-up to far too slow.
RESOLVE_BOUNDS = (0.000_002, 0.000_005, 0.000_01, 0.000_02, 0.000_05, 0.000_1, 0.001, 0.01)


class Durations:
    """A histogram that is cheap to add to."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.total += seconds
        for place, bound in enumerate(self._bounds):
            if seconds <= bound:
                self.counts[place] += 1
                return
        self.counts[-1] += 1

    def buckets(self) -> list[tuple[str, float]]:
        """Return cumulative buckets, as Prometheus expects them.

        >>> durations = Durations((0.1, 1.0)); durations.add(0.05); durations.add(5); durations.buckets()
        [('0.1', 1), ('1.0', 1), ('+Inf', 2)]
        """
        found: list[tuple[str, float]] = []
        below = 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self.counts, strict=True):
            below += count
            found.append((bound, below))
        return found
