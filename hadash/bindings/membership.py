"""The member Gateways: which of them are live, and which epochs each has put into effect."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.handlers.utils import AsyncResult

from hadash.bindings import layout
from hadash.bindings.client import LOST_REPLY, committed, reaching
from hadash.bindings.epochs import Report
from hadash.bindings.errors import NoSuchMember, StoreUnavailable, UnknownOutcome
from hadash.bindings.model import GatewayMember
from hadash.bindings.pending_retries import RETURN_SECONDS, Departure, note_departure
from hadash.identity.names import decode
from hadash.sentences import say

#: Seconds between two looks.
LOOK_SECONDS = 0.1

#: Seconds during which a write whose reply was lost is read back.
READ_BACK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Record:
    """The content of a member's node. :class:`hadash.bindings.member.Member` defines its fields; a record of another
    version may lack some."""

    values: dict[str, Any]
    version: int

    @property
    def incarnation(self) -> str:
        """The process that owns the name; empty for a Gateway from before incarnations."""
        return str(self.values.get("incarnation", ""))

    @property
    def excluded(self) -> bool:
        """Whether an operator has excluded the Gateway: changes of bindings then wait for it only while it is live."""
        return bool(self.values.get("excluded", False))

    def departure_id(self, gateway_id: str) -> str:
        """The id under which the process's departure is noted; for a process from before incarnations it is made of
        its Gateway and its record's version."""
        return self.incarnation or f"{gateway_id}-{self.version}"

    def departure(self, gateway_id: str) -> Departure:
        """Return the departure of a process that did not shut down cleanly: it is unknown what it had under way."""
        return Departure(gateway_id, number(self.values.get("return_seconds")) or RETURN_SECONDS)


def read_record(client: KazooClient, gateway_id: str) -> Record | None:
    """Return a Gateway's record; ``None`` when it is no member, and a record without values if it cannot be parsed."""
    return _record(client.get_async(layout.gateway(gateway_id)))


def _record(answer: AsyncResult) -> Record | None:
    try:
        data, stat = answer.get()
    except NoNodeError:
        return None
    return Record(_values(data), stat.version)


def set_excluded(client: KazooClient, gateway_id: str, excluded: bool) -> bool:
    """Set whether changes of bindings wait for a Gateway; a later start of it does not change that. False when nothing
    had to be changed.

    With an exclusion the same transaction notes that all clients of that Gateway may come back.

    :raises NoSuchMember: the Gateway is not a member (any more).
    :raises StoreUnavailable: ZooKeeper does not answer; nothing was changed.
    :raises UnknownOutcome: the reply was lost, and the result cannot be read back.
    """
    path = layout.gateway(gateway_id)
    while True:
        with reaching():
            record = read_record(client, gateway_id)
            if record is None:
                raise NoSuchMember(say("Gateway %(gateway)s is no member.", gateway=gateway_id))
            if record.excluded is excluded:
                return False
            transaction = client.transaction()
            values = {**record.values, "excluded": excluded}
            transaction.set_data(path, json.dumps(values).encode(), version=record.version)
            if excluded:
                note_departure(
                    client, transaction, record.departure_id(gateway_id), record.departure(gateway_id)
                )
        try:
            if committed(transaction):
                return True
        except LOST_REPLY as error:
            if not _came_true(client, gateway_id, excluded, error):
                raise StoreUnavailable(
                    say("ZooKeeper cannot be reached (%(reason)s).", reason=type(error).__name__)
                ) from None
            return True
        # The record was replaced at this moment, or the Gateway has left.


