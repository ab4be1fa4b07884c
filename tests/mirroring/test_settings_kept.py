"""The settings that hadash keeps of connectors and standby Topics: what is set, and what counts as different."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.kafka.tls import Tls
from hadash.kafka.values import ClusterAccess
from hadash.mirroring.connector import connector_config
from hadash.mirroring.drift import drifted, mending
from hadash.mirroring.limits import (
    REQUEST_OVERHEAD_BYTES,
    SOCKET_BYTES,
    Limits,
    limits_of,
    record_limit,
    too_large,
)
from hadash.mirroring.topic_settings import (
    NO_LIMIT_MS,
    TIME_LIMITS,
    new_configs,
    to_change_on_active,
    to_change_on_standby,
)

EAST = ClusterAccess("east", "east:9092", "PLAINTEXT", "", "", "")
WEST = ClusterAccess("west", "west:9092", "PLAINTEXT", "", "", "")
MIB = 1024 * 1024

LOG_APPEND = {"message.timestamp.type": "LogAppendTime", "max.message.bytes": "1000"}
STANDBY = {"message.timestamp.type": "CreateTime", "max.message.bytes": "8000"}


def test_headers_are_copied_as_bytes() -> None:
    config = connector_config(EAST, WEST, ["orders"])
    assert config["header.converter"] == config["value.converter"]


def test_what_hadash_keeps_of_topics_is_not_copied_over() -> None:
    excluded = connector_config(EAST, WEST, ["orders"])["config.properties.exclude"].split(",")
    kept = ("message.timestamp.type", "max.message.bytes", "min.insync.replicas", *TIME_LIMITS)
    for name in kept:
        assert any(re.fullmatch(pattern, name) for pattern in excluded)
    assert not any(re.fullmatch(pattern, "retention.ms") for pattern in excluded)


def test_a_connector_carries_the_largest_records_of_its_topics() -> None:
    config = connector_config(
        EAST, WEST, ["a", "b"], limits=limits_of({"a": MIB, "b": 5 * MIB}, 8, SOCKET_BYTES)
    )
    assert int(config["producer.override.max.request.size"]) == 40 * MIB
    assert int(config["producer.override.buffer.memory"]) == 40 * MIB
    assert int(config["source.consumer.max.partition.fetch.bytes"]) == 5 * MIB
    assert int(config["source.consumer.fetch.max.bytes"]) >= 5 * MIB


def test_kafkas_defaults_are_never_lowered() -> None:
    config = connector_config(EAST, WEST, ["a"], limits=Limits(1000, 8000))
    assert int(config["producer.override.max.request.size"]) == MIB
    assert int(config["producer.override.buffer.memory"]) == 32 * MIB


@given(st.integers(1, 2**30), st.floats(1, 100), st.integers(REQUEST_OVERHEAD_BYTES * 2, 2**30))
def test_a_standby_takes_what_its_source_takes(batch: int, factor: float, request_limit: int) -> None:
    limit = record_limit(batch, factor, request_limit)
    assert limit >= batch
    fits = limit <= request_limit - REQUEST_OVERHEAD_BYTES
    assert fits is (too_large({"a": batch}, request_limit) is None)


def test_the_topic_whose_records_are_refused_is_named() -> None:
    assert too_large({"a": MIB, "b": 200 * MIB}, SOCKET_BYTES) == "b"
    assert too_large({}, SOCKET_BYTES) is None


def test_only_what_hadash_sets_is_compared_and_no_value_is_named() -> None:
    wanted = {"topics": "orders", "producer.override.sasl.jaas.config": "secret"}
    assert drifted(wanted, wanted | {"metric.reporters": "x"}) == ()
    assert drifted(wanted, {"topics": "orders"}) == ("producer.override.sasl.jaas.config",)


@pytest.mark.parametrize(
    "added",
    [
        {"errors.tolerance": "all"},
        {"transforms": "drop", "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter"},
        {
            "predicates": "dead",
            "predicates.dead.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
        },
    ],
)
def test_settings_that_leave_records_out_or_change_them_are_nobodys_own(added: dict[str, str]) -> None:
    wanted = {"topics": "orders"}
    assert drifted(wanted, wanted | added) == tuple(sorted(added))
    assert mending(wanted, added) == dict.fromkeys(added)


TLS = Tls("authority", "certificate", "key")


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        (
            ClusterAccess("west", "west:9092", "SASL_SSL", "PLAIN", "mirror", "secret", Tls("authority")),
            ClusterAccess("west", "west:9092", "PLAINTEXT", "", "", ""),
            {"sasl.mechanism", "sasl.jaas.config", "ssl.truststore.type", "ssl.truststore.certificates"},
        ),
        (
            ClusterAccess("west", "west:9092", "SSL", "", "", "", TLS),
            ClusterAccess("west", "west:9092", "SSL", "", "", "", Tls("authority")),
            {"ssl.keystore.type", "ssl.keystore.certificate.chain", "ssl.keystore.key"},
        ),
    ],
    ids=["protocol", "certificate"],
)
def test_how_a_client_came_to_a_cluster_before_is_taken_away(
    before: ClusterAccess, after: ClusterAccess, left: set[str]
) -> None:
    held, wanted = connector_config(EAST, before, ["a"]), connector_config(EAST, after, ["a"])
    gone = {f"{prefix}{name}" for prefix in ("target.cluster.", "producer.override.") for name in left}
    keys = drifted(wanted, held)
    assert gone <= set(keys)
    changes = mending(wanted, keys)
    assert {key for key, value in changes.items() if value is None} == gone
    mended = {key: value for key, value in (held | changes).items() if value is not None}
    assert mended == wanted


def test_an_operators_own_store_in_a_file_stays() -> None:
    own = {
        "target.cluster.ssl.truststore.type": "PEM",
        "target.cluster.ssl.truststore.location": "/etc/ca.pem",
        "source.cluster.ssl.keystore.type": "PKCS12",
        "source.cluster.ssl.endpoint.identification.algorithm": "https",
    }
    wanted = connector_config(EAST, WEST, ["a"])
    assert drifted(wanted, wanted | own) == ()


def test_what_changes_no_record_stays() -> None:
    wanted = {"topics": "orders"}
    assert (
        drifted(wanted, wanted | {"errors.tolerance": "none", "transforms": "", "errors.log.enable": "true"})
        == ()
    )


def test_a_standby_is_set_to_what_it_needs_and_keeps_a_higher_limit() -> None:
    assert to_change_on_standby({"orders": LOG_APPEND}, {"orders": STANDBY}) == {"orders": STANDBY}
    higher = STANDBY | {"max.message.bytes": "9000"}
    assert to_change_on_standby({"orders": higher}, {"orders": STANDBY}) == {}
    assert to_change_on_standby({}, {"orders": STANDBY}) == {"orders": STANDBY}


def test_a_side_that_becomes_active_is_set_to_exactly_what_is_meant_for_clients() -> None:
    assert to_change_on_active({"orders": STANDBY}, {"orders": LOG_APPEND}) == {"orders": LOG_APPEND}
    assert to_change_on_active({"orders": LOG_APPEND}, {"orders": LOG_APPEND}) == {}


DIFFERENCE, BEFORE, AFTER = TIME_LIMITS


@pytest.mark.parametrize(
    "known", [(DIFFERENCE,), TIME_LIMITS, (BEFORE, AFTER)], ids=["Kafka 3.5", "Kafka 3.9", "Kafka 4.0"]
)
def test_a_standby_takes_records_of_any_time_and_is_told_only_what_its_brokers_know(
    known: tuple[str, ...],
) -> None:
    strict, open_ = dict.fromkeys(known, "3600000"), dict.fromkeys(known, NO_LIMIT_MS)
    assert to_change_on_standby({"orders": STANDBY | strict}, {"orders": STANDBY}) == {"orders": open_}
    assert to_change_on_standby({"orders": STANDBY | open_}, {"orders": STANDBY}) == {}
    meant = LOG_APPEND | dict.fromkeys(TIME_LIMITS, "3600000")
    assert to_change_on_active({"orders": STANDBY | open_}, {"orders": meant}) == {
        "orders": LOG_APPEND | strict
    }


def test_a_standby_is_not_created_with_limits_of_time() -> None:
    active = {
        "retention.ms": "1",
        "message.timestamp.type": "LogAppendTime",
        **dict.fromkeys(TIME_LIMITS, "1000"),
    }
    assert new_configs(active, STANDBY) == {"retention.ms": "1", **STANDBY}
