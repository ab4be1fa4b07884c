"""Faults of clusters and of their mirrors, from the sentences of :mod:`hadash.governance.catalogue.clusters`,
which the docstrings quote.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hadash.governance.catalogue import Code
from spark.fleet.holdout.builder import EARLIER_HOURS, SAMPLE_SECONDS, HoldoutBuilder, Pair

#: Samples of lag within a day.
SAMPLES = 24 * 3600 // SAMPLE_SECONDS


def engine_versions(builder: HoldoutBuilder) -> None:
    """The clusters of a pair run different versions."""
    for version in ("3.8", "3.6", "2.8"):
        pair = builder.pair(version=version)
        builder.wrong(Code.ENGINE_VERSIONS, pair, pair.name)
    same = builder.pair()
    builder.looks_wrong(Code.ENGINE_VERSIONS, same, same.name, why="both run the same version")
    silent = builder.pair(version="")
    builder.looks_wrong(Code.ENGINE_VERSIONS, silent, silent.name, why="one does not tell its version")
    away = builder.pair()
    _is_away(builder, away.second)
    builder.looks_wrong(Code.ENGINE_VERSIONS, away, away.name, why="one did not answer")


def _is_away(builder: HoldoutBuilder, cluster: str) -> None:
    """Make a cluster one that did not answer when the newest snapshot was taken: only its fault is there."""
    tables = builder.fleet.tables
    for table in ("clusters", "brokers", "topics", "partitions", "acls", "users", "groups", "members"):
        tables[table] = [row for row in tables[table] if row["cluster"] != cluster]
    builder.fleet.add("clusters", cluster=cluster, fault=f"{cluster} does not answer.")


def offsets_partitions(builder: HoldoutBuilder) -> None:
    """__consumer_offsets has a different number of partitions on the clusters of a pair."""

    def offsets(cluster: str) -> list[dict[str, Any]]:
        return builder.fleet.find("partitions", cluster=cluster, topic="__consumer_offsets")

    def remove(cluster: str, rows: list[dict[str, Any]]) -> None:
        gone = {id(row) for row in rows}
        builder.fleet.tables["partitions"] = [
            r for r in builder.fleet.tables["partitions"] if id(r) not in gone
        ]

    for left in (1, 2, 3):
        pair = builder.pair()
        cluster = pair.second if left > 1 else pair.first
        remove(cluster, offsets(cluster)[left:])
        builder.wrong(Code.OFFSETS_PARTITIONS, pair, pair.name)
    new = builder.pair()
    remove(new.second, offsets(new.second))
    builder.fleet.tables["topics"] = [
        row
        for row in builder.fleet.tables["topics"]
        if not (row["cluster"] == new.second and row["topic"] == "__consumer_offsets")
    ]
    builder.looks_wrong(
        Code.OFFSETS_PARTITIONS, new, new.name, why="one has had no group yet, so it does not have that Topic"
    )
    other = builder.pair()
    builder.topic_on(other.first, "__transaction_state", partitions=50)
    builder.topic_on(other.second, "__transaction_state", partitions=10)
    builder.looks_wrong(
        Code.OFFSETS_PARTITIONS, other, other.name, why="it is another internal Topic that differs"
    )
    moved = builder.pair()
    for row in offsets(moved.second):
        row["leader"] = row["replicas"][-1]
    builder.looks_wrong(Code.OFFSETS_PARTITIONS, moved, moved.name, why="only the leaders differ")


def broker_ids(builder: HoldoutBuilder) -> None:
    """A broker id occurs in both clusters of a pair of dialect didi."""

    def with_same(same: int, dialect: str) -> Pair:
        pair = builder.pair(dialect)
        ids = dict(zip(builder.brokers(pair.second), builder.brokers(pair.first)[-same:], strict=False))
        for broker in builder.fleet.find("brokers", cluster=pair.second):
            broker["broker"] = ids.get(broker["broker"], broker["broker"])
        for row in builder.fleet.find("partitions", cluster=pair.second):
            row["leader"] = ids.get(row["leader"], row["leader"])
            for column in ("replicas", "in_sync"):
                row[column] = [ids.get(each, each) for each in row[column]]
        return pair

    for same in (1, 2, 2):
        pair = with_same(same, "didi")
        builder.wrong(Code.BROKER_IDS, pair, pair.name)
    native = with_same(2, "native")
    builder.looks_wrong(Code.BROKER_IDS, native, native.name, why="hadash's Gateways give brokers other ids")
    hosts = builder.pair("didi")
    for broker in builder.fleet.find("brokers", cluster=hosts.second):
        broker["host"] = builder.fleet.find("brokers", cluster=hosts.first)[0]["host"]
    builder.looks_wrong(Code.BROKER_IDS, hosts, hosts.name, why="the brokers share hosts, not ids")
    for pair in (builder.pair("didi"), builder.pair("didi")):
        builder.looks_wrong(Code.BROKER_IDS, pair, pair.name, why="the same ids are in another pair")
    away = builder.pair("didi")
    _is_away(builder, away.second)
    builder.looks_wrong(Code.BROKER_IDS, away, away.name, why="one did not answer")


def controller(builder: HoldoutBuilder) -> None:
    """The controller's epoch has gone up by 3 or more within a day."""

    def epochs(cluster: str, now: int | None = None, *earlier: int | None) -> None:
        """Set the controller's epoch in the newest snapshot and, with the oldest first, in the ``earlier`` ones."""
        for hours, epoch in zip(EARLIER_HOURS, earlier, strict=True):
            for row in builder.fleet.earlier[hours]["clusters"]:
                if row["cluster"] == cluster:
                    row["controller_epoch"] = epoch
        for row in builder.fleet.find("clusters", cluster=cluster):
            row["controller_epoch"] = now

    risen: tuple[tuple[int | None, ...], ...] = (
        (13, 10, 11, 12, 12),
        (90, 10, 10, 10, 10),
        (45, None, 40, None, 43),
    )
    for told in risen:
        cluster = builder.pair().second
        epochs(cluster, *told)
        builder.wrong(Code.CONTROLLER, _of(builder, cluster), cluster)
    steady: tuple[tuple[str, tuple[int | None, ...]], ...] = (
        ("it has changed twice", (12, 10, 10, 11, 12)),
        ("it changed once, and once again", (12, 10, 11, 11, 11)),
        ("nobody tells it", (None,) * 5),
    )
    for why, told in steady:
        cluster = builder.pair().first
        epochs(cluster, *told)
        builder.looks_wrong(Code.CONTROLLER, _of(builder, cluster), cluster, why=why)
    cluster = builder.pair().first
    epochs(cluster, 2, 70, 70, 1, 1)
    why = "its cluster was made again and counts from the beginning: the epoch went down, and up by one"
    builder.looks_wrong(Code.CONTROLLER, _of(builder, cluster), cluster, why=why)
    cluster = builder.pair().first
    long_ago = [dict(row) for row in builder.fleet.find("clusters", cluster=cluster)]
    long_ago[0]["controller_epoch"] = 1
    builder.fleet.earlier.setdefault(40, {})["clusters"] = long_ago
    builder.looks_wrong(Code.CONTROLLER, _of(builder, cluster), cluster, why="that was longer than a day ago")


