"""How long each client of a switch was without a record, as the Gateways saw it
(:mod:`hadash.gateway.reporting.pauses`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hadash.bindings.errors import StoreUnavailable
from hadash.inventory.gateways import ask_all
from hadash.switching.execution.connections import ask_about
from hadash.switching.models.switches import Switch
from hadash.switching.plan import Plan

log = logging.getLogger(__name__)

#: The most pauses of one switch that are stored, the longest ones: a batch may move many thousand clients.
MOST_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class Pause:
    """The time from a client's last record before its bindings forwarded again to its first one after. Seconds
    since 1970.
    """

    appid: str
    client_id: str
    #: produce or consume.
    kind: str
    since: float
    #: ``None`` if no record had moved again when the switch ended.
    until: float | None

    @property
    def writes(self) -> bool:
        return self.kind == "produce"

    @property
    def seconds(self) -> float | None:
        return None if self.until is None else self.until - self.since

    def to_json(self) -> list[Any]:
        return [self.appid, self.client_id, self.kind, self.since, self.until]


def pauses_of(plan: Plan, entries: Iterable[Mapping[str, Any]]) -> list[Pause]:
    """The pauses of the clients that a plan moves, the longest first (after those that have not ended). Pure.

    A client may be connected to several Gateways: it paused while none of them passed a record of it. Time in which
    another Gateway passed records does not count.

    :param entries: of all Gateways.
    """
    since: dict[tuple[str, str, str], float] = {}
    until: dict[tuple[str, str, str], float | None] = {}
    for entry in entries:
        key = str(entry["appid"]), str(entry["client_id"]), str(entry["kind"])
        if not plan.covers(key[0], key[1]):
            continue
        ended = None if entry["until"] is None else float(entry["until"])
        since[key] = max(float(entry["since"]), since.get(key, 0.0))
        known = until.get(key)
        until[key] = ended if known is None else known if ended is None else min(known, ended)
    found = [Pause(*key, since[key], _not_before(since[key], until[key])) for key in since]
    return sorted(found, key=_longest_first)


def _not_before(since: float, until: float | None) -> float | None:
    """The end of a pause, which is not before ``since``. (Gateways act one after the other: a client may write
    through one before its pause begins at another.)
    """
    return None if until is None else max(since, until)


def _longest_first(pause: Pause) -> tuple[bool, float, str, str, str]:
    return pause.seconds is not None, -(pause.seconds or 0.0), pause.appid, pause.client_id, pause.kind


def keep_pauses(switch: Switch) -> None:
    """Store the pauses of a switch that has ended, because the Gateways forget them. Best effort, like
    :func:`hadash.switching.execution.traffic.keep_traffic`.
    """
    plan = switch.the_plan()
    try:
        entries = ask_about(plan, ask_all, "/pauses", "pauses")
    except StoreUnavailable as error:
        log.warning("the pauses of the clients of switch %s are not kept: %s", switch.key, error)
        return
    began = switch.started_at.timestamp() if switch.started_at else 0.0
    # (A pause that ended before the switch began belongs to an earlier switch of the same AppID.)
    of_this = (entry for entry in entries if entry["until"] is None or entry["until"] >= began)
    kept = [pause.to_json() for pause in pauses_of(plan, of_this)[:MOST_KEPT]]
    Switch.objects.filter(pk=switch.pk).update(pauses=kept)


def kept_pauses(switch: Switch) -> list[Pause]:
    """The pauses that :func:`keep_pauses` stored."""
    return [Pause(*values) for values in switch.pauses]
