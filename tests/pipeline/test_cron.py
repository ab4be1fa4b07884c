"""Times of schedules."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hadash.pipeline.cron import NoSuchTime, following, validated
from hadash.pipeline.jobs import JOBS

SUNDAY = datetime(2026, 11, 22, 2, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "next_one"),
    [
        ("30 2 * * *", "2026-11-23T02:30"),  # not at once again
        ("*/10 * * * *", "2026-11-22T02:40"),
        ("0,45 3-4 * * *", "2026-11-22T03:00"),
        ("5 0 * * mon-fri", "2026-11-23T00:05"),
        ("0 0 29 2 *", "2028-02-29T00:00"),
    ],
)
def test_the_next_moment_is_after_the_one_before(cron: str, next_one: str) -> None:
    assert f"{following(validated(cron), SUNDAY):%Y-%m-%dT%H:%M}" == next_one


@pytest.mark.parametrize(
    "cron", ["", "* * * *", "61 * * * *", "*/0 * * * *", "a * * * *", "0 0 30 feb *", "每 * * * *"]
)
def test_what_is_no_time_is_refused_with_what_to_write(cron: str) -> None:
    with pytest.raises(NoSuchTime, match=r"\* \* \*|\*/10"):
        validated(cron)


@pytest.mark.parametrize("job", JOBS)
def test_every_job_has_a_time_at_first(job: str) -> None:
    assert validated(JOBS[job].cron) == JOBS[job].cron