def _of(builder: HoldoutBuilder, cluster: str) -> Pair:
    row = next(row for row in builder.fleet.tables["pairs"] if cluster in (row["first"], row["second"]))
    return Pair(row["pair"], row["first"], row["second"])


def _partition(builder: HoldoutBuilder, cluster: str, topic: str, number: int = 0) -> dict[str, Any]:
    return builder.fleet.find("partitions", cluster=cluster, topic=topic, partition=number)[0]


def _mirrored(builder: HoldoutBuilder, pair: Pair, count: int = 1) -> tuple[str, list[str]]:
    topics = builder.topics(pair, count, mirrored=False)
    return builder.mirror(pair, topics), topics


def under_replicated(builder: HoldoutBuilder) -> None:
    """A partition of a mirrored Topic has fewer replicas in sync on the target than it has replicas."""
    pair = builder.pair()
    for count, numbers in ((1, (0,)), (1, (0, 1, 2)), (3, (1,))):
        mirror, topics = _mirrored(builder, pair, count)
        for number in numbers:
            row = _partition(builder, pair.second, topics[-1], number)
            row["in_sync"] = [row["leader"]]
        builder.wrong(Code.UNDER_REPLICATED, pair, mirror)
    mirror, (topic,) = _mirrored(builder, pair)
    row = _partition(builder, pair.first, topic)
    row["in_sync"] = [row["leader"]]
    builder.looks_wrong(Code.UNDER_REPLICATED, pair, mirror, why="that is on the source")
    mirror, _ = _mirrored(builder, pair)
    (other,) = builder.topics(pair, mirrored=False)
    row = _partition(builder, pair.second, other)
    row["in_sync"] = [row["leader"]]
    builder.looks_wrong(Code.UNDER_REPLICATED, pair, mirror, why="it is a Topic of no mirror that is so")
    mirror, (topic,) = _mirrored(builder, pair)
    for row in builder.fleet.find("partitions", cluster=pair.second, topic=topic):
        row["replicas"] = row["in_sync"] = row["replicas"][:1]
        row["leader"] = row["replicas"][0]
    builder.looks_wrong(
        Code.UNDER_REPLICATED,
        pair,
        mirror,
        why="the target has fewer replicas than the source, all of them in sync",
    )
    mirror, (topic,) = _mirrored(builder, pair)
    row = _partition(builder, pair.second, topic)
    row["in_sync"] = row["in_sync"][::-1]
    builder.looks_wrong(Code.UNDER_REPLICATED, pair, mirror, why="all are in sync, in another order")


