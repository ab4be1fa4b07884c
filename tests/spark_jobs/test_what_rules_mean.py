"""What rules find and what they do not, each in a fleet of a few rows. (All rules over a whole fleet:
test_rules.py.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit
from pyspark.sql.pandas.types import from_arrow_schema

from hadash.governance.catalogue import CATALOGUE, Code
from hadash.governance.catalogue.figures import OVER_RPO_MINUTES, UNSEEN_DAYS
from hadash.governance.client_risks import Seen
from hadash.lake.access import CSV, GATEWAY, SURVIVE_USER
from hadash.lake.snapshots import TABLES
from hadash.sentences import fill
from spark.rules import prepared
from spark.rules.all import RULES
from spark.rules.base import Inputs
from spark.schemas import FACTS
from spark.transform.facts import REMEMBERED_DAYS

pytestmark = [pytest.mark.spark, pytest.mark.in_turn]

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
WEEK = 0b1111111
Row = dict[str, Any]
Find = Callable[..., dict[str, str]]

#: A pair of two clusters that have answered, with one registered AppID and one mirrored Topic.
PAIR: dict[str, list[Row]] = {
    "pairs": [{"pair": "main", "first": "east", "second": "west", "dialect": "native", "rpo_seconds": 60.0}],
    "clusters": [{"cluster": name, "fault": "", "authorizer": True} for name in ("east", "west")],
    "appids": [{"pair": "main", "appid": "shop"}],
    "mirrors": [
        {
            "pair": "main",
            "mirror": "m",
            "source": "east",
            "target": "west",
            "topics": ["orders"],
            "state": "running",
        }
    ],
}


def frame(spark: SparkSession, name: str, rows: list[Row]) -> DataFrame:
    """A table of a snapshot."""
    schema = TABLES[name]
    values = [tuple(row.get(field.name) for field in schema) for row in rows]
    return spark.createDataFrame(values, from_arrow_schema(schema))


@pytest.fixture(scope="module")
def usual(spark: SparkSession) -> dict[str, DataFrame]:
    """What most fleets here are made of. (Made once: Spark takes longer for twenty empty tables than for a rule.)"""
    return {name: frame(spark, name, PAIR.get(name, [])) for name in TABLES}


@pytest.fixture
def find(spark: SparkSession, usual: dict[str, DataFrame]) -> Find:
    """The sentences of what one rule finds, by name: ``find(code, facts, table=rows, …)``."""

    def looking(code: Code, facts: list[Row] = [], **tables: list[Row]) -> dict[str, str]:  # noqa: B006
        frames = usual | {name: frame(spark, name, rows) for name, rows in tables.items()}
        defaults = {"pair": "main", "appid": "shop", "cluster": "east", "source": GATEWAY, "days": WEEK}
        rows = [tuple((defaults | fact).get(name) for name in FACTS.names) for fact in facts]
        remembered = spark.createDataFrame(rows, FACTS)
        used = remembered.where(f"(days & {WEEK}) != 0")
        made = {
            "facts": used,
            "remembered": remembered,
            "listings": used.where("kind = 'list'"),
            "bindings": prepared.bindings(frames["documents"]),
            "applications": prepared.applications(used),
            "own_users": frames["own_users"].withColumnRenamed("user", "appid"),
            "controllers": frames["clusters"].withColumn("at", lit("now")),
        }
        inputs = Inputs(**{field.name: (frames | made)[field.name] for field in fields(Inputs)})
        found = RULES[code](inputs).collect()
        names = [row["name"] for row in found]
        assert len(names) == len(set(names)), "each finding is there once"
        said = {row["name"]: fill(CATALOGUE[code].evidence.text, row["evidence"]) for row in found}
        assert not any("%(" in text or "null" in text for text in said.values()), said
        return said

    return looking


def writer(client_id: str, topic: str = "orders", **how: Any) -> Row:
    return {
        "client_id": client_id,
        "kind": "produce",
        "resource": topic,
        "acks": -1,
        "library": "apache-kafka-java",
        "version": "3.9.0",
    } | how


def reader(client_id: str, topic: str = "orders", **how: Any) -> Row:
    return {"client_id": client_id, "kind": "consume", "resource": topic} | how


def member(client_id: str, group: str = "carts", **how: Any) -> Row:
    return {"client_id": client_id, "kind": "group", "resource": group, "session_timeout_ms": 45_000} | how


# -- producers -----------------------------------------------------------------------------------------------------


def test_a_producer_whose_library_says_that_it_does_not_retry_or_says_nothing(find: Find) -> None:
    found = find(
        Code.NO_RETRIES,
        [
            writer("python", library="kafka-python", version="2.1.5", source=CSV),
            writer("silent", library="", version=""),
            writer("", library="", version="", host="10.0.0.1"),
            writer("", host="10.0.0.2"),
            writer("known", library="apache-kafka-java", version="2.0.1", source=CSV),
            # These retry by themselves.
            writer("java", version="2.4.0"),
            writer("new-python", library="kafka-python", version="2.2.0"),
            writer("rdkafka-1", library="librdkafka", version="1.4.0"),
            # Idempotent producers retry in every library.
            writer("idempotent", library="", version="", idempotent=True),
            writer("transactional", library="", version="", idempotent=True, transactional=True),
            writer(
                "old-idempotent", library="apache-kafka-java", version="2.0.1", idempotent=True, source=CSV
            ),
            # franz-go says it on its first connection to a broker, and not on the next.
            writer("once", library="", version=""),
            writer("once", "carts", library="kgo", version="v1.22.2"),
            # Brokers and files do not tell the library of many that have a good one; and readers have nothing to lose.
            writer("broker", library="", version="2.0", source=SURVIVE_USER),
            writer("file", library=None, version=None, source=CSV),
            reader("reads", library="", version=""),
        ],
    )
    assert set(found) == {"python", "silent", "", "known"}
    assert found["python"] == "python of shop (library: kafka-python 2.1.5) writes to orders."
    assert found["silent"] == "silent of shop (library: –) writes to orders."


def topic(name: str, replicas: int = 3, value: str | None = None, cluster: str = "east") -> tuple[Row, Row]:
    own = {} if value is None else {"min.insync.replicas": value}
    brokers = list(range(1, replicas + 1))
    return (
        {"cluster": cluster, "topic": name, "configs": own},
        {"cluster": cluster, "topic": name, "partition": 0, "leader": 1, "replicas": brokers, "in_sync": brokers},
    )  # fmt: skip


def with_topics(*topics: tuple[Row, Row], default: str | None = "2") -> dict[str, list[Row]]:
    configs = {} if default is None else {"min.insync.replicas": default}
    return {
        "topics": [row for row, _ in topics],
        "partitions": [row for _, row in topics],
        "brokers": [
            {"cluster": "east", "broker": 1, "configs": {"min.insync.replicas": "2"}},
            {"cluster": "east", "broker": 2, "configs": configs},
        ],
    }


def test_acks_all_is_one_brokers_word_where_one_replica_in_sync_is_enough(find: Find) -> None:
    topics = with_topics(
        topic("one", value="1"), topic("two", value="2"), topic("inherits"), topic("single", 1, "1")
    )
    names = ("one", "two", "inherits", "single")
    found = find(Code.MIN_IN_SYNC, [writer("w", name) for name in names], **topics)
    assert found == {
        "one": "shop write to one with acks=all, and min.insync.replicas of its 3 replicas is 1 on east."
    }
    other_writes = [writer("w", "one", acks=1), writer("w", "one", acks=None), reader("r", "one")]
    assert not find(Code.MIN_IN_SYNC, other_writes, **topics)


@pytest.mark.parametrize(("default", "found"), [("1", {"inherits"}), ("2", set()), ("3", set())])
def test_what_a_topic_does_not_say_one_of_its_brokers_decides(
    find: Find, default: str, found: set[str]
) -> None:
    topics = with_topics(topic("inherits"), topic("own", value="2"), default=default)
    facts = [writer("w", "inherits"), writer("w", "own")]
    assert set(find(Code.MIN_IN_SYNC, facts, **topics)) == found


@pytest.mark.parametrize("missing", ["all brokers", "the configs of one"])
def test_what_nobody_can_read_is_unknown(find: Find, missing: str) -> None:
    topics = with_topics(topic("inherits"), topic("own", value="2"), default=None)
    if missing == "all brokers":
        topics |= {"brokers": []}
    facts = [writer("w", "inherits"), writer("w", "own")]
    assert not find(Code.MIN_IN_SYNC, facts, **topics)
    assert find(Code.MIN_IN_SYNC_UNKNOWN, facts, **topics) == {
        "inherits": "shop write to inherits with acks=all, and nobody can tell min.insync.replicas of its "
        "3 replicas on east."
    }
    assert not find(Code.MIN_IN_SYNC_UNKNOWN, facts, **with_topics(topic("inherits"), topic("own")))


def test_one_broker_that_says_one_is_enough(find: Find) -> None:
    topics = with_topics(topic("inherits"), default=None)
    topics["brokers"][0]["configs"] = {"min.insync.replicas": "1"}
    assert set(find(Code.MIN_IN_SYNC, [writer("w", "inherits")], **topics)) == {"inherits"}
    assert not find(Code.MIN_IN_SYNC_UNKNOWN, [writer("w", "inherits")], **topics)


# -- applications --------------------------------------------------------------------------------------------------


def test_a_deployment_that_reads_and_one_that_writes_are_one_application(find: Find) -> None:
    one = [
        writer("cart-writer-7d9f8b6c5d-x2x4q", host="10.0.0.1"),
        reader("cart-reader-6c5d7d9f8b-b4c5d", host="10.0.0.2"),
        member("cart-reader-6c5d7d9f8b-b4c5d", host="10.0.0.2"),
        writer("CartProducer_3", host="10.0.0.3"),
    ]
    assert not find(Code.SHARED_APPID, one)
    other = writer("stock-writer-7d9f8b6c5d-x2x4q", host="10.0.0.4")
    (said,) = find(Code.SHARED_APPID, [*one, other]).values()
    assert said.startswith("2 applications sign in as shop: ")


def test_clients_of_one_group_or_host_are_one_application_whatever_they_are_called(find: Find) -> None:
    group = [member("cart", host="10.0.0.1"), member("stock", host="10.0.0.2")]
    assert not find(Code.SHARED_APPID, group)
    assert not find(Code.SHARED_APPID, [writer("cart", host="10.0.0.1"), writer("stock", host="10.0.0.1")])
    apart = [member("cart", host="10.0.0.1"), member("stock", "stocks", host="10.0.0.2")]
    assert set(find(Code.SHARED_APPID, apart)) == {"shop"}


def test_a_name_that_says_nothing_but_a_role_is_no_application(find: Find) -> None:
    facts = [writer("cart-1", host="10.0.0.1"), writer("writer-2", host="10.0.0.2")]
    assert not find(Code.SHARED_APPID, facts)


# -- groups --------------------------------------------------------------------------------------------------------


def group(*members: tuple[list[str] | None, int], protocol: str = "range") -> dict[str, list[Row]]:
    """(Topics that a member subscribes to, how many partitions it has), each."""
    return {
        "groups": [{"cluster": "east", "group": "carts", "protocol": protocol}],
        "members": [
            {"cluster": "east", "group": "carts", "topics": topics, "partitions": [f"t-{n}" for n in range(count)]}
            for topics, count in members
        ],
    }  # fmt: skip


@pytest.mark.parametrize("member", [None, 0, 1])
@pytest.mark.parametrize("session_timeout_ms", [None, 45_000])
def test_a_member_is_one_here_if_it_is_one_for_a_switch(
    find: Find, member: int | None, session_timeout_ms: int | None
) -> None:
    """A member whose JOIN_GROUP another Gateway has seen says no session timeout; a committer alone is no member."""
    how = {"member": member, "session_timeout_ms": session_timeout_ms}
    uses = [reader("web"), {"client_id": "web", "kind": "group", "resource": "billing", **how}]
    seen = Seen("shop", "web", "group", "billing", details={k: v for k, v in how.items() if v is not None})
    assert bool(find(Code.SELF_ASSIGNED, uses)) is not seen.is_member


@pytest.mark.parametrize(
    ("members", "skewed"),
    [
        ([(["a", "b"], 4), (["a", "b"], 2)], True),
        ([(["a", "b"], 4), (["b", "a"], 2)], True),
        ([(["a", "b"], 3), (["a", "b"], 2)], False),
        # Who subscribes to more has more.
        ([(["a", "b"], 6), (["a"], 1), (["a"], 1)], False),
        ([(["a"], 6), (["b"], 2)], False),
        # But among those that subscribe to the same it is skew all the same, also to have nothing.
        ([(["a", "b"], 6), (["a"], 2), (["a"], 0)], True),
        # Where nobody knows who subscribes to what it looks as it did.
        ([(None, 4), (None, 2)], True),
    ],
)
def test_skew_is_among_members_that_subscribe_to_the_same(
    find: Find, members: list[tuple[list[str] | None, int]], skewed: bool
) -> None:
    assert bool(find(Code.SKEWED, **group(*members))) is skewed
    assert not find(Code.SKEWED, **group(*members, protocol="cooperative-sticky"))


# -- what is known -------------------------------------------------------------------------------------------------


def declared(*names: str) -> dict[str, list[Row]]:
    return {
        "declarations": [
            {"pair": "main", "appid": "shop", "name": name, "kind": "produce", "resource": "orders"} for name in names
        ]
    }  # fmt: skip


def test_what_runs_once_a_month_is_not_never_seen(find: Find) -> None:
    long_known = writer("daily", days=WEEK | 1 << (UNSEEN_DAYS - 1))
    facts = [
        long_known,
        writer("monthly", days=1 << 30),
        writer("just-so", days=1 << (UNSEEN_DAYS - 1)),
        writer("gone", days=1 << UNSEEN_DAYS),
    ]
    found = find(Code.NEVER_SEEN, facts, **declared("daily", "monthly", "just-so", "gone", "never"))
    assert found == {
        "shop": "2 declared uses of shop were not seen: gone produce orders, never produce orders."
    }
    assert not find(Code.NEVER_SEEN, [long_known, writer("monthly", days=1 << 30)], **declared("")), "anybody"


def test_nobody_was_never_seen_before_there_are_reports_of_a_month(find: Find) -> None:
    young = writer("daily", days=(1 << (UNSEEN_DAYS - 1)) - 1)
    assert not find(Code.NEVER_SEEN, [young], **declared("never"))
    assert UNSEEN_DAYS < REMEMBERED_DAYS, "facts remember what this rule asks for"


# -- clusters and mirrors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dialect", "found"), [("native", set()), ("didi", {"main"})])
def test_broker_ids_matter_only_where_clients_meet_them(find: Find, dialect: str, found: set[str]) -> None:
    brokers = [{"cluster": cluster, "broker": 1} for cluster in ("east", "west")]
    pairs = [row | {"dialect": dialect} for row in PAIR["pairs"]]
    assert set(find(Code.BROKER_IDS, brokers=brokers, pairs=pairs)) == found
    assert not find(Code.BROKER_IDS, brokers=[brokers[0], brokers[1] | {"broker": 2}], pairs=pairs)


def lag(*seconds: float | None, every: int = 60) -> dict[str, list[Row]]:
    begin = NOON - timedelta(seconds=every * (len(seconds) - 1))
    return {
        "lag": [
            {"pair": "main", "mirror": "m", "at": begin + timedelta(seconds=every * number), "seconds": late}
            for number, late in enumerate(seconds)
        ]
    }


def test_a_sample_that_failed_is_as_bad_as_one_that_is_over_the_rpo(find: Find) -> None:
    assert not find(Code.OVER_RPO, **lag(*[1.0] * 99, None))
    assert not find(Code.OVER_RPO, **lag(*[1.0] * 99, 61.0))
    assert set(find(Code.OVER_RPO, **lag(*[1.0] * 98, None, 61.0))) == {"m"}
    (said,) = find(Code.OVER_RPO, **lag(*[1.0] * 95, *[None] * 5)).values()
    assert said == (
        "Mirror m was later than 60 s, or nobody could tell how late, in 5 % of the last day; the most "
        "that was measured is 1 s."
    )
    (said,) = find(Code.OVER_RPO, **lag(*[None] * OVER_RPO_MINUTES)).values()
    assert said.endswith("in 100 % of the last day; the most that was measured is – s.")


def test_the_first_minutes_of_a_mirror_are_no_percentage_of_a_day(find: Find) -> None:
    assert not find(Code.OVER_RPO, **lag(None))
    assert not find(Code.OVER_RPO, **lag(*[None] * (OVER_RPO_MINUTES - 1)))


def samples(*of: tuple[int, float | None]) -> dict[str, list[Row]]:
    """Samples of the mirror, each given as the seconds since the first one and how late it was."""
    rows = [
        {"pair": "main", "mirror": "m", "at": NOON + timedelta(seconds=at), "seconds": late}
        for at, late in of
    ]
    return {"lag": rows}


def test_a_sample_counts_until_the_next_one(find: Find) -> None:
    """Looks at a cluster that does not answer take longer, so there are fewer of them; a precheck looks more often."""
    few = samples(*((at, 1.0) for at in range(0, 900, 5)), (900, None), (1000, 1.0), (1005, 1.0))
    (said,) = find(Code.OVER_RPO, **few).values()
    assert "in 9.9 % of the last day" in said
    many = samples(*((at, 61.0) for at in range(30)), *((at, 1.0) for at in range(30, 6030, 60)))
    assert not find(Code.OVER_RPO, **many)


@pytest.mark.parametrize(
    ("seconds", "stalled"),
    [
        pytest.param([1.0] * 30, False, id="it runs"),
        pytest.param([1.0] * 19 + [1.0 + 60 * n for n in range(11)], True, id="it gets later and later"),
        pytest.param([1.0] * 19 + [None] * 11, True, id="nobody can tell"),
        pytest.param([1.0] * 19 + [61.0 * n for n in range(5)] + [None] * 6, True, id="later, then nobody can tell"),
        pytest.param([None] * 30, True, id="nobody could ever tell"),
        pytest.param([1.0] * 25 + [None] * 5, False, id="for five minutes nobody can tell"),
        pytest.param([None] * 20 + [1.0] * 10, False, id="it was so, and is over"),
        pytest.param([1.0, None] * 15, False, id="every other sample fails"),
        pytest.param([None] * 4, False, id="it has just begun"),
    ],
)  # fmt: skip
def test_a_mirror_of_which_nobody_can_tell_gets_later(
    find: Find, seconds: list[float | None], stalled: bool
) -> None:
    assert bool(find(Code.STALLED, **lag(*seconds))) is stalled


# -- rights --------------------------------------------------------------------------------------------------------


def acl(cluster: str, operation: str, resource: str = "orders", **how: Any) -> Row:
    return {
        "cluster": cluster, "resource_type": "TOPIC", "resource": resource, "pattern": "LITERAL",
        "principal": "User:shop", "host": "*", "operation": operation, "permission": "ALLOW",
    } | how  # fmt: skip


def test_rights_drift_by_what_they_give(find: Find) -> None:
    same = [acl("east", "ALL"), acl("west", "READ"), acl("west", "WRITE")]
    assert not find(Code.ACL_DRIFT, acls=same)
    assert find(Code.ACL_DRIFT, acls=same[:2]) == {
        "east": "1 rights of shop are on east only: write topic orders."
    }
    denied = [*same, acl("east", "READ", permission="DENY")]
    assert find(Code.ACL_DRIFT, acls=denied) == {
        "west": "1 rights of shop are on west only: read topic orders."
    }


def test_rights_of_everybody_count_for_who_uses_them(find: Find) -> None:
    everybodys = [acl("east", "READ", principal="User:*")]
    assert not find(Code.ACL_DRIFT, acls=everybodys)
    assert set(find(Code.ACL_DRIFT, [reader("r")], acls=everybodys)) == {"east"}
    assert not find(Code.ACL_DRIFT, [reader("r")], acls=[*everybodys, acl("west", "READ")])


def test_no_drift_is_made_of_what_does_not_count(find: Find) -> None:
    of_hadash = acl("west", "WRITE", permission="DENY", by_hadash=True)
    both = [acl("east", "ALL"), acl("west", "ALL")]
    assert not find(Code.ACL_DRIFT, acls=[*both, of_hadash])
    assert not find(Code.ACL_DRIFT, acls=[*both, acl("east", "READ", principal="User:mirror")])
    own = [{"cluster": "east", "user": "shop"}, {"cluster": "west", "user": "shop"}]
    assert not find(Code.ACL_DRIFT, acls=[acl("east", "READ")], own_users=own)
    for row in ({"authorizer": False}, {"fault": "It does not answer."}):
        clusters = [PAIR["clusters"][0], PAIR["clusters"][1] | row]
        assert not find(Code.ACL_DRIFT, acls=[acl("east", "READ")], clusters=clusters)
