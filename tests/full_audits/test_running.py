"""A full audit ends, whatever becomes of Spark, of its worker and of the people who have asked for it.

Spark is a small program here, which answers what the test says; :mod:`.test_for_real` has the real one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from hadash.auditing.findings import Finding, Kind
from hadash.auditing.whole import Compared, as_json
from hadash.auditors import ledger as auditors
from hadash.auditors import selectors
from hadash.auditors.ledger import Ledger, note_found
from hadash.auditors.models import AuditDifference, AuditedPartition
from hadash.auditors.places import Held, Place
from hadash.auditors.proofs import Proof
from hadash.full_audits import cleanup, requests, running
from hadash.full_audits.machine import Status
from hadash.full_audits.models import FullAudit
from hadash.full_audits.preparing import CannotCompare, Prepared
from hadash.kafka.errors import ClusterUnavailable
from hadash.kafka.values import Partition
from hadash.mirroring.models import Mirror
from hadash.mirroring.signals import standby_renewed
from hadash.pipeline import applications, claims
from hadash.pipeline import running as pipeline_running
from hadash.pipeline.applications import APPLICATIONS
from hadash.sentences import say
from spark.codes import FAILED
from spark.orders import Order, Progress, ProgressFile, Range
from spark.serving import Answer
from tasks import full_audits as tasks

pytestmark = [pytest.mark.stack, pytest.mark.django_db(transaction=True)]

FOUND = Finding(Kind.HEADERS, 812, 815, ("headers",))
RESULT = [
    as_json(
        0, Compared((100, 900), (103, 903), 799, (100, 0), 2, {Kind.HEADERS: 1, Kind.OFFSETS: 4}, [FOUND])
    ),
    as_json(1, Compared((0, 50), (0, 50), 50)),
]


@pytest.fixture(autouse=True)
def no_application_of_others() -> Iterator[None]:
    yield
    APPLICATIONS.end_idle()


@pytest.fixture(autouse=True)
def prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the clusters hold is known."""
    order = Order("carts", {}, {}, [Range(0, (100, 902), (103, 903), (500, 503))], 20)
    monkeypatch.setattr(
        running, "prepare", lambda mirror, topic: Prepared(order, mirror.source, timezone.now())
    )


@pytest.fixture
def audit(mirror: Mirror, olga: Any) -> FullAudit:
    return requests.request(olga, mirror, "carts")


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let this code run for Spark when an order has come; ``order`` is a dictionary of its arguments."""

    def instead(code: str) -> None:
        told = (
            "import json, sys, time\n"
            "words = json.loads(sys.stdin.readline())\n"
            "order = dict(zip(words[1::2], words[2::2]))\n"
            f"{code}\n"
            "sys.stdin.read()"
        )
        monkeypatch.setattr(applications, "command", lambda with_kafka: [sys.executable, "-c", told])

    return instead


def answering(answer: Answer) -> str:
    return f"print({json.dumps(asdict(answer))!r}, flush=True)"


def done() -> str:
    return answering(Answer(0, json.dumps({"partitions": RESULT})))


def carried_out(audit: FullAudit) -> FullAudit:
    running.carry_out(audit.pk)
    return FullAudit.objects.get(pk=audit.pk)


def test_what_differs_stands_where_auditors_note_it(
    audit: FullAudit, mirror: Mirror, spark: Callable[[str], None]
) -> None:
    spark(done())
    found = carried_out(audit)
    assert (found.current, found.equal, found.different, found.offsets) == (Status.DONE, 849, 1, 802)
    assert str(found.verdict) == "Records that differ: 1."
    assert (found.older, found.late) == ({"source": 100, "target": 0}, 2)
    assert found.partitions[0]["kinds"] == {"headers": 1, "offsets": 4} and "found" not in found.partitions[0]
    noted = AuditDifference.objects.get()
    assert (noted.audited.topic, noted.audited.partition) == ("carts", 0)
    assert (noted.kind, noted.source_offset, noted.target_offset, noted.parts) == (
        "headers",
        812,
        815,
        ["headers"],
    )
    assert selectors.standing(mirror).proof is Proof.DIFFERENT and selectors.stops_switches(mirror)


def test_what_a_full_audit_knows_already_does_not_count_twice_for_auditors(
    audit: FullAudit, mirror: Mirror, spark: Callable[[str], None]
) -> None:
    spark(done())
    carried_out(audit)
    books = Ledger(mirror.pair, "auditor-1")
    claim = books.claim(Partition("carts", 0), mirror.source_id)
    books.begin(claim, mirror.source_id, Place(0, 0, is_begin=True), was_made_again=False)
    held = Held(0, 900, 0, 903)
    for _ in range(2):  # (the answer of the first was lost: it is noted again)
        books.note(
            [auditors.Progress(claim, 900, 903, held, 899, {(0, 0): 0, (900, 903): 899}, found=[FOUND])]
        )
    row = AuditedPartition.objects.get(partition=0)
    assert (row.equal, row.different, row.differences.count()) == (899, 1, 1)


def test_a_standby_that_is_rebuilt_meanwhile_ends_it(
    audit: FullAudit, mirror: Mirror, spark: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is being copied anew would be told as missing."""
    spark(done())

    def rebuilt(*arguments: Any) -> Any:
        standby_renewed.send(Mirror, mirror=mirror)
        return {"partitions": RESULT}

    monkeypatch.setattr(running, "_carried_out", rebuilt)
    found = carried_out(audit)
    assert found.current is Status.FAILED and "was rebuilt meanwhile" in str(found.verdict)
    assert not AuditDifference.objects.exists()