def leaderless(builder: HoldoutBuilder) -> None:
    """A partition of a mirrored Topic has no leader on the target."""
    pair = builder.pair()
    for count, numbers in ((1, (0,)), (1, (0, 1, 2)), (3, (1,))):
        mirror, topics = _mirrored(builder, pair, count)
        for number in numbers:
            row = _partition(builder, pair.second, topics[0], number)
            # As brokers report it: the last replica in sync is down, and is awaited.
            row["leader"], row["in_sync"] = -1, row["replicas"][:1]
        builder.wrong(Code.LEADERLESS, pair, mirror)
        why = "one without a leader is another finding"
        builder.looks_wrong(Code.UNDER_REPLICATED, pair, mirror, why=why)
    mirror, (topic,) = _mirrored(builder, pair)
    _partition(builder, pair.first, topic)["leader"] = -1
    builder.looks_wrong(Code.LEADERLESS, pair, mirror, why="that is on the source")
    mirror, _ = _mirrored(builder, pair)
    (other,) = builder.topics(pair, mirrored=False)
    _partition(builder, pair.second, other)["leader"] = -1
    builder.looks_wrong(Code.LEADERLESS, pair, mirror, why="it is a Topic of no mirror that is so")
    mirror, (topic,) = _mirrored(builder, pair)
    row = _partition(builder, pair.second, topic)
    row["leader"] = row["replicas"][-1]
    builder.looks_wrong(Code.LEADERLESS, pair, mirror, why="another replica leads than the preferred one")


def fewer_partitions(builder: HoldoutBuilder) -> None:
    """A mirrored Topic has fewer partitions on the target than on the source, or does not exist there."""
    pair = builder.pair()

    def made(source: int, target: int, *, mirrored: bool = True) -> str:
        topic = f"{pair.name}.grown-{builder.number('grown')}"
        builder.topic_on(pair.first, topic, partitions=source)
        if target:
            builder.topic_on(pair.second, topic, partitions=target)
        if mirrored:
            builder.mirror(pair, [topic])
        return topic

    for source, target in ((3, 2), (12, 3), (3, 0)):
        builder.wrong(Code.FEWER_PARTITIONS, pair, made(source, target))
    builder.looks_wrong(Code.FEWER_PARTITIONS, pair, made(3, 6), why="the target has more")
    builder.looks_wrong(Code.FEWER_PARTITIONS, pair, made(6, 3, mirrored=False), why="it is in no mirror")
    builder.looks_wrong(Code.FEWER_PARTITIONS, pair, made(3, 0, mirrored=False), why="it is in no mirror")
    builder.looks_wrong(Code.FEWER_PARTITIONS, pair, made(6, 6), why="both have as many, more than others")


def config_drift(builder: HoldoutBuilder) -> None:
    """A config that was set on a mirrored Topic differs between the clusters."""
    pair = builder.pair()

    def made(first: dict[str, str], second: dict[str, str], *, mirrored: bool = True) -> str:
        (topic,) = builder.topics(pair, mirrored=mirrored)
        for cluster, configs in ((pair.first, first), (pair.second, second)):
            builder.fleet.find("topics", cluster=cluster, topic=topic)[0]["configs"].update(configs)
        return topic

    retention, size = "retention.ms", "max.message.bytes"
    builder.wrong(Code.CONFIG_DRIFT, pair, made({retention: "604800000"}, {retention: "86400000"}))
    builder.wrong(Code.CONFIG_DRIFT, pair, made({"segment.bytes": "104857600"}, {}))
    why = "hadash sets it on a standby Topic by itself"
    builder.looks_wrong(Code.CONFIG_DRIFT, pair, made({size: "2097152"}, {}), why=why)
    builder.wrong(Code.CONFIG_DRIFT, pair, made({}, {"cleanup.policy": "compact"}))
    builder.looks_wrong(
        Code.CONFIG_DRIFT,
        pair,
        made({retention: "1"}, {retention: "2"}, mirrored=False),
        why="it is in no mirror",
    )
    both = {retention: "3600000", size: "2097152"}
    builder.looks_wrong(
        Code.CONFIG_DRIFT,
        pair,
        made(both, dict(reversed(both.items()))),
        why="both are the same, in another order",
    )
    builder.looks_wrong(
        Code.CONFIG_DRIFT, pair, made({}, {}), why="hadash itself has set what differs on a standby Topic"
    )
    broker = builder.pair()
    topic = builder.topic(broker)
    for row in builder.fleet.find("brokers", cluster=broker.second):
        row["configs"]["log.retention.hours"] = "24"
    builder.looks_wrong(
        Code.CONFIG_DRIFT, broker, topic, why="a broker's default differs, and nothing was set on the Topic"
    )


