"""When jobs run: by the clock, by hand, again after a failure, and never two of one job at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from hadash.audit.models import Entry
from hadash.governance.models.runs import Run
from hadash.lake import snapshots
from hadash.lake.access import write_batch
from hadash.lake.store import Store
from hadash.pipeline import claims, running, schedules
from hadash.pipeline.jobs import JOBS, Job
from hadash.pipeline.models import Schedule
from hadash.refusals import Refused
from hadash.sentences import NOTHING
from spark.publishing import runs
from spark.publishing.faults import DIED

pytestmark = [pytest.mark.stack, pytest.mark.django_db(transaction=True)]

W, R, P, F = Run.State.WAITING, Run.State.RUNNING, Run.State.PUBLISHED, Run.State.FAILED


def look(handed: list[Run]) -> list[str]:
    """Let beat look once; the jobs that were handed to a worker by it."""
    before = len(handed)
    schedules.look(handed.append)
    return sorted(run.job for run in handed[before:])


def only(*jobs: Job) -> None:
    """All others run by hand only."""
    schedules.known()
    Schedule.objects.exclude(job__in=jobs).update(enabled=False)


def ended(job: Job, state: str = P, **more: Any) -> Run:
    now = timezone.now()
    return Run.objects.create(job=job, state=state, began_at=now, ended_at=now, **more)


# -- by the clock --------------------------------------------------------------------------------------------------


def test_in_a_new_installation_runs_what_needs_nothing_and_then_what_needs_that(
    lake: Store, handed: list[Run]
) -> None:
    assert look(handed) == [Job.CLEANING, Job.SNAPSHOT]
    assert look(handed) == []  # nothing has come
    write_batch(lake, "gateway-1", [report()], datetime.now(UTC))
    assert look(handed) == [Job.FACTS]
    snapshots.write(lake, datetime.now(UTC), {})
    assert look(handed) == []  # no facts yet
    lake.write_json("tables/manifest.json", MANIFEST)
    assert look(handed) == []  # they are still being made
    Run.objects.filter(job=Job.FACTS).update(state=P)
    assert look(handed) == [Job.ADVICE, Job.COVERAGE, Job.LAG, Job.RISK, Job.TOPOLOGY]
    assert look(handed) == []


def test_whoever_names_a_topic_has_a_job_that_reads_it(
    lake: Store, handed: list[Run], olga: Any, ada: Any, settings: Any
) -> None:
    assert Job.FROM_KAFKA not in schedules.known()
    with pytest.raises(Refused, match="HADASH_LAKE_TOPIC"):
        schedules.run_now(olga, Job.FROM_KAFKA, handed.append)
    with pytest.raises(Refused, match="HADASH_LAKE_TOPIC"):
        schedules.change(ada, Job.FROM_KAFKA, "0 * * * *", True)
    settings.LAKE_TOPIC, settings.LAKE_TOPIC_PROPERTIES = "access-reports", "/etc/hadash/east.properties"
    assert look(handed) == [Job.CLEANING, Job.FROM_KAFKA, Job.SNAPSHOT]
    (run,) = (run for run in handed if run.job == Job.FROM_KAFKA)
    told = running.order(run)
    assert told[told.index("--topic") + 1] == "access-reports"
    assert told[told.index("--kafka") + 1] == "/etc/hadash/east.properties"
    settings.LAKE_TOPIC = ""
    assert Job.FROM_KAFKA not in {each.about.job for each in schedules.overview()}


MANIFEST = {"version": 1, "newest": "2026-11-22", "facts": "", "days": {}, "before": []}


def report() -> dict[str, Any]:
    now = datetime.now(UTC)
    return {"gateway": "gateway-1", "appid": "shop", "first_seen": now, "last_seen": now}


def test_what_is_made_of_facts_waits_for_those_that_are_being_made(lake: Store, handed: list[Run]) -> None:
    lake.write_json("tables/manifest.json", MANIFEST)
    snapshots.write(lake, datetime.now(UTC), {})
    only(Job.FACTS, Job.RISK)
    write_batch(lake, "gateway-1", [report()], datetime.now(UTC))
    assert look(handed) == [Job.FACTS]
    (making,) = handed
    assert look(handed) == [], "risk waits"
    waiting = Run.objects.get(job=Job.RISK)
    long_ago = timezone.now() - timedelta(days=1)
    Run.objects.filter(pk=waiting.pk).update(due_at=long_ago)
    assert look(handed) == []
    waiting.refresh_from_db()
    assert waiting.due_at > long_ago, "it is not late"
    Run.objects.filter(pk=making.pk).update(state=P)
    assert look(handed) == [Job.RISK]


def test_when_its_time_comes_a_job_is_handed_over_once(lake: Store, handed: list[Run]) -> None:
    only(Job.SNAPSHOT)
    at = timezone.now()
    Schedule.objects.filter(job=Job.SNAPSHOT).update(looked_at=at)
    assert look(handed) == []
    Schedule.objects.filter(job=Job.SNAPSHOT).update(looked_at=at - timedelta(minutes=11))
    assert look(handed) == [Job.SNAPSHOT]
    assert look(handed) == []


def test_while_one_runs_the_next_is_left_out_and_says_so(lake: Store, handed: list[Run]) -> None:
    only(Job.SNAPSHOT)
    with runs.begun(running.conninfo(), Job.SNAPSHOT):
        assert look(handed) == []
    schedule = Schedule.objects.get(job=Job.SNAPSHOT)
    assert schedule.left_out_at is not None
    assert Run.objects.filter(state=W).count() == 0


def test_without_a_lake_nothing_runs(settings: Any, handed: list[Run], olga: Any) -> None:
    settings.LAKE = ""
    assert look(handed) == []
    with pytest.raises(Refused, match="HADASH_LAKE"):
        schedules.run_now(olga, Job.SNAPSHOT, handed.append)


def test_what_redis_has_lost_is_handed_over_again(lake: Store, handed: list[Run], settings: Any) -> None:
    only(Job.SNAPSHOT)
    assert look(handed) == [Job.SNAPSHOT]
    settings.PIPELINE_HAND_AGAIN_SECONDS = 0
    assert look(handed) == [Job.SNAPSHOT]
    assert len({run.pk for run in handed}) == 1


# -- by hand -------------------------------------------------------------------------------------------------------


def test_whoever_may_has_a_job_run_now(lake: Store, handed: list[Run], olga: Any) -> None:
    run = schedules.run_now(olga, Job.RISK, handed.append, "10.0.0.1")
    assert (run.state, run.asked_by, handed) == (W, "olga", [run])
    with pytest.raises(Refused, match="under way"):
        schedules.run_now(olga, Job.RISK, handed.append)
    entry = Entry.objects.get(verb="run job")
    assert (entry.subject, entry.details["run"]) == ("job risk", run.pk)


def test_nobody_else_may(lake: Store, handed: list[Run], olga: Any, django_user_model: Any) -> None:
    vera = django_user_model.objects.create_user("vera")
    with pytest.raises(PermissionDenied):
        schedules.run_now(vera, Job.RISK, handed.append)
    with pytest.raises(PermissionDenied):
        schedules.change(olga, Job.RISK, "0 1 * * *", True)  # an operator does not change when jobs run


def test_a_schedule_is_changed_and_what_was_due_by_the_new_time_is_over(
    lake: Store, handed: list[Run], ada: Any
) -> None:
    only(Job.SNAPSHOT)
    schedules.change(ada, Job.SNAPSHOT, " */5 *  * * *", True)
    assert look(handed) == []
    found = schedules.known()[Job.SNAPSHOT]
    assert (found.cron, found.changed_by) == ("*/5 * * * *", ada)
    entry = Entry.objects.get(verb="schedule")
    assert entry.details["before"] == {"cron": JOBS[Job.SNAPSHOT].cron, "enabled": True}
    schedules.change(ada, Job.SNAPSHOT, "*/5 * * * *", True)  # nothing has changed
    assert Entry.objects.filter(verb="schedule").count() == 1
    with pytest.raises(Refused, match="five parts"):
        schedules.change(ada, Job.SNAPSHOT, "soon", True)


# -- what goes wrong -----------------------------------------------------------------------------------------------


def test_what_has_failed_is_tried_again_and_then_alarms(
    lake: Store, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.PIPELINE_RETRIES, settings.PIPELINE_RETRY_SECONDS = 1, 0
    schedules.known()
    Schedule.objects.update(looked_at=timezone.now())  # beat has looked a moment ago
    good = ended(Job.RISK)
    first = ended(Job.RISK, F, fault="The database was away.", asked_by="olga")
    second = schedules.try_again(first)
    assert second is not None
    assert (second.attempt, second.asked_by, second.state) == (2, "olga", W)
    assert schedules.alarms() == 0  # it is tried again
    Run.objects.filter(pk=second.pk).update(state=F, ended_at=timezone.now(), fault="Still away.")
    assert schedules.try_again(second) is None
    assert "ALARM: the job risk has failed, try 2 of 2: Still away." in caplog.text
    (told,) = (each for each in schedules.overview() if each.alarm)
    assert "Still away." in str(told.alarm)
    assert told.published == good
    assert schedules.alarms() == 1
    ended(Job.RISK)
    assert schedules.alarms() == 0


def test_a_run_whose_process_has_died_has_failed_and_is_tried_again(lake: Store, handed: list[Run]) -> None:
    only()
    run = Run.objects.create(job=Job.RISK, state=R, began_at=timezone.now())
    look(handed)
    run.refresh_from_db()
    assert (run.state, run.fault) == (F, DIED)
    assert Run.objects.get(state=W).attempt == 2


def test_a_run_that_lives_is_left_alone(lake: Store, handed: list[Run]) -> None:
    only()
    with runs.begun(running.conninfo(), Job.RISK) as current:
        look(handed)
        assert Run.objects.get(pk=current.number).state == R


def test_a_run_that_no_worker_takes_is_an_alarm(lake: Store, settings: Any) -> None:
    settings.PIPELINE_WAIT_SECONDS = 60
    Run.objects.create(job=Job.RISK, state=W, due_at=timezone.now() - timedelta(minutes=5))
    (told,) = (each for each in schedules.overview() if each.alarm)
    assert "queue pipeline" in str(told.alarm)


def test_a_run_that_a_worker_has_taken_is_nobody_elses(lake: Store, handed: list[Run], settings: Any) -> None:
    """Spark may take minutes to start: until then the run waits."""
    only()
    settings.PIPELINE_HAND_AGAIN_SECONDS = 0
    settings.PIPELINE_WAIT_SECONDS = 60
    run = Run.objects.create(job=Job.RISK, state=W, due_at=timezone.now() - timedelta(minutes=5))
    database = running.conninfo()
    with claims.claimed(database, run.pk) as is_mine, claims.claimed(database, run.pk) as is_anothers:
        assert (is_mine, is_anothers) == (True, False)
        assert look(handed) == []
        assert running.carry_out(run.pk) is running.Outcome.NOT_MINE
        (told,) = (each for each in schedules.overview() if each.alarm)
        assert "Spark has not started" in str(told.alarm)
    assert look(handed) == [Job.RISK]


def test_one_that_is_published_has_not_failed(lake: Store, handed: list[Run]) -> None:
    """Its process stumbled over its own end."""
    only()
    with pytest.raises(OSError), runs.begun(running.conninfo(), Job.LAG) as current:
        current.publish(lake, runs.Made(), runs.Kept())
        raise OSError("No space left on device")
    run = Run.objects.get(pk=current.number)
    assert (run.state, run.fault) == (Run.State.PUBLISHED, NOTHING)
    assert schedules.try_again(run) is None
    assert not Run.objects.filter(state=W).exists()


def test_a_run_that_never_ends_is_an_alarm(lake: Store, settings: Any) -> None:
    long_ago = timezone.now() - timedelta(seconds=settings.PIPELINE_JOB_SECONDS + 60)
    Run.objects.create(job=Job.SNAPSHOT, state=Run.State.RUNNING, began_at=long_ago)
    (told,) = (each for each in schedules.overview() if each.alarm)
    assert "longer than a run may" in str(told.alarm)
    assert schedules.alarms() == 1


def test_a_job_that_nobody_announces_is_an_alarm(lake: Store, settings: Any) -> None:
    schedules.known()
    now = timezone.now()
    Run.objects.create(job=Job.SNAPSHOT, state=Run.State.PUBLISHED, began_at=now, ended_at=now)
    Schedule.objects.filter(job=Job.SNAPSHOT).update(cron="0 * * * *", looked_at=now)
    assert schedules.alarms() == 0
    Schedule.objects.filter(job=Job.SNAPSHOT).update(looked_at=now - timedelta(hours=5))
    (told,) = (each for each in schedules.overview() if each.alarm)
    assert "nobody has announced it" in str(told.alarm)
    Schedule.objects.filter(job=Job.SNAPSHOT).update(enabled=False)
    assert schedules.alarms() == 0


def test_two_that_begin_one_run_are_one(lake: Store, olga: Any) -> None:
    run = schedules.run_now(olga, Job.RISK, lambda _: None)
    again = runs.begun(running.conninfo(), Job.RISK, number=run.pk)
    with runs.begun(running.conninfo(), Job.RISK, number=run.pk), pytest.raises(runs.Busy), again:
        raise AssertionError("Two ran at once.")
    with pytest.raises(runs.NotWaiting), runs.begun(running.conninfo(), Job.RISK, number=run.pk):
        raise AssertionError("It ran a second time.")


def test_the_last_runs_stay_and_the_last_of_each_day(lake: Store) -> None:
    now = timezone.now().replace(hour=12)
    for days in (20, 3, 3, 2, 2, 1, 0, 0):
        ended(Job.RISK)
        Run.objects.filter(pk=Run.objects.latest("pk").pk).update(ended_at=now - timedelta(days=days))
    failed = ended(Job.RISK, F)
    with runs.begun(running.conninfo(), Job.RISK) as current:
        current.publish(lake, runs.Made(), runs.Kept(runs=2, days=15))
    kept = [(now.date() - run.ended_at.date()).days for run in Run.objects.filter(state=P).order_by("pk")]
    assert kept[:-2] == [3, 2, 1]
    assert Run.objects.filter(pk=failed.pk).exists()  # it is newer than the oldest that stays


def test_the_database_is_reached_as_django_reaches_it() -> None:
    with psycopg.connect(running.conninfo()) as connection:
        row = connection.execute("SELECT count(*) FROM governance_run").fetchone()
    assert row == (0,)
