"""What Gateways that are gone have left in ZooKeeper, when nobody can come back any more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kazoo.exceptions import BadVersionError, NoNodeError

from hadash.bindings import layout
from hadash.bindings.pending_retries import Departure, ExpectedBack, expected_back, remove_expired
from hadash.switching.recovery import old_journals
from tasks import watching

NOW = 100_000


class Nodes:
    """Departures by the incarnation, with the moment (ms) in which each was written."""

    def __init__(self, **written: int) -> None:
        self.written = written
        self.fault: Exception | None = None

    def set(self, path: str, data: bytes) -> Any:
        assert path == layout.CLOCK
        return SimpleNamespace(mtime=NOW)

    def get_children(self, path: str) -> list[str]:
        assert path == layout.RETURNING
        return sorted(self.written)

    def get(self, path: str) -> tuple[bytes, Any]:
        name = path.rpartition("/")[2]
        return Departure(name, 30.0).to_bytes(), SimpleNamespace(mtime=self.written[name], version=0)

    def delete(self, path: str, version: int) -> None:
        if self.fault is not None:
            raise self.fault
        del self.written[path.rpartition("/")[2]]


def test_those_whose_time_is_over_are_removed_and_no_others() -> None:
    nodes: Any = Nodes(old=NOW - 30_000, young=NOW - 29_000)
    remove_expired(nodes)
    assert list(nodes.written) == ["young"]


@pytest.mark.parametrize(
    ("fault", "expected"), [(NoNodeError(), []), (BadVersionError(), [ExpectedBack("old", 30.0)])]
)
def test_one_that_somebody_else_is_at(fault: Exception, expected: list[ExpectedBack]) -> None:
    nodes: Any = Nodes(old=NOW - 30_000)
    nodes.fault = fault
    assert expected_back(nodes, ["shop"], "east") == expected


def test_they_are_removed_though_nobody_asks_for_a_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes: Any = Nodes(old=NOW - 30_000)
    monkeypatch.setattr(old_journals, "zookeeper", lambda: nodes)
    monkeypatch.setattr(old_journals, "claimed", lambda client: client)
    monkeypatch.setattr(watching, "_trim_tables", lambda: None)
    monkeypatch.setattr(watching, "remove_old_journals", lambda: None)
    watching.trim()
    assert nodes.written == {}