def test_what_auditors_know_already_does_not_count_twice(
    audit: FullAudit, mirror: Mirror, spark: Callable[[str], None]
) -> None:
    note_found(mirror.pair, mirror.source_id, {Partition("carts", 0): [FOUND]})
    spark(done())
    assert carried_out(audit).different == 1
    assert AuditDifference.objects.count() == 1
    assert AuditedPartition.objects.get(partition=0).different == 1


def test_it_says_how_far_it_is(
    audit: FullAudit, spark: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(applications, "WATCH_SECONDS", 0.02)
    was_read, real = tmp_path / "was-read", running._finish
    seen: list[dict[str, Any]] = []

    def read(file: ProgressFile) -> Progress | None:
        # (Its answer comes when the worker looks for the second time: the row has what the first look found.)
        if file._path.exists():
            was_read.write_text(was_read.read_text() + "." if was_read.exists() else ".")
            return Progress("comparing", 3, 8)
        return None

    def finish(*arguments: Any) -> None:
        seen.append(FullAudit.objects.get(pk=audit.pk).progress)
        real(*arguments)

    monkeypatch.setattr(ProgressFile, "read", read)
    monkeypatch.setattr(running, "_finish", finish)
    spark(
        "from pathlib import Path\n"
        "Path(order['--progress']).write_text('{}')\n"
        f"told = Path({str(was_read)!r})\n"
        "while not told.exists() or len(told.read_text()) < 2: time.sleep(0.01)\n" + done()
    )
    assert carried_out(audit).current is Status.DONE
    assert seen == [{"step": "comparing", "done": 3, "total": 8}]


def test_the_order_is_for_nobody_else_and_goes_with_it(
    audit: FullAudit, spark: Callable[[str], None], tmp_path: Path
) -> None:
    told = tmp_path / "told"
    spark(
        "import os\n"
        f"open({str(told)!r}, 'w').write(order['--order'] + ' ' + oct(os.stat(order['--order']).st_mode))\n"
        + done()
    )
    carried_out(audit)
    path, mode = told.read_text().split()
    assert mode == "0o100600"
    assert not Path(path).parent.exists()


def test_it_is_cancelled_while_it_runs(
    audit: FullAudit, olga: Any, spark: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(applications, "WATCH_SECONDS", 0.02)
    real = running._carried_out

    def cancelled(*arguments: Any) -> Any:
        requests.cancel(olga, audit)
        return real(*arguments)

    monkeypatch.setattr(running, "_carried_out", cancelled)
    spark("")  # it never answers
    found = carried_out(audit)
    assert (found.current, found.partitions) == (Status.CANCELLED, [])
    assert not AuditDifference.objects.exists()


def test_one_that_was_cancelled_before_does_not_begin(audit: FullAudit, olga: Any) -> None:
    requests.cancel(olga, audit)
    assert carried_out(audit).began_at is None


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (CannotCompare(say("The mirror is being turned round.")), "The mirror is being turned round."),
        (ClusterUnavailable(say("east does not answer.")), "east does not answer."),
    ],
)
def test_what_cannot_be_compared_says_why(
    audit: FullAudit, monkeypatch: pytest.MonkeyPatch, error: Exception, why: str
) -> None:
    def refuse(*_: Any) -> Prepared:
        raise error

    monkeypatch.setattr(running, "prepare", refuse)
    found = carried_out(audit)
    assert (found.current, str(found.fault)) == (Status.FAILED, why)
    assert str(found.verdict) == f"It has failed: {why}"


