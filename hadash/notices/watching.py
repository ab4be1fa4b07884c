"""Finds events by periodic looks: failed, late or differing mirrors, missing Gateways, failed jobs, new risks, requests
that are about to expire, and slow switches.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Q, Sum
from django.urls import reverse

from hadash.auditors.models import AuditedPartition
from hadash.governance import selectors
from hadash.governance.catalogue import WEIGHTS, Severity
from hadash.governance.models.runs import Run
from hadash.inventory.gateways import gateway_members
from hadash.inventory.models import Pair
from hadash.mirroring.models import Mirror
from hadash.notices.announcing import announce
from hadash.notices.kinds import NoticeKind
from hadash.notices.models import Incident
from hadash.pools.models import PoolChange
from hadash.sentences import Sentence, say
from hadash.switching.approvals.four_eyes import AWAITING
from hadash.switching.execution.usual import took_before, usual_of
from hadash.switching.machines.switches import Status
from hadash.switching.models.batches import Batch
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.switches import StageRecord, Switch
from hadash.switching.policy import rpos

log = logging.getLogger(__name__)

#: A stage is slow when it takes at least ``SLOW_TIMES`` as long as usual, and at least ``SLOW_SECONDS``.
SLOW_TIMES, SLOW_SECONDS = 3.0, 10.0
#: How far back failed jobs and published runs are announced; older ones are not.
LOOKED_BACK = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class Seen:
    """A fault that this look has found. ``sentence``: ``None`` when it is not known whether there is one; then
    no incident begins or ends.
    """

    key: str
    kind: NoticeKind
    sentence: Sentence | None
    path: str
    pair: Pair | None = None


def look(now: datetime) -> int:
    """Announce new events; return their number. A part that fails (such as without ZooKeeper) does not stop the
    others.
    """
    announced = 0
    for part in (_lasting, _jobs, _findings, _expiring, _slow):
        try:
            announced += part(now)
        except Exception:
            log.exception("%s could not be looked at", part.__name__.strip("_"))
    return announced


# -- lasting faults --------------------------------------------------------------------------------------------------


def _lasting(now: datetime) -> int:
    """Announce faults of mirrors and Gateways that have lasted for ``NOTICE_HOLD_SECONDS``: a restart is not an
    incident.
    """
    announced = 0
    for name, look_at in _LOOKS.items():
        try:
            seen = {each.key: each for each in look_at()}
        except Exception:
            # Nothing is known now: incidents neither begin nor end.
            log.exception("%s could not be looked at", name)
            continue
        announced += keep(name, seen, now)
    return announced


def keep(name: str, seen: dict[str, Seen], now: datetime) -> int:
    """Update the incidents of one look, and announce those that have lasted; return how many.

    :param name: the prefix of their keys.
    """
    hold = timedelta(seconds=settings.NOTICE_HOLD_SECONDS)
    known = {incident.key: incident for incident in Incident.objects.filter(key__startswith=f"{name}:")}
    _end([incident for incident in known.values() if incident.key not in seen], now, hold)
    back = [
        incident.pk for incident in known.values() if incident.key in seen and incident.over_since is not None
    ]
    Incident.objects.filter(pk__in=back).update(over_since=None)
    begun = [
        Incident(key=each.key, since=now) for each in seen.values() if each.sentence and each.key not in known
    ]
    known |= {incident.key: incident for incident in Incident.objects.bulk_create(begun)}
    lasting = [
        (known[each.key], each, each.sentence)
        for each in seen.values()
        if each.sentence is not None and not known[each.key].is_told and now - known[each.key].since >= hold
    ]
    announced = 0
    for incident, each, sentence in lasting:
        key = f"{each.key}:{incident.since:%Y%m%d%H%M%S}"
        announced += announce(each.kind, key, sentence, each.path, each.pair)
        Incident.objects.filter(pk=incident.pk).update(is_told=True)
    return announced


def _end(over: Sequence[Incident], now: datetime, hold: timedelta) -> None:
    """Note that incidents are not seen any more, and forget those that have not been for long enough.

    One that was not announced yet is forgotten at once: its time starts again if it comes back.
    """
    forgotten = [one.pk for one in over if not one.is_told or (one.over_since or now) <= now - hold]
    Incident.objects.filter(pk__in=forgotten).delete()
    Incident.objects.filter(pk__in=[one.pk for one in over], over_since=None).update(over_since=now)


def _mirrors() -> Iterable[Seen]:
    limits = rpos(Pair.objects.all())
    # (There may be thousands of mirrors, and a look every few seconds: only those are read of which there is something
    # to say.)
    wrong = Q(state__in=[Mirror.State.UNKNOWN, Mirror.State.FAILED]) | Q(lag_seconds=None)
    for pair, seconds in limits.items():
        wrong |= Q(pair=pair, lag_seconds__gt=seconds)
    for mirror in Mirror.objects.filter(wrong).select_related("pair").defer("topics", *Mirror.DETAILS):
        path = reverse("mirror", args=[mirror.pair.name, mirror.name])
        if mirror.state == Mirror.State.UNKNOWN:
            # Connect does not answer: a failed mirror may still be failed.
            yield Seen(f"mirrors:failed:{mirror.pk}", NoticeKind.MIRROR_FAILED, None, path, mirror.pair)
        if mirror.state == Mirror.State.FAILED:
            sentence = say(
                "Mirror %(mirror)s of pair %(pair)s has failed: %(fault)s",
                mirror=mirror.name, pair=mirror.pair.name, fault=_short(mirror.fault),
            )  # fmt: skip
            yield Seen(f"mirrors:failed:{mirror.pk}", NoticeKind.MIRROR_FAILED, sentence, path, mirror.pair)
        elif mirror.lag_seconds is None:
            yield Seen(f"mirrors:late:{mirror.pk}", NoticeKind.MIRROR_LATE, None, path, mirror.pair)
        elif mirror.lag_seconds > limits[mirror.pair_id]:
            sentence = say(
                "Mirror %(mirror)s of pair %(pair)s is %(seconds)s s behind; its RPO is %(rpo)s s.",
                mirror=mirror.name,
                pair=mirror.pair.name,
                seconds=round(mirror.lag_seconds),
                rpo=f"{limits[mirror.pair_id]:g}",
            )
            yield Seen(f"mirrors:late:{mirror.pk}", NoticeKind.MIRROR_LATE, sentence, path, mirror.pair)


def _audits() -> Iterable[Seen]:
    rows = (
        AuditedPartition.objects.filter(different__gt=0)
        .filter(different__gt=F("accepted"))
        .values("pair", "topic")
        .annotate(count=Sum(F("different") - F("accepted")))
    )
    counts = {(row["pair"], row["topic"]): row["count"] for row in rows}
    if not counts:
        return
    pairs = {pair for pair, _ in counts}
    for mirror in Mirror.objects.filter(pair__in=pairs).select_related("pair").defer(*Mirror.DETAILS):
        found = sum(counts.get((mirror.pair_id, topic), 0) for topic in mirror.topics)
        if found:
            sentence = say(
                "Mirror %(mirror)s of pair %(pair)s differs from its source (differences: %(count)s).",
                mirror=mirror.name,
                pair=mirror.pair.name,
                count=found,
            )
            path = reverse("mirror", args=[mirror.pair.name, mirror.name]) + "#audit"
            yield Seen(f"audits:{mirror.pk}", NoticeKind.MIRROR_DIFFERS, sentence, path, mirror.pair)


def _gateways() -> Iterable[Seen]:
    pairs = {pair.name: pair for pair in Pair.objects.all()}
    for member in gateway_members():
        if not member.live and not member.excluded:
            sentence = say("Gateway %(gateway)s does not answer.", gateway=member.id)
            yield Seen(
                f"gateways:{member.id}",
                NoticeKind.GATEWAY_AWAY,
                sentence,
                reverse("gateway", args=[member.id]),
                pairs.get(member.pair),
            )


_LOOKS: dict[str, Callable[[], Iterable[Seen]]] = {
    "mirrors": _mirrors,
    "audits": _audits,
    "gateways": _gateways,
}


def _first_line(text: str) -> str:
    return text.splitlines()[0][:300] if text.strip() else ""


def _short(fault: Sentence) -> Sentence | str:
    """Return ``fault``; of a server's own account, such as the trace of a connector's task, its first line."""
    first = _first_line(str(fault))
    return fault if first == str(fault) else first


# -- single events -------------------------------------------------------------------------------------------


def _jobs(now: datetime) -> int:
    failed = Run.objects.filter(state=Run.State.FAILED, ended_at__gte=now - LOOKED_BACK)
    return sum(
        announce(
            NoticeKind.JOB_FAILED,
            str(run.pk),
            say("Job %(job)s of the pipeline has failed: %(fault)s", job=run.job, fault=_short(run.fault)),
            reverse("run", args=[run.pk]),
        )
        for run in failed
    )


def _findings(now: datetime) -> int:
    run = selectors.published(Run.Job.RISK)
    if run is None or run.began_at is None or run.ended_at is None or run.ended_at < now - LOOKED_BACK:
        return 0
    announced = 0
    for pair in Pair.objects.all():
        counting = selectors.counting([pair.name]).filter(last_run=run.pk)
        new = counting.filter(opened_at__gte=run.began_at)
        worse = counting.filter(opened_at__lt=run.began_at, worse_at__gte=run.began_at)
        counts = {"count": new.count(), "worse": worse.count()}
        if not any(counts.values()):
            continue
        counts["high"] = (new | worse).filter(weight__gte=WEIGHTS[Severity.HIGH]).count()
        path = f"{reverse('findings')}?pair={pair.name}" + ("" if counts["count"] else "&show=worse")
        sentence = _of_risks(pair.name, **counts)
        announced += announce(NoticeKind.FINDINGS_NEW, f"{run.pk}:{pair.pk}", sentence, path, pair)
    return announced


def _of_risks(pair: str, count: int, worse: int, high: int) -> Sentence:
    """Return the sentence about new and worse risks.

    :param count: the number of new ones.
    :param high: the number of high ones among the new and the worse.
    """
    if not worse:
        return say(
            "Pair %(pair)s has %(count)s new risks, %(high)s of them high.", pair=pair, count=count, high=high
        )
    if not count:
        return say(
            "%(worse)s risks of pair %(pair)s got worse, %(high)s of them are high.",
            pair=pair,
            worse=worse,
            high=high,
        )
    return say(
        "Pair %(pair)s has %(count)s new risks, and %(worse)s got worse; %(high)s of all these are high.",
        pair=pair,
        count=count,
        worse=worse,
        high=high,
    )


def _expiring(now: datetime) -> int:
    soon = now + timedelta(minutes=settings.NOTICE_EXPIRY_MINUTES)
    waiting: list[Any] = [
        each
        for model in (Switch, Batch, BindingChange, PoolChange)
        for each in model.objects.filter(
            status=AWAITING, expires_at__gt=now, expires_at__lte=soon
        ).select_related("pair", "requested_by")
    ]
    announced = 0
    for held in waiting:
        what = str(held.scope) if isinstance(held, Switch) else held.key
        path = held.get_absolute_url()
        sentence = say(
            "What %(person)s has asked for expires in %(minutes)s minutes, and is not approved: %(what)s",
            person=str(held.requested_by),
            minutes=max(1, round((held.expires_at - now).total_seconds() / 60)),
            what=what,
        )
        announced += announce(
            NoticeKind.APPROVAL_EXPIRING, held.key, sentence, path, held.pair, [held.requested_by]
        )
    return announced


def _slow(now: datetime) -> int:
    running = StageRecord.objects.filter(
        result=StageRecord.Result.RUNNING, switch__status=Status.RUNNING.value
    ).select_related("switch__pair", "switch__source", "switch__target")
    announced = 0
    for record in running:
        took = (now - record.started_at).total_seconds()
        if took < SLOW_SECONDS:
            continue
        usual = usual_of(took_before(record.switch).get(record.stage, ()))
        if usual is None or took < SLOW_TIMES * usual:
            continue
        switch = record.switch
        sentence = say(
            "The switch of %(scope)s is slower than usual: stage %(stage)s has taken %(took)s s, usually %(usual)s s.",
            scope=str(switch.scope), stage=record.stage, took=round(took), usual=f"{usual:.1f}",
        )  # fmt: skip
        announced += announce(
            NoticeKind.SWITCH_SLOW,
            f"{switch.key}:{record.pk}",
            sentence,
            switch.get_absolute_url(),
            switch.pair,
        )
    return announced
