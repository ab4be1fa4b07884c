"""The state of one switch for its page, as values that become JSON. Each call reads it again."""

from __future__ import annotations

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from hadash.bindings.model import GatewayMember
from hadash.inventory.models import InstanceID
from hadash.mirroring.models import Mirror
from hadash.presentation import badges, connections, engines, selectors
from hadash.presentation.labels import phase_word, stage_word
from hadash.presentation.localized import sentence
from hadash.switching.approvals import four_eyes
from hadash.switching.execution.traffic import traffic_questions
from hadash.switching.machines.switches import STAGES, Kind, Stage, Status
from hadash.switching.models.switches import StageRecord, Switch, SwitchEvent

#: Seconds of one traffic sample of a Gateway.
SAMPLE_SECONDS: float = settings.GATEWAY_TRAFFIC_SECONDS
#: Seconds over which a client's rate is measured; it is the width of the client's band.
RATE_SECONDS = 2.0
#: Most clients whose own rate is asked for; each costs one question to every Gateway.
RATED_CLIENTS = 40


@dataclass(frozen=True, slots=True)
class Step:
    """One stage in the rail, with its newest attempt if it has begun."""

    stage: Stage
    record: StageRecord | None
    attempts: int
    #: Whether the switch has ended.
    over: bool = False
    #: Seconds that it usually takes; ``None`` when that is not known.
    usual: float | None = None

    @property
    def result(self) -> str:
        """The result of the newest attempt; empty before the stage has begun."""
        return self.record.result if self.record else ""

    @property
    def is_running(self) -> bool:
        return self.result == StageRecord.Result.RUNNING

    @property
    def state(self) -> badges.State:
        return badges.of_result(self.result, self.over)

    @property
    def expected(self) -> float:
        """Expected seconds: the usual ones of this pair, or the stage's default while there are too few switches."""
        return STAGES[self.stage].expected_seconds if self.usual is None else self.usual

    @property
    def phase(self) -> str:
        return STAGES[self.stage].phase.value


def steps(
    records: list[StageRecord],
    kind: Kind = Kind.PLANNED,
    over: bool = False,
    usual: Mapping[str, float] = MappingProxyType({}),
) -> list[Step]:
    """Return the stages of a switch of this kind in order, and the return if there was one.

    :param usual: seconds that stages usually take.
    """
    newest: dict[str, StageRecord] = {}
    attempts: dict[str, int] = defaultdict(int)
    for record in records:
        newest[record.stage] = record
        attempts[record.stage] += 1
    shown = [*kind.spec.way, *([Stage.RETURN] if Stage.RETURN in newest else [])]
    return [Step(stage, newest.get(stage), attempts[stage], over, usual.get(stage)) for stage in shown]


