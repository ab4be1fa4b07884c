"""Which binding governs each request of one client, as of the last change of bindings."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from hadash.bindings.model import Binding, BindingState
from hadash.gateway.protocol.api_keys import DATA
from hadash.gateway.protocol.subjects import group_of, topics_of
from hadash.gateway.protocol.wire import Request
from hadash.gateway.reporting.durations import Durations
from hadash.gateway.rules.table import BindingTable

#: From the least to the most that is held back.
_STRICTNESS = {state: rank for rank, state in enumerate(BindingState)}


class Governing:
    """For a client that is signed in to ``cluster``. What the client alone decides is found once a change."""

    def __init__(
        self, table: BindingTable, appid: str, client_id: str, cluster: str, durations: Durations
    ) -> None:
        self._table = table
        self._appid = appid
        self._client_id = client_id
        self._cluster = cluster
        self._durations = durations
        self.refresh()

    def refresh(self) -> None:
        """The table has changed."""
        began = time.perf_counter()
        #: What governs requests that name neither Topic nor group.
        self.binding = self._table.binding(self._appid, self._client_id)
        self._clusters = self._table.reachable(self._appid, self._client_id)
        #: Whether what a request names can decide.
        self.by_request = self._table.by_request(self._appid)
        self._durations.add(time.perf_counter() - began)

    @property
    def belongs_here(self) -> bool:
        """Whether the cluster that it is signed in to serves it in any way."""
        return self._cluster in self._clusters

    @property
    def blocked(self) -> bool:
        """Whether anything that it may write is blocked."""
        if not self.by_request:
            return self.binding.state is BindingState.BLOCK
        return self._table.any_blocked(self._appid, self._client_id)

    def is_away(self, group: str) -> bool:
        """Whether a group lives on the other cluster."""
        return self._table.binding(self._appid, self._client_id, group=group).cluster != self._cluster

    def of(self, request: Request, message: Any) -> Binding | None:
        """The binding of a request; ``None`` when what it names lies in different clusters."""
        if not self.by_request:
            return self.binding
        began = time.perf_counter()
        try:
            return self._resolve(request, message)
        finally:
            self._durations.add(time.perf_counter() - began)

    def _resolve(self, request: Request, message: Any) -> Binding | None:
        groups = group_of(request, message)
        if groups is not None:
            return strictest(
                self._table.binding(self._appid, self._client_id, group=group) for group in groups
            )
        topics = topics_of(request, message)
        if topics:
            return strictest(self._table.bindings(self._appid, self._client_id, topics).values())
        if request.kind in DATA or self.binding.cluster == self._cluster or not self.belongs_here:
            return self.binding
        # It names nothing, and comes on a connection to the cluster of some Topic or group of the client:
        # that one answers.
        return Binding(self._cluster)


def strictest(bindings: Iterable[Binding]) -> Binding | None:
    """The binding that holds back most; ``None`` when they lead to different clusters (or there are none).

    >>> strictest([Binding("east"), Binding("east", BindingState.BLOCK)]).state
    <BindingState.BLOCK: 'block'>
    >>> strictest([Binding("east"), Binding("west")]) is None
    True
    """
    found: Binding | None = None
    for binding in bindings:
        if found is None:
            found = binding
        elif binding.cluster != found.cluster:
            return None
        elif _STRICTNESS[binding.state] > _STRICTNESS[found.state]:
            found = binding
    return found
