"""The recorded clients, for adding them to fleets under other names. Their libraries and settings stay as
reported.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from hadash.lake.access import ALL_TOPICS, LISTING
from spark.fleet.model import EVERY_DAY, Fact
from spark.fleet.recorded import FOLDER
from spark.fleet.recorded.recording import ABOUT, REPORTS, SNAPSHOT

#: The fields of a report that a fleet does not change.
_AS_REPORTED = tuple(
    name
    for name in Fact._fields
    if name not in ("pair", "appid", "client_id", "kind", "resource", "cluster", "host", "ages")
)

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Client:
    """One recorded client with every fact that was reported of it. ``about``: its description in the recording."""

    appid: str
    client_id: str
    reports: tuple[Row, ...]
    about: Row = field(default_factory=dict)

    @property
    def group(self) -> str:
        """The group in which it reads; empty for none."""
        return next((str(each["resource"]) for each in self.reports if each["kind"] == "group"), "")

    def settings(self, kind: str) -> dict[str, Any]:
        """Return its reported settings for one kind of use, with the names of :class:`~spark.fleet.model.Fact`."""
        report = next(each for each in self.reports if each["kind"] == kind)
        return _UNKNOWN | {name: _value(report[name]) for name in _AS_REPORTED if name in report}

    def facts(
        self,
        pair: str,
        appid: str,
        cluster: str,
        host: str,
        topics: Sequence[str],
        *,
        client_id: str | None = None,
        group: str = "",
        ages: tuple[int, ...] = EVERY_DAY,
    ) -> Iterator[Fact]:
        """Yield the facts that would be reported of it in a fleet, each once.

        :param client_id: ``None`` keeps the name that its library has made, with its group replaced if it is in
            it.
        """
        recorded, name = self.group, client_id
        if name is None:
            name = self.client_id.replace(recorded, group) if recorded else self.client_id
        found: dict[Fact, None] = {}
        for report in self.reports:
            as_reported = _UNKNOWN | {each: _value(report[each]) for each in _AS_REPORTED if each in report}
            for resource in _resources(report["kind"], topics, group):
                fact = Fact(
                    pair,
                    appid,
                    name,
                    report["kind"],
                    resource,
                    cluster,
                    host,
                    ages=ages,
                    **as_reported,
                )
                found[fact] = None
        yield from found


#: The values of fields that a report lacks: they are unknown, not invented.
_UNKNOWN: dict[str, Any] = {**dict.fromkeys(_AS_REPORTED), "library": "", "version": "", "source": "gateway"}


def _value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _resources(kind: str, topics: Sequence[str], group: str) -> Sequence[str]:
    if kind == LISTING:
        return (ALL_TOPICS,)
    return (group,) if kind == "group" else topics


@dataclass(frozen=True, slots=True)
class Recording:
    """The whole fixture."""

    about: Row
    clients: Mapping[str, Client]
    tables: Mapping[str, Sequence[Row]]

    def client(self, name: str) -> Client:
        """Return a client by its AppID in the recording, such as ``java-3.9.2.writes-stock``.

        :raises KeyError: it was not seen.
        """
        return self.clients[name]

    @property
    def combinations(self) -> frozenset[tuple[Any, ...]]:
        """All combinations of library and settings in reports, for each kind of use."""
        return frozenset(combination(each) for client in self.clients.values() for each in client.reports)


def combination(report: Row) -> tuple[Any, ...]:
    """Return the combination of a report, or of a fact's values, as in :attr:`Recording.combinations`."""
    return (report["kind"], *(_value(report.get(name, _UNKNOWN[name])) for name in _AS_REPORTED))


@cache
def recorded(folder: Path = FOLDER) -> Recording:
    """Return the committed fixture, or that in another folder.

    :raises OSError: it does not exist.
    """
    about = json.loads((folder / ABOUT).read_text())
    told = {each["appid"]: each for each in about.get("clients", ())}
    reports: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in _rows(folder / REPORTS):
        reports[row["appid"], row["client_id"]].append(row)
    clients = {}
    for (appid, client_id), rows in reports.items():
        name = appid if appid in told else f"{appid}/{client_id}"
        clients[name] = Client(appid, client_id, tuple(rows), told.get(appid, {}))
    tables: dict[str, list[Row]] = defaultdict(list)
    for row in _rows(folder / SNAPSHOT):
        tables[row["table"]].append({name: value for name, value in row.items() if name != "table"})
    return Recording(about, clients, tables)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open() as lines:
        for line in lines:
            yield json.loads(line)
