"""Which Gateways there are, which of them live, and which epoch each has put into effect."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError

from hadash.bindings import client as client_settings
from hadash.bindings import layout
from hadash.bindings.client import LOST_REPLY, reaching
from hadash.bindings.epochs import Report
from hadash.bindings.errors import NameTaken, NoSuchMember, StoreUnavailable, UnknownOutcome
from hadash.bindings.model import GatewayMember
from hadash.identity.names import decode

#: How many of its session timeouts a Gateway waits for one of the same name to vanish, and seconds between two looks.
PREDECESSOR_SESSIONS = 1.5
LOOK_SECONDS = 0.1

#: Seconds in which a write whose reply was lost is read back.
READ_BACK_SECONDS = 5.0


def _is_dead(record: dict[str, Any]) -> bool:
    """Whether the process of a record of this host is gone."""
    try:
        os.kill(int(record["pid"]), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, KeyError, TypeError, ValueError):
        return False
    return False


class Member:
    """A Gateway's own membership. The ephemeral node is made anew whenever the session was lost."""

    def __init__(
        self, client: KazooClient, gateway_id: str, address: str, admin_url: str, version: str, pid: int
    ):
        self.client = client
        self.id = gateway_id
        self._report: Report | None = None
        self._reporting = threading.RLock()
        self._record = {
            "host": socket.gethostname(),
            "address": address,
            "admin_url": admin_url,
            "version": version,
            "pid": pid,
            "since": time.time(),
        }

    def join(self, report: Report | None = None) -> None:
        """Become a member (or again one, in a new session).

        :param report: what is in effect, if it is later than what was reported last.
        :raises NameTaken: another process lives under this name, and still does when an old session would have ended.
        """
        path = layout.gateway(self.id)
        self.client.ensure_path(path)
        held, _ = self.client.get(path)
        self._await_predecessor(_record(held))
        while True:
            held, stat = self.client.get(path)
            # Only an operator takes an exclusion back.
            excluded = {"excluded": True} if _record(held).get("excluded") else {}
            try:
                self.client.set(path, json.dumps({**self._record, **excluded}).encode(), version=stat.version)
                break
            except BadVersionError:
                continue  # an operator has just said something
        with self._reporting:
            # The loop reports on while a session begins: never back.
            self.report_applied(
                max(self._report or Report(), report or Report(), key=lambda told: told.latest)
            )
        self._declare_live()

    def predecessor(self) -> Report | None:
        """What a process of this name that did not end in order had in effect; ``None`` when there is none."""
        return _reported(self.client, self.id) if self.client.exists(layout.gateway(self.id)) else None

    def _await_predecessor(self, held: dict[str, Any]) -> None:
        """Two processes under one name would report for each other. One that is known to be dead, or is this very
        process in an earlier session, is none."""
        if held.get("host") == self._record["host"] and (
            held.get("pid") == self._record["pid"] or _is_dead(held)
        ):
            return
        path, deadline = (
            layout.gateway_live(self.id),
            time.monotonic() + PREDECESSOR_SESSIONS * client_settings.SESSION_TIMEOUT_SECONDS,
        )
        while True:
            stat = self.client.exists(path)
            if stat is None or stat.ephemeralOwner == self.client.client_id[0]:
                return
            if time.monotonic() > deadline:
                raise NameTaken(
                    f"A Gateway named {self.id!r} is running already (pid {held.get('pid')} on {held.get('host')}). "
                    "Give this one another HADASH_GATEWAY_ID."
                )
            time.sleep(LOOK_SECONDS)

    def _declare_live(self) -> None:
        """Own the ephemeral node, also when one of an earlier session has not expired yet."""
        path = layout.gateway_live(self.id)
        try:
            self.client.create(path, b"", ephemeral=True)
        except NodeExistsError:
            stat = self.client.exists(path)
            if stat is not None and stat.ephemeralOwner != self.client.client_id[0]:
                try:
                    self.client.delete(path)
                except NoNodeError:
                    pass
                self.client.create(path, b"", ephemeral=True)

    def report_applied(self, report: Report) -> None:
        """Say what is in effect here."""
        path, data = layout.gateway_applied(self.id), report.to_bytes()
        with self._reporting:
            self._report = report
            try:
                self.client.set(path, data)
            except NoNodeError:
                try:
                    self.client.create(path, data, makepath=True)
                except NodeExistsError:
                    self.client.set(path, data)

    def leave(self) -> None:
        """Stop being a member: a switch no longer waits for this Gateway."""
        self.client.delete(layout.gateway(self.id), recursive=True)


