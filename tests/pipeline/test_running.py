"""Runs in a process of their own: with Spark for real, and with processes that end in every other way."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import pytest
from dashboard.parts import cluster
from django.conf import settings as settings_of_project
from django.db import connection
from support.waiting import eventually

from hadash.governance.models.runs import Run
from hadash.inventory.models import Pair
from hadash.lake.access import write_batch
from hadash.lake.store import Store
from hadash.pipeline import applications, running, schedules
from hadash.pipeline.applications import APPLICATIONS
from hadash.pipeline.jobs import Job
from hadash.pipeline.models import Schedule
from hadash.pipeline.running import Outcome
from spark import manifest, serving
from spark.codes import FAILED, TAKEN, UNUSABLE
from spark.serving import Answer
from tasks import pipeline as tasks

pytestmark = [pytest.mark.stack, pytest.mark.django_db(transaction=True)]


def instead(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let this small program run for Spark."""
    monkeypatch.setattr(applications, "command", lambda with_kafka: [sys.executable, "-c", code])


def answering(*answers: Answer) -> str:
    """A program that gives these answers to the first orders, and none to others."""
    return (
        "import sys\n"
        f"for answer in {[json.dumps(asdict(answer)) for answer in answers]!r}: sys.stdin.readline(); "
        f"print(answer, flush=True)\n"
        "sys.stdin.read()"
    )


@pytest.fixture(autouse=True)
def no_application_of_others() -> Iterator[None]:
    yield
    APPLICATIONS.end_idle()


@pytest.fixture
def run(lake: Store) -> Run:
    return Run.objects.create(job=Job.RISK, state=Run.State.WAITING)


def carried_out(run: Run) -> tuple[Outcome, Run]:
    outcome = running.carry_out(run.pk)
    run.refresh_from_db()
    return outcome, run


@pytest.mark.in_turn
@pytest.mark.spark
def test_reports_become_facts(lake: Store, monkeypatch: pytest.MonkeyPatch, olga: Any) -> None:
    monkeypatch.setenv("SPARK_MASTER", "local[2]")
    monkeypatch.setenv("HADASH_SPARK_PARTITIONS", "4")
    Pair.objects.create(
        name="main", first=(east := cluster("east", 1)), second=cluster("west", 2), default=east
    )
    now = datetime.now(UTC)
    good = {
        "gateway": "gateway-1", "appid": "购物", "client_id": "web-1", "kind": "produce", "resource": "orders",
        "cluster": "east", "host": "10.0.0.1", "library": "", "version": "",
        "requests": 1, "records": 5, "bytes": 50, "first_seen": now, "last_seen": now,
    }  # fmt: skip
    write_batch(lake, "gateway-1", [good, good | {"appid": ""}], now)
    handed: list[Run] = []
    outcome, run = carried_out(schedules.run_now(olga, Job.FACTS, handed.append))
    assert outcome is Outcome.PUBLISHED, run.fault
    assert (run.state, run.asked_by) == (Run.State.PUBLISHED, "olga")
    assert (run.rows["reports"], run.rows["days"]) == (2, 1)
    assert list(run.quality["malformed"].values()) == [1]
    assert run.watermark["day"] == manifest.read(lake).newest == f"{now:%Y-%m-%d}"
    assert set(run.seconds) == {"compacting", "facts"}