def _came_true(client: KazooClient, gateway_id: str, excluded: bool, lost: Exception) -> bool:
    """Return whether the write was carried out although its reply was lost.

    The record read now is final: a session's commands are carried out in their order, so a write that has not happened
    before this read does not happen after it.

    :raises UnknownOutcome: the record cannot be read.
    """
    deadline = time.monotonic() + READ_BACK_SECONDS
    while time.monotonic() < deadline:
        try:
            client.sync(layout.gateway(gateway_id))
            record = read_record(client, gateway_id)
        except LOST_REPLY:
            time.sleep(LOOK_SECONDS)  # a lost session fails at once
            continue
        return record is not None and record.excluded is excluded
    raise UnknownOutcome(
        say(
            "ZooKeeper did not answer (%(reason)s), and for %(seconds)s s it could not be read whether the Gateway's "
            "record was changed.",
            reason=type(lost).__name__,
            seconds=f"{READ_BACK_SECONDS:.0f}",
        )
    ) from lost


def members(client: KazooClient) -> list[GatewayMember]:
    """Return all members by id, live or not. A record that cannot be parsed counts as a member that is not live.

    All nodes are requested before the first answer is awaited: clients wait while a switch checks which Gateways have
    put a change into effect.
    """
    ids = [decode(child) for child in sorted(client.get_children(layout.GATEWAYS))]
    asked = [
        (each, client.get_async(layout.gateway(each)), client.get_async(layout.gateway_live(each)))
        for each in ids
    ]
    looked = [(each, _record(record), _incarnation(live)) for each, record, live in asked]
    there = [(each, record, living) for each, record, living in looked if record is not None]
    reports = [
        client.get_async(layout.gateway_applied(each, record.incarnation)) for each, record, _ in there
    ]
    return [
        GatewayMember(
            id=gateway_id,
            address=str(record.values.get("address", "")),
            admin_url=str(record.values.get("admin_url", "")),
            version=str(record.values.get("version", "")),
            pid=int(number(record.values.get("pid"))),
            since=number(record.values.get("since")),
            live=living == record.incarnation,
            report=_report(report),
            excluded=record.excluded,
            incarnation=record.incarnation,
            pair=str(record.values.get("pair", "")),
        )
        for (gateway_id, record, living), report in zip(there, reports, strict=True)
    ]


def _values(data: bytes) -> dict[str, Any]:
    """Parse a member's record; empty if it is not a record."""
    try:
        value = json.loads(data or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def number(value: Any) -> float:
    """Return ``value`` as a float; 0 for anything that is not a number."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def live_incarnation(client: KazooClient, gateway_id: str) -> str | None:
    """Return the incarnation whose session holds the name; ``None`` when there is none."""
    return _incarnation(client.get_async(layout.gateway_live(gateway_id)))


def _incarnation(answer: AsyncResult) -> str | None:
    try:
        data: bytes = answer.get()[0]
    except NoNodeError:
        return None
    return data.decode(errors="replace")


def read_report(client: KazooClient, gateway_id: str, incarnation: str) -> Report:
    """Return the report of one process of a member; reports of its other processes do not count."""
    return _report(client.get_async(layout.gateway_applied(gateway_id, incarnation)))


def _report(answer: AsyncResult) -> Report:
    try:
        return Report.from_bytes(answer.get()[0])
    except NoNodeError:
        return Report()


def not_told(found: list[GatewayMember], epoch: int, newest: int | None = None) -> list[GatewayMember]:
    """Return the members that may not obey the change of ``epoch`` yet.

    :param newest: ZooKeeper's last epoch, read after ``found``. A member that knows of later epochs speaks of changes
        that ZooKeeper has lost, so its report does not count.
    """
    return [m for m in found if m.counts and not (m.report.obeys(epoch) and _is_credible(m, newest))]


def not_applied(found: list[GatewayMember], epoch: int, newest: int | None = None) -> list[GatewayMember]:
    """Return the members that the change of ``epoch`` still waits for.

    :param newest: see :func:`not_told`.
    """
    return [m for m in found if m.counts and not (m.report.has(epoch) and _is_credible(m, newest))]


def _is_credible(member: GatewayMember, newest: int | None) -> bool:
    return newest is None or not member.report.is_ahead_of(newest)
