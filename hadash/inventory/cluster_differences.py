"""In what a cluster differs from its twin: settings of brokers and Topics, and quotas. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hadash.kafka.values import Quotas

Row = Mapping[str, Any]

#: Settings that name the broker itself, its addresses, its disks or its secrets, and therefore have to differ.
OF_ITS_OWN = (
    "broker.id", "node.id", "listeners", "advertised.", "log.dir", "zookeeper.", "controller.", "ssl.", "sasl.",
    "security.", "listener.", "process.", "control.plane", "inter.broker", "broker.rack", "early.start",
    "metadata.log.dir", "super.users", "password.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Differing:
    """A setting that differs from the twin's. ``of``: the Topic; empty for a setting of the brokers. ``here``,
    ``there``: empty where it is not set.
    """

    of: str
    setting: str
    here: str
    there: str


def differing_of(cluster: str, twin: str, topics: Iterable[Row], brokers: Iterable[Row]) -> list[Differing]:
    """Return the differing settings of the brokers, and of Topics that both clusters have. Settings that are a
    broker's own (:data:`OF_ITS_OWN`) are left out.
    """
    of_brokers = {
        name: _together(row for row in brokers if row["cluster"] == name) for name in (cluster, twin)
    }
    found = [
        Differing("", setting, *values)
        for setting, values in _differing(of_brokers[cluster], of_brokers[twin])
        if not setting.startswith(OF_ITS_OWN)
    ]
    by_topic: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for row in topics:
        by_topic[row["topic"]][row["cluster"]] = dict(row["configs"])
    for topic, own in sorted(by_topic.items()):
        if len(own) == 2:
            found += [
                Differing(topic, setting, *values) for setting, values in _differing(own[cluster], own[twin])
            ]
    return found


def _together(brokers: Iterable[Row]) -> dict[str, str]:
    """Return the settings of a cluster's brokers; where brokers differ, all of their values."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in brokers:
        for setting, value in dict(row["configs"]).items():
            found[setting].add(value)
    return {setting: " / ".join(sorted(values)) for setting, values in found.items()}


def _differing(here: Mapping[str, str], there: Mapping[str, str]) -> list[tuple[str, tuple[str, str]]]:
    return [
        (setting, (here.get(setting, ""), there.get(setting, "")))
        for setting in sorted({*here, *there})
        if here.get(setting) != there.get(setting)
    ]


def differing_quotas(here: Quotas, there: Quotas) -> list[Differing]:
    """Return the quotas that differ between two clusters."""
    found = []
    for entity in sorted({*here, *there}, key=str):
        mine, theirs = _texts(here.get(entity, {})), _texts(there.get(entity, {}))
        found += [Differing(str(entity), name, *values) for name, values in _differing(mine, theirs)]
    return found


def _texts(quotas: Mapping[str, float]) -> dict[str, str]:
    return {name: f"{value:.15g}" for name, value in quotas.items()}