def phases(
    records: list[StageRecord],
    kind: Kind = Kind.PLANNED,
    over: bool = False,
    usual: Mapping[str, float] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Return the rail: the phases with their stages; a return is a group of its own at the end.

    :param usual: see :func:`steps`.
    """
    groups: list[dict[str, Any]] = []
    for step in steps(records, kind, over, usual):
        name = "return" if step.stage is Stage.RETURN else step.phase
        if not groups or groups[-1]["name"] != name:
            word = stage_word(Stage.RETURN) if name == "return" else phase_word(step.phase)
            groups.append({"name": name, "word": word, "steps": []})
        groups[-1]["steps"].append(step)
    return groups


def refused_seconds(records: list[StageRecord]) -> float | None:
    """Return the RTO: seconds from the beginning of the block to the end of the forward (or of the return).

    ``None`` when writes were never refused, or still are.
    """
    blocked_at: datetime | None = None
    for record in records:
        if record.stage == Stage.BLOCK and blocked_at is None:
            blocked_at = record.started_at
        flows_again = (
            record.stage in (Stage.FORWARD, Stage.RETURN) and record.result == StageRecord.Result.DONE
        )
        if flows_again and blocked_at is not None and record.ended_at is not None:
            return (record.ended_at - blocked_at).total_seconds()
    return None


def proved_equal(records: list[StageRecord]) -> bool:
    """Whether drain has proved both sides equal. Only then pages say RPO 0."""
    return any(r.stage == Stage.DRAIN and r.result == StageRecord.Result.DONE for r in records)


def forwarded(records: list[StageRecord]) -> bool:
    """Whether the clients belong to the target: from then on, going back is a switch of its own."""
    return any(r.stage == Stage.FORWARD and r.result == StageRecord.Result.DONE for r in records)


def longest_pause(samples: list[dict[str, Any]], *, reading: bool = False) -> float | None:
    """Return the longest time, in seconds, without a produced record between two samples that had some.

    It is as exact as the samples are long. A time without samples is a gap in the data, not a pause.

    :param reading: count the consumed records instead.
    """
    longest: float | None = None
    busy_at: float | None = None
    last_at: float | None = None
    for sample in sorted(samples, key=lambda s: float(s["at"])):
        at = float(sample["at"])
        if last_at is not None and at - last_at > 2 * SAMPLE_SECONDS:
            busy_at = None
        last_at = at
        if any(int(records[reading]) for records in sample["clusters"].values()):
            if busy_at is not None:
                longest = max(longest or 0.0, at - busy_at - SAMPLE_SECONDS)
            busy_at = at
    return longest


def title(switch: Switch) -> str:
    """Return a switch's title, such as ``shop › shop-carts: east → west, running``."""
    return _("%(scope)s: %(source)s → %(target)s, %(status)s") % {
        "scope": switch.scope,
        "source": switch.source.name,
        "target": switch.target.name,
        "status": switch.get_status_display(),
    }


def blocked(switch: Switch) -> bool:
    """Whether the switch's clients wait at the Breaker now."""
    return (
        switch.current is Status.RUNNING
        and switch.stage in set(Stage)
        and STAGES[Stage(switch.stage)].writes_blocked
    )


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def state(switch: Switch, records: list[StageRecord]) -> dict[str, Any]:
    """Return the part of the snapshot that changes with the stages.

    Its ``digest`` is over all the other values; the parts of the page that show them carry it, too.
    """
    found = {
        "key": switch.key,
        "status": switch.status,
        "status_word": str(switch.get_status_display()),
        "stage": switch.stage,
        "title": title(switch),
        "appid": switch.appid,
        "instance_id": switch.instance_id,
        "scope": switch.scope.to_json(),
        "source": switch.source.name,
        "target": switch.target.name,
        "blocked": blocked(switch),
        "abort_requested": switch.abort_requested_by_id is not None,
        "approvals": len(four_eyes.shown(switch)),
        "ended": not switch.open,
        "traffic_kept": bool(switch.traffic),
        "outcome": sentence(switch.outcome),
        "requested_by": switch.requested_by.get_username(),
        "requested_at": _iso(switch.requested_at),
        "decided_by": switch.decided_by.get_username() if switch.decided_by else None,
        "decided_at": _iso(switch.decided_at),
        "started_at": _iso(switch.started_at),
        "ended_at": _iso(switch.ended_at),
        "plan_digest": switch.plan_digest,
        "refused_seconds": refused_seconds(records),
        "stages": [
            {
                "stage": record.stage,
                "word": stage_word(Stage(record.stage)),
                "phase": STAGES[Stage(record.stage)].phase.value,
                "result": record.result,
                "started_at": _iso(record.started_at),
                "ended_at": _iso(record.ended_at),
                "seconds": record.seconds,
                "timings": record.timings,
                "sentence": sentence(record.sentence),
            }
            for record in records
        ],
    }
    text = json.dumps(found, sort_keys=True)
    return {**found, "digest": hashlib.sha256(text.encode()).hexdigest()[:16]}


def log_line(event: SwitchEvent) -> dict[str, Any]:
    """Return one line of the log, in the viewer's language."""
    return {
        "id": event.pk,
        "at": _iso(event.at),
        "actor": selectors.name_of(event.actor),
        "stage": event.stage,
        "stage_word": stage_word(Stage(event.stage)) if event.stage in set(Stage) else "",
        "sentence": sentence(event.sentence),
    }


def last_line(switch: Switch) -> int:
    """Return the id of the last line of the log; 0 when there is none."""
    newest = SwitchEvent.objects.filter(switch=switch).order_by("-pk").values_list("pk", flat=True).first()
    return newest or 0


def log_lines(switch: Switch, after: int = 0) -> list[dict[str, Any]]:
    """Return the lines of the log after the line with the id ``after``."""
    events = SwitchEvent.objects.filter(switch=switch, pk__gt=after).select_related("actor")
    return [log_line(event) for event in events]


def mirrors(switch: Switch) -> list[dict[str, Any]]:
    """Return the mirrors of the plan. ``lag`` is ``None`` when it is not known."""
    found = Mirror.objects.filter(pair=switch.pair_id, name__in=switch.plan.get("mirrors", []))
    shown = []
    for mirror in found.select_related("source", "pair__first", "pair__second"):
        look = badges.of_mirror(mirror)
        shown.append(
            {
                "name": mirror.name,
                "source": mirror.source.name,
                "target": mirror.target.name,
                "look": look.look,
                "word": look.word,
                "lag": mirror.lag_records if look.is_fine else None,
                "seconds": mirror.lag_seconds if look.is_fine else None,
                "looked_at": _iso(mirror.looked_at),
            }
        )
    return shown


def clients(switch: Switch) -> dict[str, Any]:
    """Return the connected clients of the plan's AppIDs with their clusters and rates, and the Gateways."""
    look = engines.look_at_gateways()
    plan = switch.the_plan()
    found_now, silent = connections.of_plan(switch.pair, plan, look.answering)
    registered = set(
        InstanceID.objects.filter(appid__pair=switch.pair_id, appid__name__in=plan.appids).values_list(
            "appid__name", "name"
        )
    )
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for connection in found_now:
        key = (connection["appid"], connection["client_id"])
        entry = found.setdefault(
            key,
            {
                "id": plan.who(*key),
                "appid": key[0],
                "client_id": key[1],
                "moves": plan.covers(*key),
                "registered": key in registered,
                "connections": [],
                "parked": 0,
                "library": "",
                "produced": None,
                "consumed": None,
            },
        )
        entry["connections"].append(connection)
        entry["parked"] += bool(connection.get("parked"))
        library = f"{connection.get('library') or ''} {connection.get('version') or ''}".strip()
        entry["library"] = library or entry["library"]
    for entry in found.values():
        entry["clusters"], _ = connections.by_cluster(entry.pop("connections"))
    _rates(look.answering, sorted(found.values(), key=lambda c: (not c["moves"], c["id"])))
    return {
        "fault": look.fault,
        "epoch": look.epoch,
        "gateways": [
            {
                "id": gateway.id,
                "live": gateway.live,
                "excluded": gateway.excluded,
                "answers": gateway.live and gateway.id not in silent,
                "applied": gateway.applied,
            }
            for gateway in look.gateways
        ],
        "clients": sorted(found.values(), key=lambda client: (not client["moves"], client["id"])),
    }


def traffic_since(switch: Switch, since: float) -> list[dict[str, Any]]:
    """Return the same as ``hadash.switching.execution.traffic.traffic_since``, but without waiting for ZooKeeper."""
    answering = engines.look_at_gateways().answering
    samples = [
        sample
        for asked in traffic_questions(switch)
        for sample in engines.ask_each(answering, "/traffic", "samples", since=str(since), **asked)[0]
    ]
    return sorted(samples, key=lambda sample: float(sample["at"]))


#: Columns of the traffic as CSV: a row per window of a Gateway and cluster. ``at`` is the end of the window.
TRAFFIC_COLUMNS = ("at", "seconds", "cluster", "produced", "consumed")


def traffic_rows(samples: Iterable[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """Return the rows of :data:`TRAFFIC_COLUMNS`, in the order of time."""
    for sample in sorted(samples, key=lambda each: float(each["at"])):
        at = datetime.fromtimestamp(float(sample["at"]), UTC)
        for cluster, (produced, consumed) in sorted(sample["clusters"].items()):
            yield at, SAMPLE_SECONDS, cluster, produced, consumed


_rate_cache: dict[tuple[str, str], tuple[float, tuple[float, float]]] = {}


def _rates(gateways: tuple[GatewayMember, ...], entries: list[dict[str, Any]]) -> None:
    """Add the records per second to the entries. Viewers share an answer for the length of a sample."""
    now = time.time()
    for entry in entries[:RATED_CLIENTS]:
        key = (entry["appid"], entry["client_id"])
        held = _rate_cache.get(key)
        if held is None or now - held[0] > SAMPLE_SECONDS:
            rate = _rate(entry["appid"], gateways, entry["client_id"], now)
            if rate is None:
                continue
            held = _rate_cache[key] = (now, rate)
        entry["produced"], entry["consumed"] = (round(value, 1) for value in held[1])
    for key in [key for key, (at, _rate) in _rate_cache.items() if now - at > 60]:
        _rate_cache.pop(key, None)


def _rate(
    appid: str, gateways: tuple[GatewayMember, ...], client_id: str, now: float
) -> tuple[float, float] | None:
    """Return (produced, consumed) records per second, summed over the Gateways; ``None`` when none answered."""
    produced = consumed = 0.0
    known = False
    since = str(now - RATE_SECONDS - SAMPLE_SECONDS)
    for gateway in gateways:
        samples, silent = engines.ask_each(
            [gateway], "/traffic", "samples", appid=appid, instance=client_id, since=since
        )
        if silent or not samples:
            continue
        known = True
        seconds = len(samples) * SAMPLE_SECONDS
        for sample in samples:
            for cluster_produced, cluster_consumed in sample["clusters"].values():
                produced += cluster_produced / seconds
                consumed += cluster_consumed / seconds
    return (produced, consumed) if known else None


def snapshot(switch: Switch) -> dict[str, Any]:
    """Return the switch's state and its log, for scripts."""
    records = list(switch.stages.all())
    return {**state(switch, records), "now": timezone.now().isoformat(), "log": log_lines(switch)}
