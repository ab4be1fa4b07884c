"""An auditor's process: a member of the pool of its pair's auditors."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db import close_old_connections
from kazoo.client import KazooClient

from hadash.auditors.clusters import PairClusters
from hadash.auditors.ledger import Ledger
from hadash.auditors.pair_auditor import PairAuditor
from hadash.auditors.pool import keep_if_possible, pool_of
from hadash.auditors.settings import AuditorSettings
from hadash.bindings.errors import StoreUnavailable
from hadash.coordinator.member.process import PoolMember
from hadash.coordinator.member.topic_reader import Reader
from hadash.coordinator.process_settings import MemberSettings
from hadash.inventory.installation import claimed
from hadash.inventory.models import Pair

log = logging.getLogger(__name__)

#: Seconds between two looks at which Topics are mirrored.
TOPICS_SECONDS = 10.0

#: Seconds that the thread which reads has to note how far it is, when the process ends.
END_SECONDS = 20.0


class UnknownPair(LookupError):
    """There is no pair with this name."""


class Auditor:
    """Audits the partitions of a pair that the coordinator assigns to it, until it is told to stop.

    :param client: a connected client whose commands time out; it is stopped with the auditor.
    :raises UnknownPair: the settings name none.
    """

    def __init__(
        self, client: KazooClient, settings: AuditorSettings, member: MemberSettings, token: str
    ) -> None:
        pair = Pair.objects.select_related("first", "second", "default").filter(name=settings.pair).first()
        if pair is None:
            known = ", ".join(Pair.objects.order_by("name").values_list("name", flat=True)) or "none"
            raise UnknownPair(f"There is no pair {settings.pair!r}; there are: {known}.")
        self._client = client
        self._pair = pair
        self._stop = threading.Event()
        self.reads = PairAuditor(Ledger(pair, member.name), PairClusters(pair, settings), settings)
        self.member = PoolMember(client, replace(member, pool=pool_of(pair.name)), token, self._reader)

    def _reader(self, topic: str, _consumer: Mapping[str, Any]) -> Reader:
        return self.reads.assignments.topic(topic)

    def stop(self) -> None:
        self._stop.set()
        self.member.stop()

    def run(self) -> None:
        """Audit until :meth:`stop` is called."""
        self.reads.start()
        keeping = threading.Thread(target=self._keep_topics, name="topics", daemon=True)
        keeping.start()
        try:
            self.member.run()
        finally:
            self._stop.set()
            self.reads.stop(END_SECONDS)
            keeping.join(END_SECONDS)

    def _keep_topics(self) -> None:
        """Have the pool follow the mirrors. (All auditors of a pair do: what one has done, the others find done.)"""
        servers = ""
        while not self._stop.is_set():
            try:
                pair = Pair.objects.select_related("first", "second", "default").get(pk=self._pair.pk)
                now = pair.default.bootstrap_servers
                if keep_if_possible(claimed(self._client), pair, with_servers=now != servers):
                    servers = now
            except StoreUnavailable as error:  # it does not answer, or its chroot is another installation's
                log.warning("the pool does not follow the mirrors: %s", error)
            except Exception:  # a database that is away: it is tried again
                log.exception("the pool does not follow the mirrors")
            close_old_connections()
            self._stop.wait(TOPICS_SECONDS)
