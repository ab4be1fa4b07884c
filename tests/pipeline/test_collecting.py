"""A snapshot of real clusters, and of what hadash knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from kazoo.client import KazooClient
from support.kafka import App
from support.running import Reader
from support.waiting import eventually

from hadash.accounts.roles import ensure_user
from hadash.bindings.errors import StoreUnavailable
from hadash.bindings.model import Binding, BindingDocument
from hadash.bindings.store import BindingStore, Edit
from hadash.governance.models.runs import Run
from hadash.identity.identity import Identity
from hadash.inventory.models import AppID, Cluster, InstanceID, Pair
from hadash.kafka.acls import Which
from hadash.kafka.controller import zookeeper_controller
from hadash.kafka.errors import ClusterUnavailable, KafkaError, NotOffered
from hadash.kafka.kafka_python_client import KafkaPythonClient
from hadash.kafka.values import Acl
from hadash.lake import snapshots
from hadash.lake.store import Store
from hadash.mirroring.acls import write_denial
from hadash.mirroring.models import LagSample, Mirror, WriteDenial
from hadash.mirroring.services import cluster_client
from hadash.pipeline import collecting, running, schedules
from hadash.pipeline.jobs import Job
from hadash.sentences import read_back
from hadash.switching import policy

pytestmark = [pytest.mark.stack, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def pair(stack_pair: Pair) -> Pair:
    """The stack's clusters, which have ZooKeeper, as a pair."""
    return stack_pair


@dataclass(frozen=True)
class Member:
    topic: str
    group: str


@pytest.fixture
def reader(app: App, pair: Pair) -> Iterator[Member]:
    """A member of a group on the first cluster, with two partitions."""
    member = Member(app.topic(2), app.group())
    config = app.config(pair.first.bootstrap_servers, **{"client.id": "web-1"})
    with Reader(config, member.topic, member.group) as consumer:
        eventually(lambda: consumer.assigned == 2, "it has its partitions", patience=30)
        yield member


def rows(lake: Store, table: str, **which: Any) -> list[dict[str, Any]]:
    """Of the newest snapshot."""
    snapshot = snapshots.newest(lake)
    assert snapshot is not None
    found = snapshots.read(lake, snapshot, table).to_pylist()
    return [row for row in found if which.items() <= row.items()]


def test_clusters_tell_who_they_are_and_what_is_on_them(
    pair: Pair, app: App, reader: Member, lake: Store
) -> None:
    taken = collecting.take(lake)
    assert (taken.away, taken.lacking) == ([], [])
    (east,) = rows(lake, "clusters", cluster="east")
    assert east["mode"] == "zookeeper"
    assert east["version"].startswith("3.9")
    assert east["controller"] in {row["broker"] for row in rows(lake, "brokers", cluster="east")}
    assert east["controller_epoch"] >= 1
    (broker, *_) = rows(lake, "brokers", cluster="east")
    configs = dict(broker["configs"])
    assert configs["group.min.session.timeout.ms"] == "6000"
    assert not [name for name, value in configs.items() if "password" in name and value == app.password]

    topic = reader.topic
    assert [row["topic"] for row in rows(lake, "topics", cluster="east", topic=topic)] == [topic]
    partitions = rows(lake, "partitions", cluster="east", topic=topic)
    assert [row["partition"] for row in partitions] == [0, 1]
    assert all(row["leader"] in row["in_sync"] and row["replicas"] == row["in_sync"] for row in partitions)
    assert rows(lake, "partitions", topic="__consumer_offsets")
    (user,) = rows(lake, "users", cluster="east", user=app.appid)
    assert "SCRAM-SHA-256" in user["mechanisms"]


def test_groups_tell_their_assignor_and_who_has_which_partition(
    pair: Pair, reader: Member, lake: Store
) -> None:
    collecting.take(lake)
    (group,) = rows(lake, "groups", cluster="east", group=reader.group)
    assert (group["state"], group["protocol"]) == ("Stable", "range")
    (member,) = rows(lake, "members", group=reader.group)
    assert (member["client_id"], member["host"]) == ("web-1", "127.0.0.1")
    assert member["partitions"] == [f"{reader.topic}-0", f"{reader.topic}-1"]
    assert member["topics"] == [reader.topic]


def test_what_hadash_knows_stands_beside_it(
    pair: Pair, app: App, lake: Store, zookeeper: KazooClient
) -> None:
    appid = AppID.objects.create(pair=pair, name=app.appid, owner="结账", critical=True)
    InstanceID.objects.create(appid=appid, name="购物车")
    BindingStore(zookeeper).change([Edit(Identity(app.appid), Binding("west"))])
    policy.set_policy(ensure_user("ada", "a-long-password", "administrator"), pair, {"rpo_seconds": 7.5})
    collecting.take(lake)
    (known,) = rows(lake, "pairs")
    assert (known["first"], known["second"], known["default"], known["rpo_seconds"]) == (
        "east",
        "west",
        "east",
        7.5,
    )
    assert rows(lake, "appids") == [{"pair": "main", "appid": app.appid, "owner": "结账", "critical": True}]
    assert rows(lake, "instances") == [{"pair": "main", "appid": app.appid, "name": "购物车"}]
    (document,) = rows(lake, "documents")
    found = BindingDocument.from_bytes(app.appid, document["content"].encode())
    assert found is not None and found.default is not None and found.default.cluster == "west"
    users = {(row["cluster"], row["user"]) for row in rows(lake, "own_users")}
    assert users == {(c.name, user) for c in pair.clusters for user in (c.admin_username, c.mirror_username)}


