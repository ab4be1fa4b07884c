"""Faults of clusters and mirrors: clusters of a pair that differ, and mirrors that fail."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from hadash.governance.catalogue import Code
from hadash.governance.catalogue.figures import CONTROLLER_CHANGES, STALLED_MINUTES
from spark.fleet.clean import RPO_SECONDS, Builder
from spark.fleet.seeded_faults.base import seeds


def _untouched_pair(b: Builder, code: Code) -> str:
    """Return a pair without this fault; if there is none, one with it, where no further finding is expected."""
    taken = {answer.pair for answer in b.fleet.answers if answer.code is code}
    free = [pair for pair in b.pairs[:-1] if pair not in taken]
    return b.random.choice(free or sorted(taken))


@seeds(Code.ENGINE_VERSIONS)
def _engine_versions(b: Builder) -> None:
    pair = _untouched_pair(b, Code.ENGINE_VERSIONS)
    for row in b.fleet.find("clusters", cluster=b.sides(pair)[1]):
        row["version"] = "3.8"
    b.fleet.answer(Code.ENGINE_VERSIONS, pair, pair)


@seeds(Code.OFFSETS_PARTITIONS)
def _offsets_partitions(b: Builder) -> None:
    pair = _untouched_pair(b, Code.OFFSETS_PARTITIONS)
    cluster = b.sides(pair)[1]
    b.fleet.tables["partitions"] = [
        row
        for row in b.fleet.tables["partitions"]
        if not (row["cluster"] == cluster and row["topic"] == "__consumer_offsets" and row["partition"] >= 25)
    ]
    b.fleet.answer(Code.OFFSETS_PARTITIONS, pair, pair)


@seeds(Code.BROKER_IDS)
def _broker_ids(b: Builder) -> None:
    """(In a pair whose Gateways redirect; the last pair, whose Gateways number brokers themselves, is a near
    miss.)
    """
    pair = _untouched_pair(b, Code.BROKER_IDS)
    for each in (pair, b.pairs[-1]):
        for row in b.fleet.find("brokers", cluster=b.sides(each)[1], broker=103):
            row["broker"] = 3
    for row in b.fleet.find("pairs", pair=pair):
        row["dialect"] = "didi"
    b.fleet.answer(Code.BROKER_IDS, pair, pair)


@seeds(Code.CONTROLLER)
def _controller(b: Builder) -> None:
    pair = _untouched_pair(b, Code.CONTROLLER)
    flapping, calm = b.sides(pair)
    for row in b.fleet.find("clusters", cluster=flapping):
        row["controller_epoch"] = 40 + CONTROLLER_CHANGES
    for row in b.fleet.find("clusters", cluster=calm):
        row["controller_epoch"] = 40 + CONTROLLER_CHANGES - 1
    b.fleet.answer(Code.CONTROLLER, pair, flapping)


def _mirror(b: Builder, word: str) -> tuple[dict[str, Any], str]:
    """Add a new mirror of two Topics; return it, and the Topic for the fault."""
    pair = b.any_pair()
    stamp = f"{b.random.getrandbits(40):010x}"
    topics = [f"{word}-{stamp}", f"{word}-{stamp}-too"]
    return b.add_mirror(pair, topics), topics[0]


@seeds(Code.UNDER_REPLICATED)
def _under_replicated(b: Builder) -> None:
    mirror, topic = _mirror(b, "replicas")
    for row in b.fleet.find("partitions", cluster=mirror["target"], topic=topic, partition=1):
        row["in_sync"] = row["replicas"][:2]
    b.fleet.answer(Code.UNDER_REPLICATED, mirror["pair"], mirror["mirror"])
    fine, topic = _mirror(b, "source")
    for row in b.fleet.find("partitions", cluster=fine["source"], topic=topic, partition=1):
        row["in_sync"] = row["replicas"][:2]


@seeds(Code.LEADERLESS)
def _leaderless(b: Builder) -> None:
    mirror, topic = _mirror(b, "leader")
    for row in b.fleet.find("partitions", cluster=mirror["target"], topic=topic, partition=2):
        row |= {"leader": -1, "in_sync": []}
    b.fleet.answer(Code.LEADERLESS, mirror["pair"], mirror["mirror"])


@seeds(Code.FEWER_PARTITIONS)
def _fewer_partitions(b: Builder) -> None:
    mirror, topic = _mirror(b, "fewer")
    gone = {"fewer": 2, "more": 0, "none": -1}
    fewer = b.random.choice(["fewer", "none"])
    for at in ("partitions", "topics") if fewer == "none" else ("partitions",):
        b.fleet.tables[at] = [
            row
            for row in b.fleet.tables[at]
            if not (
                row["cluster"] == mirror["target"]
                and row["topic"] == topic
                and row.get("partition", 0) > gone[fewer] - 1
            )
        ]
    b.fleet.answer(Code.FEWER_PARTITIONS, mirror["pair"], topic)
    more, topic = _mirror(b, "more")
    b.fleet.tables["partitions"] = [
        row
        for row in b.fleet.tables["partitions"]
        if not (row["cluster"] == more["source"] and row["topic"] == topic and row["partition"] == 2)
    ]


@seeds(Code.CONFIG_DRIFT)
def _config_drift(b: Builder) -> None:
    mirror, topic = _mirror(b, "config")
    throttled = f"{topic}-too"
    for row in b.fleet.find("topics", cluster=mirror["target"], topic=topic):
        row["configs"] = b.random.choice([{"retention.ms": "1"}, {}, row["configs"] | {"segment.bytes": "9"}])
    for row in b.fleet.find("topics", cluster=mirror["target"], topic=throttled):
        row["configs"] = row["configs"] | {
            "leader.replication.throttled.replicas": "0:1",
            "max.message.bytes": "8388608",  # hadash keeps this one higher on a standby
        }
    b.fleet.answer(Code.CONFIG_DRIFT, mirror["pair"], topic)


def _unknown(samples: Iterable[dict[str, Any]]) -> None:
    """Make these samples unknown, as if a cluster or Connect had not answered."""
    for row in samples:
        row |= {"seconds": None, "records": None}


@seeds(Code.OVER_RPO)
def _over_rpo(b: Builder) -> None:
    mirror, _ = _mirror(b, "late")
    samples = b.fleet.find("lag", mirror=mirror["mirror"])
    for row in samples[100:103]:
        row["seconds"] = 61.0
    b.fleet.answer(Code.OVER_RPO, mirror["pair"], mirror["mirror"])
    # An outage with unknown samples, and as a near miss a short one, as long as each mirror's daily incident.
    outage, _ = _mirror(b, "outage")
    moment, _ = _mirror(b, "moment")
    _unknown(b.fleet.find("lag", mirror=outage["mirror"])[200:220])
    _unknown(row for row in b.fleet.find("lag", mirror=moment["mirror"]) if row["seconds"] > RPO_SECONDS)
    b.fleet.answer(Code.OVER_RPO, outage["pair"], outage["mirror"])


@seeds(Code.STALLED)
def _stalled(b: Builder) -> None:
    for state in ("failed", "stopped"):
        mirror, _ = _mirror(b, state)
        mirror |= {"state": state, "fault": "A task of its connector failed."}
        b.fleet.answer(Code.STALLED, mirror["pair"], mirror["mirror"])
    stuck, _ = _mirror(b, "stuck")
    slow, _ = _mirror(b, "slow")
    for mirror, pace in ((stuck, 1.0), (slow, 0.5)):
        # A sample every half minute: one mirror gets later by as much as time passes, the other by half of it.
        begin = b.fleet.at - timedelta(minutes=STALLED_MINUTES)
        b.fleet.tables["lag"] = [
            row for row in b.fleet.tables["lag"] if row["mirror"] != mirror["mirror"] or row["at"] < begin
        ]
        for number in range(STALLED_MINUTES * 2 + 1):
            passed = 30 * number
            at, late = begin + timedelta(seconds=passed), 1 + passed * pace
            b.fleet.add("lag", pair=mirror["pair"], mirror=mirror["mirror"], at=at, records=1, seconds=late)
        # Together with each mirror's daily incident, more than 1 % of the day is over the RPO, too.
        b.fleet.answer(Code.OVER_RPO, mirror["pair"], mirror["mirror"])
    b.fleet.answer(Code.STALLED, stuck["pair"], stuck["mirror"])
    # Unknown for the last quarter of an hour; near misses: only the last sample, and some hours ago.
    dark, _ = _mirror(b, "dark")
    _unknown(b.fleet.find("lag", mirror=dark["mirror"])[-4:])
    b.fleet.answer(Code.STALLED, dark["pair"], dark["mirror"])
    blink, _ = _mirror(b, "blink")
    _unknown(b.fleet.find("lag", mirror=blink["mirror"])[-1:])
    back, _ = _mirror(b, "back")
    _unknown(b.fleet.find("lag", mirror=back["mirror"])[100:110])
    for mirror in (dark, blink, back):
        b.fleet.answer(Code.OVER_RPO, mirror["pair"], mirror["mirror"])
