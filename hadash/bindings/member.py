"""A Gateway's own membership: how a process takes its name, says what it has in effect, and leaves.

Several processes may come under one name: a replacement, or, by mistake, a second Gateway (every container's pid is
1, every cloned machine is ``localhost``). So each process has an *incarnation*, made by chance at its start, and
nothing else says who it is. The member's record names the incarnation that owns the name, and only that one's report
counts.
"""

from __future__ import annotations

import json
import socket
import threading
import time
import uuid

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError

from hadash.bindings import client as client_settings
from hadash.bindings import layout
from hadash.bindings.client import committed
from hadash.bindings.epochs import Report
from hadash.bindings.errors import NameTaken, Superseded
from hadash.bindings.membership import LOOK_SECONDS, Record, live_incarnation, read_record, read_report
from hadash.bindings.returning import RETURN_SECONDS, Departure, note_departure

#: How many of its session timeouts a Gateway waits for one of the same name to vanish.
PREDECESSOR_SESSIONS = 1.5


class Member:
    """The membership of one process.

    :param pair: the name of the pair that it serves. :param return_seconds: how long its clients may take to
        come back, for those who have to wait for them when it is gone.
    """

    def __init__(
        self,
        client: KazooClient,
        gateway_id: str,
        address: str,
        admin_url: str,
        version: str,
        pid: int,
        *,
        return_seconds: float = RETURN_SECONDS,
        pair: str = "",
    ):
        self.client = client
        self.id = gateway_id
        #: Which process this is.
        self.incarnation = uuid.uuid4().hex
        self._return_seconds = return_seconds
        self._report: Report | None = None
        self._reporting = threading.RLock()
        self._joining = threading.Lock()
        #: Whether the name was this process's once.
        self._has_joined = False
        #: Whom it takes the name from, if anybody, once that one's report has been read.
        self._predecessor: str | None = None
        self._has_read_predecessor = False
        self._record = {
            "incarnation": self.incarnation,
            # For people: neither says who somebody is.
            "host": socket.gethostname(),
            "pid": pid,
            "address": address,
            "admin_url": admin_url,
            "version": version,
            "since": time.time(),
            "return_seconds": return_seconds,
            "pair": pair,
        }

    # -- taking the name -----------------------------------------------------------------------------------------

    def predecessor(self) -> Report | None:
        """Wait until nobody else lives under this name; then what a process that did not end in order had in effect,
        ``None`` when there is none. Asked before :meth:`join`.

        :raises NameTaken: another process still lives under it when its session would have ended.
        """
        self._await_name()
        held = read_record(self.client, self.id)
        self._has_read_predecessor = True
        if held is None:
            return None
        self._predecessor = held.incarnation
        return read_report(self.client, self.id, held.incarnation)

    def join(self, report: Report | None = None) -> None:
        """Become a member (or again one, in a new session).

        :param report: what is in effect, if it is later than what was reported last.
        :raises NameTaken: another process lives under this name.
        :raises Superseded: it has taken the name from this process.
        """
        with self._joining:
            if not self._has_read_predecessor:
                self.predecessor()
            while not self.client.retry(self._take, report):
                self._await_name()
            self._has_joined = True
            self._remove_reports_of_others()

    def _take(self, report: Report | None) -> bool:
        """One attempt to own the record and the ephemeral node, both or neither; false when something was changed
        meanwhile."""
        path, live = layout.gateway(self.id), layout.gateway_live(self.id)
        held = read_record(self.client, self.id)
        self._refuse_if_somebody_elses(held)
        session = self.client.exists(live)
        is_own = session is not None and session.ephemeralOwner == self.client.client_id[0]
        if not (session is None or is_own or live_incarnation(self.client, self.id) == self.incarnation):
            return False
        transaction = self.client.transaction()
        if held is None:
            transaction.create(path, json.dumps(self._record).encode())
        elif held.incarnation == self.incarnation:
            transaction.check(path, held.version)
        else:
            # Only an operator takes an exclusion back.
            values = {**self._record, "replaced": held.incarnation, "excluded": held.excluded}
            transaction.set_data(path, json.dumps(values).encode(), version=held.version)
            note_departure(self.client, transaction, held.departure_id(self.id), held.departure(self.id))
        if not is_own:
            if session is not None:
                transaction.delete(live)  # of this process's earlier session, which has not expired yet
            transaction.create(live, self.incarnation.encode(), ephemeral=True)
        if not committed(transaction):
            return False
        with self._reporting:
            # The loop reports on while a session begins: never back.
            known = (self._report or Report(), report or Report())
            self.report_applied(max(known, key=lambda told: told.latest))
        return True

    def _refuse_if_somebody_elses(self, held: Record | None) -> None:
        """A process that was a member finds its own record. A new one takes the name from whom it has read what was
        in effect, and from nobody else."""
        if held is None or held.incarnation == self.incarnation:
            return
        if self._has_joined:
            raise Superseded(
                f"Another process has become Gateway {self.id!r} while this one was cut off from ZooKeeper "
                f"({_whose(held)}). This one relays no more: its clients have to come back to the other."
            )
        if held.incarnation != self._predecessor:
            raise NameTaken(
                f"Another process has just become Gateway {self.id!r} ({_whose(held)}). "
                "Give this one another HADASH_GATEWAY_ID."
            )

    def _await_name(self) -> None:
        """Wait for another process's session to end: that it is dead is known by nothing else."""
        deadline = time.monotonic() + PREDECESSOR_SESSIONS * client_settings.SESSION_TIMEOUT_SECONDS
        while (living := live_incarnation(self.client, self.id)) not in (None, self.incarnation):
            if time.monotonic() > deadline:
                held = read_record(self.client, self.id)
                whose = _whose(held) if held is not None else f"incarnation {living}"
                raise NameTaken(
                    f"A Gateway named {self.id!r} is running already ({whose}). "
                    "Give this one another HADASH_GATEWAY_ID."
                )
            time.sleep(LOOK_SECONDS)

    def _remove_reports_of_others(self) -> None:
        """What earlier processes reported has been read, and would be read by nobody any more."""
        path = layout.gateway(self.id)
        kept = {layout.gateway_live(self.id), layout.gateway_applied(self.id, self.incarnation)}
        for child in self.client.get_children(path):
            if f"{path}/{child}" not in kept:
                try:
                    self.client.delete(f"{path}/{child}")
                except NoNodeError:
                    continue

    # -- as a member ---------------------------------------------------------------------------------------------

    def report_applied(self, report: Report) -> None:
        """Say what is in effect in this process."""
        path, data = layout.gateway_applied(self.id, self.incarnation), report.to_bytes()
        with self._reporting:
            self._report = report
            try:
                self.client.set(path, data)
            except NoNodeError:
                try:
                    self.client.create(path, data)
                except NodeExistsError:
                    self.client.set(path, data)

    def expect_everybody_back(self) -> None:
        """Before a process that has lost its name hangs up: those that it serves may send again what is not
        answered then.

        Their time begins now. What was noted when the name was taken may be over: that was while this process
        was cut off, and it has relayed since. One try, and not for long, because this process must stop.

        :raises KazooException: ZooKeeper does not answer (:data:`hadash.bindings.client.LOST_REPLY`).
        """
        path = layout.returning(self.incarnation)
        data = Departure(self.id, self._return_seconds).to_bytes()
        try:
            self.client.create_async(path, data).get(timeout=client_settings.ANSWER_SECONDS)
        except NodeExistsError:
            self.client.set_async(path, data).get(timeout=client_settings.ANSWER_SECONDS)

    def leave(self, departure: Departure | None = None) -> None:
        """Stop being a member: a switch no longer waits for this Gateway.

        :param departure: who may send again what was not answered, noted in the same transaction.
        """
        self.client.retry(self._leave, departure)

    def _leave(self, departure: Departure | None) -> None:
        path = layout.gateway(self.id)
        while (
            held := read_record(self.client, self.id)
        ) is not None and held.incarnation == self.incarnation:
            transaction = self.client.transaction()
            if departure is not None:
                note_departure(self.client, transaction, self.incarnation, departure)
            for child in self.client.get_children(path):
                transaction.delete(f"{path}/{child}")
            transaction.delete(path, version=held.version)
            if committed(transaction):
                return


def _whose(held: Record) -> str:
    values = held.values
    return f"pid {values.get('pid')} on {values.get('host')}, incarnation {held.incarnation or 'unknown'}"