def test_a_denial_that_hadash_made_is_told_apart(pair: Pair, app: App, lake: Store) -> None:
    topic, principal = app.topic(), f"User:{app.appid}"
    client = cluster_client(pair.second)
    client.create_acls([write_denial(topic, principal), write_denial(topic, "User:somebody-else")])
    WriteDenial.objects.create(cluster=pair.second, topic=topic, principal=principal)
    collecting.take(lake)
    denials = rows(lake, "acls", cluster="west", resource=topic, permission="DENY")
    assert {row["principal"]: row["by_hadash"] for row in denials} == {
        principal: True,
        "User:somebody-else": False,
    }


def test_each_sample_of_lag_stands_in_one_snapshot(pair: Pair, lake: Store) -> None:
    mirror = Mirror.objects.create(pair=pair, name="orders", topics=["orders"], source=pair.first)
    at = timezone.now()
    for minutes in (3, 2, 1):
        LagSample.objects.create(
            mirror=mirror, at=at - timedelta(minutes=minutes), records=minutes, seconds=None
        )
    collecting.take(lake)
    assert [row["records"] for row in rows(lake, "lag")] == [3, 2, 1]
    LagSample.objects.create(mirror=mirror, at=timezone.now(), records=0, seconds=0.0)
    collecting.take(lake)
    assert [(row["records"], row["seconds"]) for row in rows(lake, "lag")] == [(0, 0.0)]


def test_a_cluster_that_does_not_answer_is_away_and_the_other_is_there(
    pair: Pair, lake: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cluster.objects.filter(name="west").update(bootstrap_servers="127.0.0.1:9")
    monkeypatch.setattr("hadash.kafka.calls.REQUEST_SECONDS", 1.0)
    taken = collecting.take(lake)
    assert taken.away == ["west"]
    (west,) = rows(lake, "clusters", cluster="west")
    assert read_back(west["fault"]).values, "it can be translated"
    assert "west" in str(read_back(west["fault"]))
    assert rows(lake, "brokers", cluster="west") == []
    assert rows(lake, "brokers", cluster="east")


def test_a_cluster_without_authorizer_is_said_to_have_none(
    pair: Pair, lake: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(Those of the tests have one.)"""
    assert all(row["authorizer"] for row in rows_of_a_new_snapshot(lake))

    def refused(self: KafkaPythonClient, wanted: Sequence[Which]) -> set[Acl]:
        raise NotOffered("Cluster could not read the ACLs of everybody: it has no authorizer.")

    monkeypatch.setattr(KafkaPythonClient, "rules", refused)
    assert not any(row["authorizer"] for row in rows_of_a_new_snapshot(lake))
    assert rows(lake, "acls") == []


def rows_of_a_new_snapshot(lake: Store) -> list[dict[str, Any]]:
    collecting.take(lake)
    return rows(lake, "clusters")


def test_a_zookeeper_that_does_not_answer_takes_nothing_else_away(
    pair: Pair, lake: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cluster.objects.filter(name="east").update(zookeeper_hosts="127.0.0.1:9/east")
    monkeypatch.setattr("hadash.kafka.controller.ZOOKEEPER_SECONDS", 0.5)
    taken = collecting.take(lake)
    (said,) = taken.lacking
    assert "ZooKeeper of cluster east, 127.0.0.1:9/east, did not answer" in said
    (east,) = rows(lake, "clusters", cluster="east")
    assert east["controller_epoch"] is None
    assert east["controller"] is not None


def test_a_zookeeper_without_a_kafka_says_where_to_look(zookeeper_hosts: str) -> None:
    with pytest.raises(KafkaError, match="chroot in zookeeper_hosts of cluster east") as said:
        zookeeper_controller("east", f"{zookeeper_hosts}/nowhere")
    assert not isinstance(said.value, ClusterUnavailable)


def test_the_job_publishes_what_it_has_taken_and_says_who_was_away(
    pair: Pair, lake: Store, handed: list[Run], olga: Any
) -> None:
    run = schedules.run_now(olga, Job.SNAPSHOT, handed.append)
    assert running.carry_out(run.pk) is running.Outcome.PUBLISHED
    run.refresh_from_db()
    assert (run.state, run.quality) == (Run.State.PUBLISHED, {"away": [], "lacking": []})
    assert run.rows["clusters"] == 2
    snapshot = snapshots.newest(lake)
    assert snapshot is not None
    assert abs((snapshot.at - timezone.now()).total_seconds()) < 60
    assert running.carry_out(run.pk) is running.Outcome.NOT_MINE  # it was delivered twice


def test_without_zookeeper_the_run_has_failed_and_there_is_no_half_snapshot(
    pair: Pair, lake: Store, olga: Any, handed: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> KazooClient:
        raise StoreUnavailable("ZooKeeper at 127.0.0.1:9 does not answer.")

    monkeypatch.setattr("hadash.pipeline.collecting.zookeeper", away)
    run = schedules.run_now(olga, Job.SNAPSHOT, handed.append)
    assert running.carry_out(run.pk) is running.Outcome.FAILED
    run.refresh_from_db()
    assert (run.state, str(run.fault)) == (Run.State.FAILED, "ZooKeeper at 127.0.0.1:9 does not answer.")
    assert snapshots.newest(lake) is None
