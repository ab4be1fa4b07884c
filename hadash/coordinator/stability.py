"""When something has been the same for long enough to act on it. Pure: the time comes in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

T = TypeVar("T")


class Settling(Generic[T]):
    """Tells when a value has not changed for some seconds: members come and go in groups, when many are restarted or a
    network fails, and each change that is acted on moves partitions.

    >>> members = Settling[str](seconds=2.0)
    >>> members.is_settled("a", now=0.0), members.is_settled("a b", now=1.0), members.is_settled("a b", now=3.0)
    (False, False, True)
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._value: T | None = None
        self._since = 0.0

    def is_settled(self, value: T, now: float) -> bool:
        """Whether ``value`` has been the same for long enough.

        :param now: seconds of a clock that does not go back.
        """
        if value != self._value:
            self._value, self._since = value, now
        return self.wait(now) <= 0

    def wait(self, now: float) -> float:
        """The seconds until the value of the last call is settled; not positive when it is."""
        return self._since + self._seconds - now


class Weights:
    """What partitions carry, for strategies that balance it: an average over time that is only renewed now and then.
    What a partition carries changes at any moment; partitions that followed it would never rest.

    :param seconds: between two renewals.
    """

    #: How much of the average a new value makes: an average over some ten questions.
    SHARE = 0.1

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._average: dict[int, float] = {}
        self._kept: dict[int, float] = {}
        self._renewed: float | None = None

    def note(self, rates: Mapping[int, float]) -> None:
        """Take what members have said now.

        :param rates: partition → bytes a second.
        """
        for partition, rate in rates.items():
            before = self._average.get(partition, rate)
            self._average[partition] = before + self.SHARE * (rate - before)

    def at(self, now: float) -> Mapping[int, float]:
        """Partition → bytes a second: the same until they are renewed."""
        if self._renewed is None or now - self._renewed >= self._seconds:
            self._kept, self._renewed = dict(self._average), now
        return self._kept
