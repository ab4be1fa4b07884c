"""Carries out full audits, one at a time: Spark reads both sides and compares, and what differs is noted where auditors
note it.

Even if the worker dies, a full audit ends: Spark's process ends with its standard input, the worker's claim with its
connection to the database, and :func:`fail_dead` says so.
"""

from __future__ import annotations

import json
import logging
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from hadash.auditing.findings import Finding
from hadash.auditing.whole import Compared, from_json
from hadash.auditors.ledger import note_found
from hadash.full_audits.machine import Event, Status
from hadash.full_audits.models import FullAudit
from hadash.full_audits.preparing import CannotCompare, Prepared, prepare
from hadash.kafka.errors import KafkaError
from hadash.kafka.values import Partition
from hadash.pipeline import claims, running
from hadash.pipeline.applications import APPLICATIONS, NotWanted, TookTooLong
from hadash.sentences import Sentence, say
from spark.codes import FAILED
from spark.orders import ProgressFile
from spark.publishing import faults

log = logging.getLogger(__name__)

#: The one claim of full audits: they read as much as clusters give, so that two would only be in each other's way.
THE_ONE = 1


def carry_out(number: int) -> None:
    """Carry out a full audit that waits, unless another one is running. Its row will have the result."""
    with claims.claimed(running.conninfo(), THE_ONE, claims.FULL_AUDITS) as is_mine:
        if is_mine and (audit := _begun(number)) is not None:
            log.info("full audit %d of Topic %s begins", number, audit.topic)
            try:
                _run(audit)
            except NotWanted:
                log.info("full audit %d is cancelled", number)
            except (CannotCompare, KafkaError) as error:
                fail(number, error.sentence)
            except TookTooLong:
                fail(
                    number,
                    say(
                        "It was ended after %(seconds)s s (HADASH_FULL_AUDIT_SECONDS).",
                        seconds=round(settings.FULL_AUDIT_SECONDS),
                    ),
                )
            except Exception as error:  # any error is stored, and the worker continues
                log.exception("full audit %d has failed", number)
                fail(number, faults.fault_of_run(error))


def fail_dead() -> int:
    """Say of full audits whose worker has ended that they have failed; return how many. One query if none runs."""
    running_now = list(FullAudit.objects.filter(status=Status.RUNNING.value).values_list("pk", flat=True))
    if not running_now or claims.claimed_of([THE_ONE], claims.FULL_AUDITS):
        return 0
    for number in running_now:
        fail(number, say("The worker that compared it has ended. Ask again."))
    return len(running_now)


def next_waiting() -> int | None:
    """The number of the full audit that is to begin now; ``None``: none waits, or one is running."""
    if FullAudit.objects.filter(status=Status.RUNNING.value).exists():
        return None
    waiting = FullAudit.objects.filter(status=Status.WAITING.value).order_by("pk")
    return waiting.values_list("pk", flat=True).first()


@transaction.atomic
def _begun(number: int) -> FullAudit | None:
    """The full audit, begun; ``None`` if it does not wait any more."""
    for other in FullAudit.objects.filter(status=Status.RUNNING.value):
        fail(other.pk, say("The worker that compared it has ended. Ask again."))  # (it had the claim)
    held = FullAudit.objects.select_for_update().filter(pk=number, status=Status.WAITING.value).first()
    if held is None:
        return None
    held.move(Event.BEGIN)
    held.began_at, held.progress = timezone.now(), {"step": "starting"}
    held.save()
    return FullAudit.objects.select_related(
        "mirror__pair__first", "mirror__pair__second", "mirror__source"
    ).get(pk=number)


def _run(audit: FullAudit) -> None:
    prepared = prepare(audit.mirror, audit.topic)
    FullAudit.objects.filter(pk=audit.pk).update(
        source=prepared.source, offsets=prepared.offsets, read_at=prepared.read_at
    )
    # (Only this user can look into the folder; and Spark removes the order, with its passwords, when it has read it.)
    with tempfile.TemporaryDirectory(prefix="hadash-full-audit-") as folder:
        order, progress = Path(folder) / "order.json", Path(folder) / "progress.json"
        prepared.order.write(order)
        told = _carried_out(audit, order, progress)
    found = {each["partition"]: from_json(each) for each in told["partitions"]}
    _finish(audit, prepared, found, told["partitions"])


def _carried_out(audit: FullAudit, order: Path, progress: Path) -> dict[str, Any]:
    """Let Spark carry out an order, and return what it says. :raises NotWanted: somebody has cancelled it."""
    file = ProgressFile(progress)

    def is_wanted() -> bool:
        if (now := file.read()) is not None:
            told = {"step": now.step, "done": now.done, "total": now.total}
            FullAudit.objects.filter(pk=audit.pk, status=Status.RUNNING.value).update(progress=told)
        return FullAudit.objects.filter(pk=audit.pk, status=Status.RUNNING.value).exists()

    arguments = ["full-audit", "--lake", settings.LAKE, "--order", str(order), "--progress", str(progress)]
    with APPLICATIONS.lent(True, running.environment()) as application:
        ended = application.carry_out(arguments, settings.FULL_AUDIT_SECONDS, is_wanted)
        if ended.code == FAILED:
            application.end()  # the next one begins with a new process
    if ended.code != 0:
        raise CannotCompare(running.died(ended) if ended.died else faults.in_its_words(ended.said))
    said: dict[str, Any] = json.loads(ended.said)
    return said


@transaction.atomic
def _finish(
    audit: FullAudit, prepared: Prepared, found: dict[int, Compared], told: list[dict[str, Any]]
) -> None:
    """Note what differs where auditors note it, and what came of each partition."""
    held = audit.locked()
    if not held.allows(Event.FINISH):
        return  # it was cancelled a moment ago
    differing: dict[Partition, list[Finding]] = {
        Partition(held.topic, number): compared.found for number, compared in found.items()
    }
    note_found(audit.mirror.pair, prepared.source.pk, differing)
    held.move(Event.FINISH)
    held.partitions = [{name: value for name, value in each.items() if name != "found"} for each in told]
    held.equal = sum(each.equal for each in found.values())
    held.different = sum(each.different for each in found.values())
    held.ended_at, held.progress = timezone.now(), {}
    held.save()
    log.info(
        "full audit %d of Topic %s: %d equal, %d different", held.pk, held.topic, held.equal, held.different
    )


@transaction.atomic
def fail(number: int, why: Sentence) -> None:
    """Say why a full audit has failed, unless it has ended already."""
    held = FullAudit.objects.select_for_update().get(pk=number)
    if held.allows(Event.FAIL):
        held.move(Event.FAIL)
        held.fault, held.ended_at, held.progress = why, timezone.now(), {}
        held.save()
