"""A Gateway's own membership: how a process takes its name, reports what it has in effect, and leaves.

Several processes may use one name: a replacement, or, by mistake, a second Gateway (every container's pid is 1, every
cloned machine is ``localhost``). So each process draws a random *incarnation* at its start; nothing else identifies
the process. The member's record names the incarnation that owns the name, and only that incarnation's report counts.
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
from hadash.bindings.pending_retries import RETURN_SECONDS, Departure, note_departure

#: How long a Gateway waits for another one of the same name to vanish, in session timeouts.
PREDECESSOR_SESSIONS = 1.5


class Member:
    """The membership of one process.

    :param pair: the name of the pair that it serves.
    :param return_seconds: how long its clients may take to come back; a switch waits so long once this Gateway is gone.
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
        #: Identifies this process.
        self.incarnation = uuid.uuid4().hex
        self._return_seconds = return_seconds
        self._report: Report | None = None
        self._reporting = threading.RLock()
        self._joining = threading.Lock()
        #: Whether this process has owned the name before.
        self._has_joined = False
        #: The incarnation that this process takes the name from, if any, once its report has been read.
        self._predecessor: str | None = None
        self._has_read_predecessor = False
        self._record = {
            "incarnation": self.incarnation,
            # For people: neither identifies a process.
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
        """Wait until no other process lives under this name, then return the last report of a process that did not shut
        down cleanly; ``None`` when there is none. Called before :meth:`join`.

        :raises NameTaken: another process still lives under the name when its session should have ended.
        """
        self._await_name()
        held = read_record(self.client, self.id)
        self._has_read_predecessor = True
        if held is None:
            return None
        self._predecessor = held.incarnation
        return read_report(self.client, self.id, held.incarnation)

    def join(self, report: Report | None = None) -> None:
        """Become a member, or become one again in a new session.

        :param report: what is in effect, if that is later than the last report.
        :raises NameTaken: another process lives under this name.
        :raises Superseded: another process has taken the name from this one.
        """
        with self._joining:
            if not self._has_read_predecessor:
                self.predecessor()
            while not self.client.retry(self._take, report):
                self._await_name()
            self._has_joined = True
            self._remove_reports_of_others()

    def _take(self, report: Report | None) -> bool:
        """Try once to own both the record and the ephemeral node; false when something changed meanwhile."""
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
            # Only an operator lifts an exclusion.
            values = {**self._record, "replaced": held.incarnation, "excluded": held.excluded}
            transaction.set_data(path, json.dumps(values).encode(), version=held.version)
            note_departure(self.client, transaction, held.departure_id(self.id), held.departure(self.id))
        if not is_own:
            if session is not None:
                transaction.delete(live)  # from this process's earlier session, which has not expired yet
            transaction.create(live, self.incarnation.encode(), ephemeral=True)
        if not committed(transaction):
            return False
        with self._reporting:
            # The loop keeps reporting while a session begins: the report must never go back.
            known = (self._report or Report(), report or Report())
            self.report_applied(max(known, key=lambda told: told.latest))
        return True

    def _refuse_if_somebody_elses(self, held: Record | None) -> None:
        """Refuse to take a record that belongs to another process.

        A process that was a member finds its own record. A new process takes the name only from the process whose
        report it has read.
        """
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
        """Wait for another process's session to end: only that proves that the process is dead."""
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
        """Delete the reports of earlier processes: they have been read, and no reader needs them any more."""
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
        """Report what is in effect in this process."""
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
        """Note that every client of this process may come back, before a process that has lost its name hangs up.

        Its clients may then send again what is not answered. The time to wait for them begins now: the note made when
        the name was taken may have expired, because this process was cut off then and has relayed since. There is one
        attempt with a short timeout, because this process must stop.
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

        :param departure: the clients that may send again what was not answered, noted in the same transaction.
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
