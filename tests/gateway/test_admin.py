"""A Gateway's HTTP side: what it has in effect, who is connected, what passed."""

from __future__ import annotations

import httpx
import pytest
from confluent_kafka import Consumer, TopicPartition
from support.gateway import ControlPlane, GatewayProcess
from support.kafka import App, consume, produce
from support.raw import RawClient
from support.waiting import eventually

from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode
from hadash.identity.identity import Identity

pytestmark = pytest.mark.stack


def test_status(gateway: GatewayProcess, control: ControlPlane, app: App) -> None:
    epoch = control.bind(Identity(app.appid), "west")
    status = gateway.ask("/status")
    assert (status["id"], status["pair"]) == ("gateway-1", "main")
    assert status["applied"] >= epoch
    assert status["reached"] == {"east": True, "west": True}
    assert gateway.metric("hadash_gateway_applied_epoch") == status["applied"]


def test_clients_are_told_with_all_that_is_known_of_them(gateway: GatewayProcess, app: App) -> None:
    with RawClient(gateway.address, "web-1") as one, RawClient(gateway.node_address("east"), "web-2") as two:
        for client in (one, two):
            client.sign_in(app.appid, app.password, "SCRAM-SHA-512")
        found = {client["client_id"]: client for client in gateway.clients(app.appid)}
        assert found["web-1"] == {
            "appid": app.appid,
            "client_id": "web-1",
            "cluster": "east",
            "node": None,
            "host": "127.0.0.1",
            "mechanism": "SCRAM-SHA-512",
            "library": "",
            "version": "",
            "parked": "",
            "mutations": 0,
            "slow": False,
            "gone": False,
            "held_up_by": "",
            "state": "forward",
            "away": False,
        }
        assert found["web-2"]["node"] == "east"
        assert [c["client_id"] for c in gateway.clients(app.appid, instance="web-2")] == ["web-2"]
        assert gateway.ask("/clients", appid="nobody") == {"clients": []}
        counted = sorted(gateway.ask("/connected", appid=app.appid)["connected"])
        assert counted == [[app.appid, "web-1", "east", 1, 0], [app.appid, "web-2", "east", 1, 0]]
    eventually(lambda: gateway.clients(app.appid) == [], "the end of both connections")


def test_readers_are_told_by_connection_and_broker_and_members_by_host(
    gateway: GatewayProcess, app: App
) -> None:
    """So that one who reads without a group is found beside a member of the same name."""
    topic = app.topic()
    produce(app.config(gateway.bootstrap), topic, b"one")
    config = app.config(gateway.bootstrap, client_id="rdkafka", auto_offset_reset="earliest")
    member = Consumer({**config, "group.id": app.group()})
    member.subscribe([topic])
    loner = Consumer({**config, "group.id": app.group()})
    loner.assign([TopicPartition(topic, 0, 0)])
    try:
        for consumer in (member, loner):
            message = consumer.poll(40)
            assert message is not None
            assert message.value() == b"one"
        readers = gateway.ask("/readers", appid=app.appid)["readers"]
        reader = {"appid": app.appid, "client_id": "rdkafka", "host": "127.0.0.1", "cluster": "east"}
        assert readers == [{**reader, "broker": 0, "topics": [topic], "partitions": {topic: [0]}}] * 2
        (joined,) = gateway.members(app.appid)
        assert (joined["client_id"], joined["host"]) == ("rdkafka", "127.0.0.1")
    finally:
        member.close()
        loner.close()
    eventually(lambda: gateway.ask("/readers", appid=app.appid)["readers"] == [], "the end of both")


def test_access_says_who_used_what_with_which_library(gateway: GatewayProcess, app: App) -> None:
    topic, group = app.topic(), app.group()
    config = app.config(gateway.bootstrap, client_id="web-1")
    produce({**config, "acks": "1"}, topic, b"one", b"two", b"three")
    assert consume(config, topic, group, 3) == [b"one", b"two", b"three"]

    facts = {
        (fact["kind"], fact["resource"]): fact
        for fact in gateway.ask("/access")["access"]
        if fact["appid"] == app.appid
    }
    assert set(facts) == {("produce", topic), ("consume", topic), ("group", group)}
    for fact in facts.values():
        assert (fact["client_id"], fact["cluster"], fact["library"]) == (
            "web-1",
            "east",
            "confluent-kafka-python",
        )
        assert fact["version"]
        assert fact["first_seen"] <= fact["used_at"] <= fact["last_seen"]
    assert facts["produce", topic]["records"] == facts["consume", topic]["records"] == 3
    assert facts["produce", topic]["details"] == {"acks": 1, "idempotent": False, "transactional": False}
    assert facts["group", group]["details"] == {
        "assignors": ["range", "roundrobin"],
        "session_timeout_ms": 45000,
        "member": True,
    }


