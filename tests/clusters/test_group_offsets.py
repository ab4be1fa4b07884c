"""Committed offsets of groups on a real cluster: written exactly, read back, removed."""

from __future__ import annotations

import pytest
from support.environment import Cluster
from support.kafka import App, Clusters

from hadash.kafka.cluster import ClusterClient
from hadash.kafka.errors import KafkaError
from hadash.kafka.values import ClusterAccess, Committed, Partition

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


def test_they_are_read_back_as_they_were_written(client: ClusterClient, app: App) -> None:
    topic, group = app.topic(2), app.group()
    commits = {group: {Partition(topic, 0): Committed(3, "batch 7, 完成"), Partition(topic, 1): Committed(0)}}
    client.set_group_offsets(commits)
    assert client.group_commits([group]) == commits
    assert client.group_offsets([group]) == {group: {Partition(topic, 0): 3, Partition(topic, 1): 0}}


def test_a_group_that_is_not_there_has_none(client: ClusterClient, app: App) -> None:
    group = app.group()
    assert client.group_offsets([group]) == {group: {}}


def test_removing_some_keeps_the_others(client: ClusterClient, app: App) -> None:
    topic, kept, removed = app.topic(2), app.group(), app.group()
    first, second = Partition(topic, 0), Partition(topic, 1)
    client.set_group_offsets(
        {kept: {first: Committed(3), second: Committed(4)}, removed: {first: Committed(5)}}
    )
    for _ in range(2):  # (as a repeated stage does)
        client.remove_group_offsets({kept: [second], removed: [first]})
        assert client.group_offsets([kept, removed]) == {kept: {first: 3}, removed: {}}


def test_a_group_that_is_not_there_cannot_be_deleted(client: ClusterClient, app: App) -> None:
    with pytest.raises(KafkaError, match=r"could not delete group .*: GroupIdNotFound"):
        client.delete_groups([app.group()])


def test_of_a_group_with_members_nothing_is_written(client: ClusterClient, app: App, kafka: Clusters) -> None:
    """Its members would commit over it."""
    from support.running import Reader
    from support.waiting import eventually

    topic, group = app.topic(), app.group()
    with Reader(kafka.described["west"].client_config(), topic, group) as reader:
        eventually(lambda: reader.assigned == 1, "the member's partition")
        with pytest.raises(KafkaError, match=group):
            client.set_group_offsets({group: {Partition(topic, 0): Committed(0)}})
        with pytest.raises(KafkaError, match=f"could not remove offsets of group {group}"):
            client.remove_group_offsets({group: [Partition(topic, 0)]})
        with pytest.raises(KafkaError, match=f"could not delete group {group}: NonEmptyGroup"):
            client.delete_groups([group])


def test_groups_are_described_with_their_members_and_coordinator(
    client: ClusterClient, app: App, kafka: Clusters
) -> None:
    from support.running import Reader
    from support.waiting import eventually

    topic, group, nobody = app.topic(), app.group(), app.group()
    settings = kafka.described["west"].client_config() | {"group.instance.id": "shelf-1"}
    with Reader(settings, topic, group) as reader:
        eventually(lambda: reader.assigned == 1, "the member's partition")
        found = client.groups([group, nobody])
        assert found[group].state == "Stable"
        assert [member.host for member in found[group].members] == ["127.0.0.1"]
        assert [member.topics for member in found[group].members] == [(topic,)]
        assert [member.instance_id for member in found[group].members] == ["shelf-1"]
        asked = kafka.admin("west").describe_consumer_groups([group])[group].result(20)
        assert found[group].coordinator == asked.coordinator.id
    assert (found[nobody].state, found[nobody].members) == ("Dead", ())


def test_what_another_member_would_change_is_what_it_changes(
    client: ClusterClient, app: App, kafka: Clusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the page of a group says it, with librdkafka's own range assignor as the leader."""
    from support.running import Reader
    from support.waiting import eventually

    from hadash.dashboard.groups import live, what_if

    monkeypatch.setattr(live, "cluster_client", lambda cluster: client)
    topic, group = app.topic(6), app.group()
    settings = kafka.described["west"].client_config()

    def look() -> live.Look:
        found = live.look_at(None, group)  # type: ignore[arg-type]
        assert found is not None
        return found

    def sizes() -> list[int]:
        """(Before anybody has joined there is no group.)"""
        found = live.look_at(None, group)  # type: ignore[arg-type]
        return sorted(len(member.partitions) for member in found.info.members) if found else []

    with Reader(settings, topic, group), Reader(settings, topic, group):
        eventually(lambda: sizes() == [3, 3], "both members' partitions", patience=60)
        answer = what_if.answer(look(), {"change": "more"})
        assert answer is not None and answer.outcome is not None, answer
        assert {lag.records for lag in look().lags} <= {0, None}, "nothing was written"
        then = sorted(len(mine) for mine in answer.outcome.after.values())
        with Reader(settings, topic, group):
            eventually(lambda: sizes() == then == [2, 2, 2], "what was foretold", patience=60)
