"""When somebody is told: at once, together, not in the night, and not in a storm."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from hadash.notices.timing import Wish, after_quiet, told_at

AT = datetime(2026, 11, 26, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def test_the_first_is_told_at_once() -> None:
    assert told_at(Wish(MINUTE), AT, None, is_urgent=False) == AT


def test_what_comes_within_the_gap_waits_for_its_end() -> None:
    assert told_at(Wish(MINUTE), AT, AT - 20 * timedelta(seconds=1), is_urgent=True) == AT + 40 * timedelta(
        seconds=1
    )


def test_a_digest_gathers_all_but_what_is_urgent() -> None:
    wish = Wish(MINUTE, digest=timedelta(hours=1))
    assert told_at(wish, AT, None, is_urgent=False) == AT + timedelta(hours=1)
    assert told_at(wish, AT, None, is_urgent=True) == AT


class TestQuietHours:
    NIGHT = Wish(MINUTE, quiet=(time(22), time(7)), zone=ZoneInfo("Asia/Shanghai"))

    def at(self, hour: int, minute: int = 0) -> datetime:
        return datetime(2026, 11, 26, hour, minute, tzinfo=ZoneInfo("Asia/Shanghai")).astimezone(UTC)

    def test_they_are_on_the_clocks_of_the_reader(self) -> None:
        assert after_quiet(self.at(21, 59), self.NIGHT) == self.at(21, 59)
        assert after_quiet(self.at(22), self.NIGHT) == self.at(7) + timedelta(days=1)
        assert after_quiet(self.at(3), self.NIGHT) == self.at(7)
        assert after_quiet(self.at(7), self.NIGHT) == self.at(7)

    def test_by_day(self) -> None:
        lunch = Wish(MINUTE, quiet=(time(12), time(13)), zone=ZoneInfo("Asia/Shanghai"))
        assert after_quiet(self.at(12, 30), lunch) == self.at(13)
        assert after_quiet(self.at(13), lunch) == self.at(13)

    def test_what_is_urgent_is_told_all_the_same(self) -> None:
        assert told_at(self.NIGHT, self.at(3), None, is_urgent=True) == self.at(3)

    def test_from_and_until_the_same_is_never(self) -> None:
        never = Wish(MINUTE, quiet=(time(7), time(7)))
        assert after_quiet(AT, never) == AT


TIMES = st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC))
ZONES = st.sampled_from(
    [ZoneInfo("UTC"), ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Shanghai"), ZoneInfo("America/New_York")]
)


@given(TIMES, st.times(), st.times(), ZONES, st.booleans())
def test_nobody_is_told_before_it_happens_or_waits_more_than_a_day(
    at: datetime, begins: time, ends: time, zone: ZoneInfo, urgent: bool
) -> None:
    wish = Wish(MINUTE, quiet=(begins.replace(tzinfo=None), ends.replace(tzinfo=None)), zone=zone)
    told = told_at(wish, at, None, is_urgent=urgent)
    assert at <= told <= at + timedelta(hours=25)  # (a clock may be put back meanwhile)