def test_a_client_may_say_after_its_sign_in_which_library_it_is(gateway: GatewayProcess, app: App) -> None:
    """As Java's does: what it asks for before its sign-in has no room for that."""
    with RawClient(gateway.address, "web-1") as client:
        client.call(ApiKey.API_VERSIONS, 0)
        client.sign_in(app.appid, app.password, "SCRAM-SHA-512")
        software = {"client_software_name": "apache-kafka-java", "client_software_version": "3.9.2"}
        client.call(ApiKey.API_VERSIONS, 3, **software)
        (found,) = gateway.clients(app.appid)
        assert (found["library"], found["version"]) == ("apache-kafka-java", "3.9.2")


def test_a_library_that_one_connection_has_told_is_that_of_the_others(
    gateway: GatewayProcess, app: App
) -> None:
    """As of @platformatic/kafka: it asks for versions over its first connection only."""
    software = {"client_software_name": "platformatic-kafka", "client_software_version": "2.12.1"}
    with (
        RawClient(gateway.address, "web-1") as first,
        RawClient(gateway.node_address("east"), "web-1") as next_one,
    ):
        for client in (first, next_one):
            client.sign_in(app.appid, app.password, "SCRAM-SHA-512")
            if client is first:
                client.call(ApiKey.API_VERSIONS, 3, **software)
        assert [c["library"] for c in gateway.clients(app.appid)] == ["platformatic-kafka"] * 2
    with RawClient(gateway.address, "web-2") as other:
        other.sign_in(app.appid, app.password, "SCRAM-SHA-512")
        assert [c["library"] for c in gateway.clients(app.appid, instance="web-2")] == [""]


def test_what_a_client_has_left_open_where_it_was_it_does_not_use(
    gateway: GatewayProcess, control: ControlPlane, app: App
) -> None:
    topic = app.topic()
    with RawClient(gateway.node_address("east"), "web-1") as idle:
        idle.sign_in(app.appid, app.password, "SCRAM-SHA-512")
        idle.send_produce(topic, b"one")
        assert idle.produce_error() is ErrorCode.none
        control.bind(Identity(app.appid, "web-1"), "west")
        produce(app.config(gateway.bootstrap, client_id="web-1"), topic, b"two")
        with RawClient(gateway.node_address("west"), "web-1") as busy:
            busy.sign_in(app.appid, app.password, "SCRAM-SHA-512")
            found = {(client["cluster"], client["away"]) for client in gateway.clients(app.appid)}
            assert found == {("east", True), ("west", False)}
            facts = [fact for fact in gateway.ask("/access")["access"] if fact["appid"] == app.appid]
    told = {fact["cluster"]: fact for fact in facts}
    assert told["east"]["last_seen"] == told["east"]["used_at"]
    assert told["west"]["last_seen"] > told["west"]["used_at"] > told["east"]["used_at"], (
        "it is connected there"
    )


def test_traffic_is_told_by_cluster_from_a_time_on(
    gateway: GatewayProcess, control: ControlPlane, app: App
) -> None:
    topic = app.topic()
    control.bind(Identity(app.appid, "web-2"), "west")
    for instance, count in (("web-1", 3), ("web-2", 5)):
        produce(app.config(gateway.bootstrap, client_id=instance), topic, *[b"x"] * count)

    def moved(**query: str) -> dict[str, int]:
        total: dict[str, int] = {}
        for sample in gateway.ask("/traffic", appid=app.appid, **query)["samples"]:
            for cluster, (produced, _) in sample["clusters"].items():
                total[cluster] = total.get(cluster, 0) + produced
        return total

    eventually(lambda: moved() == {"east": 3, "west": 5}, "a sample with the records")
    assert moved(instance="web-2") == {"west": 5}
    last = gateway.ask("/traffic")["samples"][-1]["at"]
    assert moved(since=str(last)) == {}


def test_a_time_that_is_none_is_refused(gateway: GatewayProcess) -> None:
    response = httpx.get(f"http://127.0.0.1:{gateway.admin_port}/traffic", params={"since": "yesterday"})
    assert (response.status_code, response.json()) == (400, {"error": "since is not a number of seconds"})


def test_requests_are_counted_by_kind_and_cluster(gateway: GatewayProcess, shared_app: App) -> None:
    name = 'hadash_gateway_requests_total{cluster="east",kind="PRODUCE"}'
    topic = shared_app.topic()
    before = gateway.metric(name)
    with RawClient(gateway.address) as client:
        client.sign_in(shared_app.appid, shared_app.password, "SCRAM-SHA-256")
        for _ in range(3):
            client.send_produce(topic, b"one")
            assert client.produce_error() is ErrorCode.none
    assert gateway.metric(name) >= before + 3


def test_metrics_are_in_prometheus_text_format(gateway: GatewayProcess) -> None:
    response = httpx.get(f"http://127.0.0.1:{gateway.admin_port}/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    for line in response.text.splitlines():
        assert (
            line.startswith(("# TYPE hadash_gateway_", "# HELP hadash_gateway_"))
            or float(line.rsplit(" ", 1)[1]) >= 0
        )
