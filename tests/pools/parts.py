"""A pool as pages and requests see it, without ZooKeeper and coordinators."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Mapping
from typing import Any

import pytest

from hadash.coordinator.documents import AssignmentDocument, StateDocument
from hadash.coordinator.election import Leader
from hadash.coordinator.pool import Isolation, PoolSettings
from hadash.coordinator.pool_view import Assigned, PoolView
from hadash.coordinator.states import State
from hadash.pools.actions import Action, Change
from hadash.pools.live import Pools, Said
from hadash.pools.models import PoolChange, digest_of
from hadash.presentation import pools
from hadash.sentences import say

#: The members of "readers", and who has which partition of "orders".
MEMBERS = {0: "reader-1", 1: "reader-1", 2: "reader-2", 3: "读者-三"}

SERVERS = "127.0.0.1:1"

STABLE = StateDocument(State.STABLE)


def assigned(
    members: Mapping[int, str] = MEMBERS, standing: StateDocument = STABLE, servers: str = SERVERS
) -> Assigned:
    consumer = {"bootstrap.servers": servers, "group.id": "readers"}
    return Assigned(AssignmentDocument(consumer, members), 7, 1, standing, 1, 1_800_000_000.0)


def view(
    settings: PoolSettings | None = None,
    isolated: Mapping[str, Isolation] | None = None,
    **topics: Assigned,
) -> PoolView:
    """A pool that reads "orders", or these Topics."""
    return PoolView(settings or PoolSettings(), 3, isolated or {}, topics or {"orders": assigned()})


def said(members: Mapping[str, Mapping[str, Any]] | None = None, **of_topics: Any) -> Said:
    """What the coordinator says of the pool "readers".

    :param members: what it says of each member besides that it answers. :param of_topics: of the Topic "orders".
    """
    told = {name: {} for name in MEMBERS.values()} if members is None else members
    status = {
        "pools": {
            "readers": {
                "discovery_error": {},
                "members": {
                    name: {
                        "url": f"http://{name}:8700",
                        "isolated": False,
                        "answered_seconds_ago": 0.4,
                        "error": "",
                        "reads": {"orders": [p for p, who in MEMBERS.items() if who == name]},
                        "bytes_per_second": 1024.0,
                        "lag": 3,
                        "errors": {},
                        **more,
                    }
                    for name, more in told.items()
                },
                "topics": {
                    "orders": {
                        "state": "Stable", "unstable_since": None, "overdue": False, "why": {}, "waiting_for": {},
                        "error": {}, "count_error": {}, "shadow": None, **of_topics,
                    }
                },
                "history": [],
            }
        },
        "errors": {},
    }  # fmt: skip
    return Said(Leader("coordinator-1", "http://coordinator-1:8790"), status)


class _Fixed:
    def __init__(self, found: Any) -> None:
        self._found = found

    def get(self, *, refresh: bool = False) -> Any:
        return self._found


def show(
    monkeypatch: pytest.MonkeyPatch,
    found: PoolView | None = None,
    told: Said | None = None,
    name: str = "readers",
    registered: frozenset[str] = frozenset(MEMBERS.values()),
) -> PoolView:
    """Let pages and the API see one pool."""
    seen = found or view()
    every = Pools({name: seen}, registered={name: registered})
    monkeypatch.setattr(pools, "_in_zookeeper", _Fixed(every))
    monkeypatch.setattr(pools, "_of_leader", _Fixed(told or said()))
    return seen


def requested(user: Any, pair: Any, action: Action = Action.ISOLATE, **values: Any) -> PoolChange:
    """A change that waits for one approval."""
    from datetime import timedelta

    from django.utils import timezone

    change = Change(
        "readers", action, **({"member": "reader-2"} if action is Action.ISOLATE else {}), **values
    )
    return PoolChange.objects.create(
        pair=pair,
        pool=change.pool,
        action=change.action.value,
        member=change.member,
        topic=change.topic,
        strategy=change.strategy,
        digest=digest_of(change),
        reason="It hangs.",
        requested_by=user,
        approvals_needed=1,
        expires_at=timezone.now() + timedelta(hours=1),
    )


def text_of(answer: Any) -> str:
    """The text of the main part of a page, as somebody reads it."""
    page = answer.content.decode()
    main = page.split("<main", 1)[-1].partition(">")[2] if "<main" in page else page
    main = re.sub(r"<(script|svg|style)\b.*?</\1>", " ", main, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", main)))


def show_moving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages see a pool in which much is going on: partitions move, one member hangs, one is isolated, and a Topic
    is read from servers that nobody knows.
    """
    moving = StateDocument(
        State.CLOSING,
        to_start={"reader-2": frozenset({1, 5}), "读者-三": frozenset({6})},
        to_close={"reader-1": frozenset({1, 5})},
    )
    members = {0: "reader-1", 1: "", 2: "reader-2", 3: "读者-三", 4: "reader-1", 5: "", 6: "", 7: ""}
    seen = view(
        PoolSettings(strategy="sticky", shadow="weighted"),
        {"reader-4": Isolation("olga", "磁盘已满，请勿恢复")},
        orders=assigned(members, moving),
        payments=assigned({0: "reader-2"}, servers="kafka-of-another-team.example:9092"),
    )
    told = said(
        {
            "reader-1": {},
            "reader-2": {
                "error": "timed out after two seconds",
                "reads": None,
                "bytes_per_second": None,
                "lag": None,
            },
            "读者-三": {"errors": {"orders": "partition 3: the record at 17 was not handled"}},
            "reader-4": {"reads": {}, "bytes_per_second": 0.0, "lag": 0},
        },
        overdue=True,
        unstable_since=time.time() - 300,
        why=say("Waiting for members to stop partitions: %(members)s.", members=["reader-1 (2)"]).to_json(),
    )
    show(monkeypatch, seen, told)
