"""A generated fleet with known answers: its facts, its snapshot, and the findings that the rules have to make."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from hadash.governance.catalogue import Code
from hadash.governance.catalogue.figures import UNSEEN_DAYS
from hadash.lake import access, snapshots
from hadash.lake.access import GATEWAY, SURVIVE_USER
from hadash.lake.store import Store

#: The newest days, on which nearly all facts were seen.
DAYS = 7

EVERY_DAY = tuple(range(DAYS))

#: The age in days of a day from which on reports reach back far enough for every rule.
LONG_AGO = UNSEEN_DAYS + 5


class Fact(NamedTuple):
    """One fact. ``ages``: the days on which it was seen, counted back from the newest (0)."""

    pair: str
    appid: str
    client_id: str
    kind: str
    resource: str
    cluster: str
    host: str = "10.0.0.1"
    library: str = "apache-kafka-java"
    version: str = "3.9.0"
    acks: int | None = None
    idempotent: bool | None = None
    transactional: bool | None = None
    assignors: tuple[str, ...] | None = None
    session_timeout_ms: int | None = None
    source: str = GATEWAY
    ages: tuple[int, ...] = EVERY_DAY


class Answer(NamedTuple):
    """One finding that has to be made, or must not be."""

    code: Code
    pair: str
    appid: str
    name: str


@dataclass
class Fleet:
    """A fleet. ``answers`` are all expected findings. ``earlier`` are the tables of snapshots before the last
    one, by the number of hours before it.
    """

    newest_day: str
    facts: list[Fact] = field(default_factory=list)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    earlier: dict[int, dict[str, list[dict[str, Any]]]] = field(default_factory=dict)
    answers: set[Answer] = field(default_factory=set)

    @property
    def at(self) -> datetime:
        """The time of its last snapshot, at the end of the newest day."""
        return datetime.fromisoformat(self.newest_day).replace(tzinfo=UTC) + timedelta(hours=23)

    def answer(self, code: Code, pair: str, name: str, appid: str = "") -> None:
        """Note an expected finding."""
        self.answers.add(Answer(code, pair, appid, name))

    def add(self, table: str, **row: Any) -> dict[str, Any]:
        """Add a row to a table of the snapshot, and return it."""
        self.tables[table].append(row)
        return row

    def find(self, table: str, **wanted: Any) -> list[dict[str, Any]]:
        """Return the rows with these values, for changing them."""
        return [row for row in self.tables[table] if all(row[k] == v for k, v in wanted.items())]


def write(store: Store, fleet: Fleet) -> None:
    """Write a fleet's reports, one batch for each day and source, and its snapshots."""
    for age in sorted({age for fact in fleet.facts for age in fact.ages}):
        noon = fleet.at - timedelta(days=age, hours=11)
        for source in sorted({fact.source for fact in fleet.facts}):
            seen = (fact for fact in fleet.facts if fact.source == source and age in fact.ages)
            rows = [_report(fact, noon) for fact in seen]
            if rows:
                access.write_batch(store, f"{source}-1", rows, noon + timedelta(hours=1))
    for hours, tables in fleet.earlier.items():
        snapshots.write(store, fleet.at - timedelta(hours=hours), tables)
    snapshots.write(store, fleet.at, fleet.tables)


def _report(fact: Fact, noon: datetime) -> Mapping[str, Any]:
    """Return the report of a fact. (DiDi's brokers report no counts.)"""
    row = {name: value for name, value in fact._asdict().items() if name != "ages"}
    counted = fact.source != SURVIVE_USER
    counts = {
        "requests": 10 * counted,
        "records": 0 if fact.kind == "group" else 100 * counted,
        "bytes": 1000 * counted,
    }
    return {
        **row,
        **counts,
        "gateway": f"{fact.source}-1",
        "assignors": list(fact.assignors) if fact.assignors else None,
        "first_seen": noon,
        "last_seen": noon + timedelta(minutes=50),
    }


def faults(found: Iterable[Answer], fleet: Fleet) -> tuple[list[Answer], list[Answer]]:
    """Return the wrong findings and the missing ones; both are empty when every rule is exact."""
    known = set(found)
    return sorted(known - fleet.answers), sorted(fleet.answers - known)