def over_rpo(builder: HoldoutBuilder) -> None:
    """For more than 1 % of the last day a mirror was later than the RPO of the pair, or nobody could tell how
    late it was. (A sample counts until the next one.)
    """
    pair = builder.pair()
    late, fine = builder.rpo + 10, [0.5] * SAMPLES

    def with_late(number: int, seconds: float | None = late) -> list[float | None]:
        """Return a day's samples with ``number`` late ones, spread over the day: a mirror that keeps getting
        later is for another rule.
        """
        lag: list[float | None] = list(fine)
        for place in range(number):
            lag[place * (SAMPLES // number)] = seconds
        return lag

    for lag in (
        with_late(SAMPLES // 50),
        with_late(SAMPLES // 2),
        with_late(SAMPLES // 80, builder.rpo * 100),
        with_late(SAMPLES // 40, None),
    ):
        mirror = builder.mirror(pair, builder.topics(pair, mirrored=False), lag=lag)
        builder.wrong(Code.OVER_RPO, pair, mirror)
    for why, lag in (
        ("not quite 1 % were later", with_late(SAMPLES // 100)),
        ("all are as late as the RPO, and none later", with_late(SAMPLES // 2, builder.rpo)),
        ("of not quite 1 % nobody could tell", with_late(SAMPLES // 120, None)),
    ):
        mirror = builder.mirror(pair, builder.topics(pair, mirrored=False), lag=lag)
        builder.looks_wrong(Code.OVER_RPO, pair, mirror, why=why)
    mirror = builder.mirror(pair, builder.topics(pair, mirrored=False), lag=fine)
    before = builder.fleet.at - timedelta(hours=30)
    builder.fleet.earlier.setdefault(29, {}).setdefault("lag", []).extend(
        {
            "pair": pair.name,
            "mirror": mirror,
            "at": before + timedelta(minutes=minute),
            "records": 9,
            "seconds": late,
        }
        for minute in range(60)
    )
    builder.looks_wrong(Code.OVER_RPO, pair, mirror, why="that was longer than a day ago")


def stalled(builder: HoldoutBuilder) -> None:
    """A mirror is stopped or has failed, or got later by 90 % of the last 10 minutes of its samples and more.
    (While nobody can tell how late it is, it gets later by as much as time passes.)
    """
    pair = builder.pair()

    def made(last: tuple[float | None, ...] = (), **more: Any) -> str:
        lag: list[float | None] = [0.5] * SAMPLES
        if last:
            lag[-len(last) :] = last
        return builder.mirror(pair, builder.topics(pair, mirrored=False), lag=lag, **more)

    def growing(by: float, begin: float = 0.5) -> tuple[float, ...]:
        """Return the seconds of eleven samples, over ten minutes."""
        return tuple(begin + by * minute for minute in range(11))

    builder.wrong(Code.STALLED, pair, made(state="stopped"))
    builder.wrong(Code.STALLED, pair, made(state="failed", fault="The connector's task 0 has failed."))
    builder.wrong(Code.STALLED, pair, made(growing(60)))
    builder.wrong(Code.STALLED, pair, made(growing(57)))
    builder.wrong(Code.STALLED, pair, made((0.5, *[None] * 10)))
    builder.looks_wrong(
        Code.STALLED,
        pair,
        made((*[None] * 5, *[0.5] * 5)),
        why="for some minutes nobody could tell; now it is as it was",
    )
    builder.looks_wrong(Code.STALLED, pair, made(growing(30)), why="it got later by half of the time")
    builder.looks_wrong(Code.STALLED, pair, made(growing(-55, 600)), why="it is late, and catches up")
    builder.looks_wrong(Code.STALLED, pair, made(growing(0, 600)), why="it is late, and gets no later")
    builder.looks_wrong(Code.STALLED, pair, made(state="turning"), why="a switch turns it round")


CASES = {
    Code.ENGINE_VERSIONS: engine_versions,
    Code.OFFSETS_PARTITIONS: offsets_partitions,
    Code.BROKER_IDS: broker_ids,
    Code.CONTROLLER: controller,
    Code.UNDER_REPLICATED: under_replicated,
    Code.LEADERLESS: leaderless,
    Code.FEWER_PARTITIONS: fewer_partitions,
    Code.CONFIG_DRIFT: config_drift,
    Code.OVER_RPO: over_rpo,
    Code.STALLED: stalled,
}
