"""The connector of a mirror: identical records from one cluster to the other, and no secrets where they do
not belong.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hadash.kafka.values import ClusterAccess
from hadash.mirroring.connector import connector_config, connector_name

EAST = ClusterAccess("east", "east:9092", "SASL_PLAINTEXT", "SCRAM-SHA-256", "mirror", "east-secret")
WEST = ClusterAccess("west", "west:9092", "SASL_SSL", "PLAIN", "mirror", "west-secret")
CONFIG = connector_config(EAST, WEST, ["orders", "carts"], tasks=3)

topic_names = st.text("abz09._-", min_size=1, max_size=12)


def test_from_the_source_to_the_target() -> None:
    assert CONFIG["source.cluster.alias"] == "east"
    assert CONFIG["target.cluster.alias"] == "west"
    assert CONFIG["source.cluster.bootstrap.servers"] == "east:9092"
    assert CONFIG["target.cluster.bootstrap.servers"] == "west:9092"
    assert CONFIG["tasks.max"] == "3"


def test_connects_own_producer_writes_to_the_target() -> None:
    """Without the override the records would go to Connect's own cluster."""
    for name in ("bootstrap.servers", "security.protocol", "sasl.mechanism", "sasl.jaas.config"):
        assert CONFIG[f"producer.override.{name}"] == CONFIG[f"target.cluster.{name}"]
    assert CONFIG["producer.override.acks"] == "all"


def test_records_stay_as_they_are() -> None:
    assert CONFIG["replication.policy.class"].endswith("IdentityReplicationPolicy")
    assert CONFIG["key.converter"].endswith("ByteArrayConverter")
    assert CONFIG["value.converter"].endswith("ByteArrayConverter")


def test_what_hadash_does_itself_is_off() -> None:
    assert CONFIG["sync.topic.acls.enabled"] == "false"
    assert CONFIG["emit.offset-syncs.enabled"] == "false"


def test_every_value_is_a_text() -> None:
    assert all(isinstance(value, str) for value in CONFIG.values())


# -- Topics --------------------------------------------------------------------------------------------------------


def topics_that_match(config: dict[str, str], names: list[str]) -> list[str]:
    """As MirrorMaker does: a list of regular expressions, each for a whole name."""
    patterns = [re.compile(pattern) for pattern in config["topics"].split(",")]
    return [name for name in names if any(pattern.fullmatch(name) for pattern in patterns)]


def test_a_dot_in_a_name_is_a_dot() -> None:
    config = connector_config(EAST, WEST, ["shop.orders"])
    assert topics_that_match(config, ["shop.orders", "shop-orders", "shopxorders"]) == ["shop.orders"]


@given(st.lists(topic_names, min_size=1, max_size=4), st.lists(topic_names, max_size=8))
def test_exactly_the_named_topics_are_copied(topics: list[str], others: list[str]) -> None:
    config = connector_config(EAST, WEST, topics)
    assert topics_that_match(config, topics + others) == [name for name in topics + others if name in topics]


# -- accounts ------------------------------------------------------------------------------------------------------


def test_each_side_signs_in_with_its_own_account_and_mechanism() -> None:
    assert CONFIG["source.cluster.sasl.mechanism"] == "SCRAM-SHA-256"
    assert "scram.ScramLoginModule required" in CONFIG["source.cluster.sasl.jaas.config"]
    assert "east-secret" in CONFIG["source.cluster.sasl.jaas.config"]
    assert CONFIG["target.cluster.sasl.mechanism"] == "PLAIN"
    assert "plain.PlainLoginModule required" in CONFIG["target.cluster.sasl.jaas.config"]
    assert "west-secret" in CONFIG["target.cluster.sasl.jaas.config"]


def test_passwords_stand_only_where_somebody_signs_in() -> None:
    for name, value in CONFIG.items():
        if not name.endswith("sasl.jaas.config"):
            assert "secret" not in value
    assert not any("secret" in name for name in CONFIG)


def test_a_listener_without_sasl_gets_no_account() -> None:
    config = connector_config(replace(EAST, security_protocol="PLAINTEXT"), WEST, ["orders"])
    assert "source.cluster.sasl.jaas.config" not in config
    assert "east-secret" not in str(config)
    assert "target.cluster.sasl.jaas.config" in config


# -- names ---------------------------------------------------------------------------------------------------------


def test_a_connector_for_each_direction() -> None:
    assert connector_name("main", "orders", "east", "west") == "hadash.main.orders.east.west"
    assert connector_name("main", "orders", "west", "east") == "hadash.main.orders.west.east"


slugs = st.text("ab-_1", min_size=1, max_size=4)


@given(st.lists(st.tuples(slugs, slugs), min_size=2, max_size=4, unique=True))
def test_mirrors_of_different_pairs_have_different_connectors(mirrors: list[tuple[str, str]]) -> None:
    for (pair, mirror), (other_pair, other_mirror) in itertools.combinations(mirrors, 2):
        assert connector_name(pair, mirror, "east", "west") != connector_name(
            other_pair, other_mirror, "east", "west"
        )


def test_the_two_directions_never_share_a_connector() -> None:
    """Names of clusters may hold hyphens, but no dots."""
    assert connector_name("main", "orders", "dc", "dc-dc") != connector_name("main", "orders", "dc-dc", "dc")