def set_excluded(client: KazooClient, gateway_id: str, excluded: bool) -> bool:
    """Whether changes of bindings wait for a Gateway; a later start of it does not change that. False when it was so already.

    :raises NoSuchMember: it is no member (any more).
    :raises StoreUnavailable: ZooKeeper does not answer; nothing was changed.
    :raises UnknownOutcome: the reply was lost, and what came of it cannot be read.
    """
    path = layout.gateway(gateway_id)
    while True:
        try:
            with reaching():
                data, stat = client.get(path)
            record = _record(data)
            if bool(record.get("excluded")) is excluded:
                return False
            try:
                client.set(path, json.dumps({**record, "excluded": excluded}).encode(), version=stat.version)
            except LOST_REPLY as error:
                if not _came_true(client, path, excluded, error):
                    raise StoreUnavailable(f"ZooKeeper cannot be reached ({type(error).__name__}).") from None
            return True
        except BadVersionError:
            continue  # it has just written its own record anew
        except NoNodeError:
            raise NoSuchMember(f"Gateway {gateway_id} is no member.") from None


def _came_true(client: KazooClient, path: str, excluded: bool, lost: Exception) -> bool:
    """After a lost reply: whether the write was carried out.

    What the record says now is the end of it: a session's commands are carried out in their order, so a write that has not
    happened before this look does not happen after it.

    :raises UnknownOutcome: the record cannot be read.
    """
    deadline = time.monotonic() + READ_BACK_SECONDS
    while time.monotonic() < deadline:
        try:
            client.sync(path)
            data, _stat = client.get(path)
        except LOST_REPLY:
            time.sleep(LOOK_SECONDS)  # a session that is lost says so at once
            continue
        return bool(_record(data).get("excluded")) is excluded
    raise UnknownOutcome(
        f"ZooKeeper did not answer ({type(lost).__name__}), and for {READ_BACK_SECONDS:.0f} s it could not be read "
        "whether the Gateway's record was changed."
    ) from lost


def members(client: KazooClient) -> list[GatewayMember]:
    """All members by id, live or not. A record that cannot be parsed counts as a member that is not live."""
    found = []
    for child in sorted(client.get_children(layout.GATEWAYS)):
        gateway_id = decode(child)
        try:
            data, _ = client.get(layout.gateway(gateway_id))
        except NoNodeError:
            continue
        record = _record(data)
        found.append(
            GatewayMember(
                id=gateway_id,
                address=str(record.get("address", "")),
                admin_url=str(record.get("admin_url", "")),
                version=str(record.get("version", "")),
                pid=int(_number(record.get("pid"))),
                since=_number(record.get("since")),
                live=client.exists(layout.gateway_live(gateway_id)) is not None,
                report=_reported(client, gateway_id),
                excluded=bool(record.get("excluded", False)),
            )
        )
    return found


def _record(data: bytes) -> dict[str, Any]:
    """A member's record; an empty one for what is none."""
    try:
        value = json.loads(data or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _reported(client: KazooClient, gateway_id: str) -> Report:
    """What a member says that it has in effect, and what it obeys."""
    try:
        return Report.from_bytes(client.get(layout.gateway_applied(gateway_id))[0])
    except NoNodeError:
        return Report()


def not_told(found: list[GatewayMember], epoch: int) -> list[GatewayMember]:
    """The members that may not obey the change of ``epoch`` yet."""
    return [member for member in found if not member.excluded and not member.report.obeys(epoch)]


def not_applied(found: list[GatewayMember], epoch: int) -> list[GatewayMember]:
    """The members that the change of ``epoch`` still waits for."""
    return [member for member in found if not member.excluded and not member.report.has(epoch)]
