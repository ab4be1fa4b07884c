"""What each broker of a real cluster has heard of the rules: it enforces that, whatever the others know."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.environment import Cluster
from support.kafka import App
from support.waiting import eventually

from hadash.kafka import cluster
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.errors import KafkaError
from hadash.kafka.values import Acl, ClusterAccess
from hadash.mirroring.acls import CLUSTER, applies_to, by_host, write_denial

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def client(clusters: dict[str, Cluster]) -> ClusterClient:
    west = clusters["west"].client_config()
    return ClusterClient(
        ClusterAccess(
            name="west",
            bootstrap_servers=west["bootstrap.servers"],
            security_protocol=west["security.protocol"],
            sasl_mechanism=west["sasl.mechanism"],
            username=west["sasl.username"],
            password=west["sasl.password"],
        )
    )


def test_a_broker_hears_of_a_rule_and_that_it_is_gone(client: ClusterClient, app: App) -> None:
    topic, principal = app.topic(), f"User:{app.appid}"
    brokers = [broker for broker, _, _ in client.brokers()]
    denial = write_denial(topic, principal)

    def heard() -> list[bool]:
        return [denial in rules for rules in client.topic_rules(brokers, [principal]).values()]

    client.create_acls([denial])
    assert eventually(lambda: all(heard()), "every broker has heard of it")
    client.delete_acls([denial])
    assert eventually(lambda: not any(heard()), "every broker has heard that it is gone")


def test_they_are_the_same_rules_as_the_cluster_tells(client: ClusterClient, app: App) -> None:
    topic, principal = app.topic(), f"User:{app.appid}"
    wide = Acl("TOPIC", f"{topic}-", "PREFIXED", principal, "*", "READ", "ALLOW")
    client.create_acls([wide, write_denial(topic, principal)])
    brokers = [broker for broker, _, _ in client.brokers()]
    now = {rule for rule in client.acls() if rule.resource_type == "TOPIC" and rule.principal == principal}
    assert {wide, write_denial(topic, principal)} <= now
    assert eventually(
        lambda: client.topic_rules(brokers, [principal]) == dict.fromkeys(brokers, now),
        "the same at each broker",
    )


def test_of_a_stranger_nobody_has_heard(client: ClusterClient) -> None:
    brokers = [broker for broker, _, _ in client.brokers()]
    assert client.topic_rules(brokers, ["User:nobody-at-all"]) == {broker: set() for broker in brokers}


def test_a_cluster_that_refuses_to_tell_is_not_one_without_rules(
    clusters: dict[str, Cluster], client: ClusterClient, app: App
) -> None:
    """An account without DESCRIBE on the cluster would see no ACLs, on both sides alike."""
    stranger = ClusterClient(
        replace(client.access, username=app.appid, password=app.password, sasl_mechanism="SCRAM-SHA-256")
    )
    try:
        with pytest.raises(
            KafkaError, match="could not read the ACLs of everybody: ClusterAuthorizationFailed"
        ):
            stranger.acls()
        with pytest.raises(KafkaError, match=f"of User:{app.appid}: ClusterAuthorizationFailed"):
            stranger.acls_of([f"User:{app.appid}"])
    finally:
        stranger.close()


def test_rules_about_the_cluster_have_kafkas_name(client: ClusterClient, app: App) -> None:
    """Producers that are idempotent need one on brokers before 2.8."""
    rule = Acl("CLUSTER", CLUSTER, "LITERAL", f"User:{app.appid}", "10.0.0.1", "IDEMPOTENT_WRITE", "ALLOW")
    client.create_acls([rule])
    try:
        assert eventually(lambda: rule in client.acls_of([rule.principal]), "the rule")
        assert by_host(client.acls_of([rule.principal]), [app.appid], [], []) == {rule}
    finally:
        client.delete_acls([rule])
    assert eventually(lambda: rule not in client.acls_of([rule.principal]), "it is gone")
    client.delete_acls([rule])


def test_a_rule_that_nobody_knows_is_said(client: ClusterClient, app: App) -> None:
    with pytest.raises(KafkaError, match="could not create ACLs: there is no such rule: ALLOW"):
        client.create_acls([Acl("TOPIC", "orders", "LITERAL", f"User:{app.appid}", "*", "FLY", "ALLOW")])


class TestSomeRules:
    """Of a cluster with very many rules only those are asked for that matter; they are the same as among all."""

    @pytest.fixture
    def rules(self, client: ClusterClient, app: App) -> set[Acl]:
        topic, principal = app.topic(), f"User:{app.appid}"
        found = {
            Acl("TOPIC", topic, "LITERAL", principal, "*", "READ", "ALLOW"),
            Acl("TOPIC", topic[:-1], "PREFIXED", principal, "*", "WRITE", "ALLOW"),
            Acl("TOPIC", "*", "LITERAL", "User:everything", "*", "READ", "ALLOW"),
            Acl("TOPIC", f"{topic}-other", "LITERAL", principal, "*", "READ", "ALLOW"),
            Acl("GROUP", topic, "LITERAL", principal, "*", "READ", "ALLOW"),
        }
        client.create_acls(found)
        eventually(lambda: found <= client.acls(), "the rules")
        return found

    def test_about_a_topic(self, client: ClusterClient, rules: set[Acl]) -> None:
        (topic,) = {rule.resource for rule in rules if rule.resource_type == "GROUP"}
        expected = {rule for rule in client.acls() if applies_to(rule, topic)}
        assert client.acls_about([topic]) == expected
        assert len(expected & rules) == 3

    def test_of_a_principal(self, client: ClusterClient, rules: set[Acl], app: App) -> None:
        principal = f"User:{app.appid}"
        assert client.acls_of([principal]) == {r for r in client.acls() if r.principal == principal}

    def test_of_more_than_are_asked_by_name(
        self, client: ClusterClient, rules: set[Acl], app: App, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cluster, "ASKED_BY_NAME", 0)
        (topic,) = {rule.resource for rule in rules if rule.resource_type == "GROUP"}
        assert {r for r in client.acls_about([topic]) if applies_to(r, topic)} >= {
            r for r in rules if applies_to(r, topic)
        }
        assert client.acls_of([f"User:{app.appid}"]) >= {r for r in rules if r.principal.endswith(app.appid)}