def test_spark_fails(audit: FullAudit, spark: Callable[[str], None]) -> None:
    spark(answering(Answer(FAILED, "No route to host")))
    found = carried_out(audit)
    assert found.current is Status.FAILED and "No route to host" in str(found.fault)


def test_spark_is_killed(audit: FullAudit, spark: Callable[[str], None]) -> None:
    spark("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    found = carried_out(audit)
    assert (found.current, str(found.fault)) == (Status.FAILED, "Its process has ended by signal 9.")


def test_it_may_not_take_for_ever(audit: FullAudit, spark: Callable[[str], None], settings: Any) -> None:
    settings.FULL_AUDIT_SECONDS = 0.2
    spark("")
    found = carried_out(audit)
    assert found.current is Status.FAILED and "HADASH_FULL_AUDIT_SECONDS" in str(found.fault)


def test_one_runs_at_a_time(audit: FullAudit) -> None:
    with claims.claimed(pipeline_running.conninfo(), running.THE_ONE, claims.FULL_AUDITS) as is_mine:
        assert is_mine
        assert carried_out(audit).current is Status.WAITING


class TestWorkersThatDie:
    @pytest.fixture
    def left(self, audit: FullAudit) -> FullAudit:
        """A full audit whose worker was killed."""
        FullAudit.objects.filter(pk=audit.pk).update(status=Status.RUNNING.value, began_at=timezone.now())
        return audit

    def test_beat_says_so(self, left: FullAudit) -> None:
        assert running.fail_dead() == 1
        found = FullAudit.objects.get(pk=left.pk)
        assert (found.current, str(found.fault)) == (
            Status.FAILED,
            "The worker that compared it has ended. Ask again.",
        )
        assert running.fail_dead() == 0

    def test_while_it_lives_nobody_says_so(self, left: FullAudit) -> None:
        with claims.claimed(pipeline_running.conninfo(), running.THE_ONE, claims.FULL_AUDITS):
            assert running.fail_dead() == 0

    def test_the_next_one_says_so_too(
        self, left: FullAudit, mirror: Mirror, olga: Any, spark: Callable[[str], None]
    ) -> None:
        other = FullAudit.objects.create(mirror=mirror, topic="orders", asked_by=olga)
        spark(done())
        assert carried_out(other).current is Status.DONE
        assert FullAudit.objects.get(pk=left.pk).current is Status.FAILED


def test_beat_sends_the_oldest_one_and_only_while_none_runs(
    audit: FullAudit, mirror: Mirror, olga: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = FullAudit.objects.create(mirror=mirror, topic="orders", asked_by=olga)
    sent: list[tuple[str, list[int]]] = []
    monkeypatch.setattr(
        tasks.current_app, "send_task", lambda name, arguments, **_: sent.append((name, arguments))
    )
    tasks.look()
    assert sent == [("full_audits.carry_out", [audit.pk])]
    with claims.claimed(pipeline_running.conninfo(), running.THE_ONE, claims.FULL_AUDITS):
        FullAudit.objects.filter(pk=audit.pk).update(status=Status.RUNNING.value)
        tasks.look()
    assert len(sent) == 1
    FullAudit.objects.filter(pk=audit.pk).update(status=Status.DONE.value)
    tasks.look()
    assert sent[1:] == [("full_audits.carry_out", [later.pk])]


def test_old_ones_are_removed(audit: FullAudit, settings: Any) -> None:
    days = timedelta(days=settings.FULL_AUDIT_KEPT_DAYS)
    FullAudit.objects.filter(pk=audit.pk).update(
        status=Status.DONE.value, ended_at=timezone.now() - days + timedelta(hours=1)
    )
    assert cleanup.trim() == 0
    FullAudit.objects.filter(pk=audit.pk).update(ended_at=timezone.now() - days - timedelta(hours=1))
    assert cleanup.trim() == 1