def test_one_that_ends_with_a_failure_says_its_last_word(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    instead(
        monkeypatch,
        "import sys; print('warm', file=sys.stderr); print('No space left on device', file=sys.stderr); sys.exit(9)",
    )
    outcome, run = carried_out(run)
    assert (outcome, run.state) == (Outcome.FAILED, Run.State.FAILED)
    assert str(run.fault) == "Its process has ended with 9. No space left on device"


def test_what_is_no_answer_is_a_failure(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    instead(monkeypatch, "import sys; sys.stdin.readline(); print('hello', flush=True); sys.stdin.read()")
    outcome, run = carried_out(run)
    assert (outcome, str(run.fault)) == (Outcome.FAILED, "Its process has answered: hello")


def test_one_that_is_killed_has_failed_and_is_tried_again(
    run: Run, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.PIPELINE_RETRY_SECONDS = 0
    instead(monkeypatch, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    tasks.run(run.pk)
    run.refresh_from_db()
    assert (run.state, str(run.fault)) == (Run.State.FAILED, "Its process has ended by signal 9.")
    again = Run.objects.get(state=Run.State.WAITING)
    assert (again.job, again.attempt) == (Job.RISK, 2)


def test_what_trying_again_does_not_help_alarms_at_once(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    instead(monkeypatch, answering(Answer(UNUSABLE, "The lake is no lake.")))
    tasks.run(run.pk)
    assert Run.objects.filter(state=Run.State.WAITING).count() == 0
    assert "ALARM: the job risk has failed" in caplog.text


def test_one_that_finds_another_running_waits_for_its_turn(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    instead(monkeypatch, answering(Answer(TAKEN, "The job risk is running already.")))
    outcome, run = carried_out(run)
    assert (outcome, run.state) == (Outcome.NOT_MINE, Run.State.WAITING)


def test_one_that_cannot_reach_something_is_tried_again(
    run: Run, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """As any job ends that stumbles, also before it has begun its run."""
    settings.PIPELINE_RETRY_SECONDS = 0
    instead(monkeypatch, answering(Answer(FAILED, "OSError: 503 Slow Down")))
    tasks.run(run.pk)
    run.refresh_from_db()
    assert (run.state, str(run.fault)) == (Run.State.FAILED, "OSError: 503 Slow Down")
    assert Run.objects.get(state=Run.State.WAITING).attempt == 2


def test_one_that_stumbles_after_it_was_published_is_not_tried_again(
    run: Run, monkeypatch: pytest.MonkeyPatch, lake: Store
) -> None:
    code = (
        "import sys; sys.path.insert(0, {root!r})\n"
        "from spark.publishing import runs\n"
        "with runs.begun({database!r}, 'risk', number={number}) as run: run.publish(None, runs.Made(), runs.Kept())\n"
        "sys.exit(3)"
    )
    instead(
        monkeypatch,
        code.format(root=str(settings_of_project.BASE_DIR), database=running.conninfo(), number=run.pk),
    )
    schedules.known()
    Schedule.objects.update(enabled=False)
    tasks.run(run.pk)
    run.refresh_from_db()
    assert run.state == Run.State.PUBLISHED
    assert not Run.objects.filter(state=Run.State.WAITING).exists()


def test_the_database_is_reached_with_everything_that_django_was_told(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"sslmode": "verify-full", "sslrootcert": "/etc/ssl/our.pem", "pool": False}
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", told)
    assert "sslmode=verify-full" in running.conninfo()
    assert "sslrootcert=/etc/ssl/our.pem" in running.conninfo()


def test_one_that_takes_too_long_is_ended(
    run: Run, monkeypatch: pytest.MonkeyPatch, settings: Any, lake: Store
) -> None:
    settings.PIPELINE_JOB_SECONDS = 0.5
    instead(monkeypatch, "import sys; sys.stdin.read()")  # ends as Spark's does, when nobody listens any more
    outcome, run = carried_out(run)
    assert outcome is Outcome.FAILED
    assert "HADASH_PIPELINE_JOB_SECONDS" in str(run.fault)


class TestApplications:
    """One that has done its job waits for the next one."""

    def test_the_next_job_is_done_by_the_same_process(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        busy = answering(Answer(TAKEN, "first"), Answer(UNUSABLE, "second"))
        instead(monkeypatch, busy)
        assert carried_out(run)[0] is Outcome.NOT_MINE
        outcome, run = carried_out(run)
        assert (outcome, str(run.fault)) == (Outcome.REFUSED, "second")

    def test_one_that_has_failed_is_not_used_again(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        instead(
            monkeypatch, answering(Answer(FAILED, "The JVM has gone."), Answer(TAKEN, "of the same process"))
        )
        assert carried_out(run)[0] is Outcome.FAILED
        again = Run.objects.create(job=Job.RISK, state=Run.State.WAITING)
        assert str(carried_out(again)[1].fault) == "The JVM has gone."

    def test_one_that_has_died_while_it_waited_is_not_used_again(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        instead(
            monkeypatch,
            "import json, sys; sys.stdin.readline(); print(json.dumps({'code': 75, 'said': ''}), flush=True)",
        )
        for _ in range(2):
            with APPLICATIONS.lent(False, {}) as application:
                assert application.carry_out(["risk"], 20).code == TAKEN
            eventually(lambda application=application: not application.is_alive, "its end")

    def test_it_ends_when_nobody_has_had_work_for_it(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, settings: Any
    ) -> None:
        settings.PIPELINE_IDLE_SECONDS = 0.2
        instead(monkeypatch, answering(Answer(TAKEN, "")))
        with APPLICATIONS.lent(False, {}) as application:
            application.carry_out(["risk"], 20)
        eventually(lambda: not application.is_alive, "its end")

    def test_one_that_was_started_before_there_was_a_job_does_the_first(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        instead(monkeypatch, answering(Answer(UNUSABLE, "of the first process")))
        running.warm_up()
        running.warm_up()
        instead(monkeypatch, answering(Answer(UNUSABLE, "of another one")))
        assert str(carried_out(run)[1].fault) == "of the first process"

    def test_one_for_a_topic_is_another_one(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        instead(monkeypatch, answering(Answer(TAKEN, "")))
        with APPLICATIONS.lent(False, {}) as first:
            first.carry_out(["risk"], 20)
        with APPLICATIONS.lent(True, {}) as second:
            assert second is not first
            second.carry_out(["from-kafka"], 20)


def test_spark_ends_with_the_worker_that_started_it(lake: Store) -> None:
    """(The end of the worker closes what its process listens to.)"""
    process = subprocess.Popen(
        [sys.executable, "-m", "spark", "serve", "--lake", lake.url],
        stdin=subprocess.PIPE,
        cwd=settings_of_project.BASE_DIR,
    )
    assert process.stdin
    process.stdin.close()
    assert eventually(lambda: process.poll() is not None, "it has ended")
    assert process.returncode == serving.LEFT


def test_how_the_database_is_reached_is_not_on_the_command_line(run: Run) -> None:
    password = connection.settings_dict["PASSWORD"]
    assert password and password in running.conninfo()
    assert password not in " ".join([*running.order(run), *applications.command(False)])


def test_without_a_lake_it_says_so(run: Run, settings: Any) -> None:
    settings.LAKE = ""
    outcome, run = carried_out(run)
    assert (outcome, str(run.fault)) == (Outcome.REFUSED, "No lake is set (HADASH_LAKE).")
