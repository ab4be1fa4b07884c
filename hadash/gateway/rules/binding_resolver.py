"""Finds the binding that governs each request of one client, as of the last change of bindings."""

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

#: The rank of each state, from the one that holds back least to the one that holds back most.
_STRICTNESS = {state: rank for rank, state in enumerate(BindingState)}


class BindingResolver:
    """The bindings of a client that is signed in to ``cluster``. What does not depend on a request is looked up once
    per change."""

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
        """Look everything up again, because the table has changed."""
        began = time.perf_counter()
        #: The binding for requests that name neither Topic nor group.
        self.binding = self._table.binding(self._appid, self._client_id)
        self._clusters = self._table.reachable(self._appid, self._client_id)
        #: Whether the binding can depend on what a request names.
        self.by_request = self._table.by_request(self._appid)
        self._durations.add(time.perf_counter() - began)

    @property
    def belongs_here(self) -> bool:
        """Whether the cluster that the client is signed in to serves any of its requests."""
        return self._cluster in self._clusters

    @property
    def blocked(self) -> bool:
        """Whether anything that the client may write is blocked."""
        if not self.by_request:
            return self.binding.state is BindingState.BLOCK
        return self._table.any_blocked(self._appid, self._client_id)

    def is_away(self, group: str) -> bool:
        """Whether a group is on the other cluster."""
        return self._table.binding(self._appid, self._client_id, group=group).cluster != self._cluster

    def of(self, request: Request, message: Any) -> Binding | None:
        """Return the binding of a request; ``None`` when the names in it belong to different clusters."""
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
        # The request names nothing, and its connection leads to the cluster of one of the client's Topics or groups:
        # that cluster answers.
        return Binding(self._cluster)


def strictest(bindings: Iterable[Binding]) -> Binding | None:
    """Return the binding that holds back most; ``None`` when they lead to different clusters (or there are none).

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
