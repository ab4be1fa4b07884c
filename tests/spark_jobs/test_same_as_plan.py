"""From end to end: what the job of the topology publishes of a fleet is what hadash's plan of a switch
would move there.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from kazoo.client import KazooClient
from pyspark.sql import SparkSession
from support.kafka import App, Clusters

from hadash.bindings.model import Binding
from hadash.bindings.store import BindingStore, Edit
from hadash.governance.models.published import Node
from hadash.governance.models.runs import Run
from hadash.identity.identity import Identity
from hadash.inventory.models import Access, AppID, Declaration, InstanceID, Pair
from hadash.lake.access import write_batch
from hadash.lake.store import Store
from hadash.mirroring.models import Mirror
from hadash.pipeline import collecting
from hadash.pipeline.running import conninfo
from hadash.radius.closure import Dimension
from hadash.radius.scope import Scope, ScopeKind
from hadash.switching.planning import proposals
from spark.jobs import facts, governance
from spark.jobs.given import Reader
from spark.jobs.governance import Settings
from spark.transform.registry import registry
from spark.transform.work_list import advice
from spark_jobs.test_radii import scope_of

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.django_db(transaction=True)]

#: AppID, client.id, kind, Topic or group: a shop and a CRM that share Topics, and somebody who is bound
#: elsewhere already.
SEEN = (
    ("shop", "web-1", "produce", "orders"),
    ("shop", "job", "produce", "returns"),
    ("crm", "sync", "consume", "orders"),
    ("crm", "sync", "group", "crm-sync"),
    ("crm", "export", "produce", "people"),
    ("ads", "a", "consume", "people"),
    ("ads", "b", "consume", "clicks"),
    ("hr", "desk", "consume", "holidays"),
)
REGISTERED = (("shop", "web-1"), ("crm", "sync"), ("crm", "export"), ("hr", "desk"))


@pytest.fixture
def pair(stack_pair: Pair) -> Pair:
    return stack_pair


@pytest.fixture
def silent(app: App) -> Iterator[str]:
    """The Topic that somebody may use by the rules of a real cluster, and has never used."""
    yield app.topic()


@pytest.fixture
def fleet(pair: Pair, app: App, silent: str, store: Store, zookeeper: KazooClient) -> Pair:
    """The same in the database, in ZooKeeper and on the clusters, from which plans are made, and in the lake."""
    now = datetime.now(UTC)
    seen = [*SEEN, ("ads", "b", "produce", silent)]
    appids = {name: AppID.objects.create(pair=pair, name=name) for name in sorted({use[0] for use in seen})}
    for appid, name in REGISTERED:
        InstanceID.objects.create(appid=appids[appid], name=name)
    Declaration.objects.create(appid=appids["hr"], instance_id="desk", kind="produce", resource="clicks")
    Mirror.objects.create(pair=pair, name="all", topics=["orders", "people", silent], source=pair.first)
    store_of_bindings = BindingStore(zookeeper)
    store_of_bindings.change([Edit(Identity("hr", "desk"), Binding("west"))])
    store_of_bindings.change([Edit(Identity("crm", topics=("people",)), Binding("east"))])
    reports: list[dict[str, Any]] = []
    for appid, client_id, kind, resource in seen:
        use = {
            "appid": appid, "client_id": client_id, "kind": kind, "resource": resource, "cluster": "east",
            "host": "10.0.0.1", "first_seen": now, "last_seen": now,
        }  # fmt: skip
        Access.objects.create(pair=pair, **use)
        more = {
            "gateway": "gateway-1",
            "library": "",
            "version": "",
            "requests": 1,
            "records": 5,
            "bytes": 50,
        }
        reports.append(use | more)
    write_batch(store, "gateway-1", reports, now)
    collecting.take(store)
    return pair


def test_every_radius_is_that_of_the_plan(
    fleet: Pair, app: App, silent: str, spark: SparkSession, store: Store, kafka: Clusters
) -> None:
    facts.run(spark, store, {cluster.name: fleet.name for cluster in fleet.clusters})
    governance.run(Reader(spark, store), store, "topology", conninfo(), Settings())
    compared = 0
    nodes = list(Node.objects.filter(run=Run.objects.get()))
    assert {("topic", silent), ("appid", app.appid)} <= {
        (node.kind, node.names[0] if node.names else node.appid) for node in nodes
    }, "who was never seen counts by its rights"
    for node in nodes:
        source, target = fleet.clusters if node.cluster == fleet.clusters[0].name else fleet.clusters[::-1]
        for dimension in Dimension:
            row = {"kind": node.kind, "appid": node.appid, "names": node.names}
            scope, found = scope_of(row, dimension), getattr(node, f"radius_{dimension.value}")
            if scope is not None and found:
                plan = proposals.proposal_for(fleet, scope, target).plan
                assert (plan.source, len(plan.members)) == (source.name, found), (row, dimension)
                compared += 1
    assert compared >= 2 * len({use[0] for use in SEEN}) + len({use[3] for use in SEEN})


def moving_with(pair: Pair, topic: str) -> int:
    """How many Topics and groups the plan moves with a Topic, when nobody is left behind; in the direction in
    which it is more.
    """
    scope = Scope(ScopeKind.TOPICS, topics=(topic,), widen=True)
    plans = [proposals.proposal_for(pair, scope, target).plan for target in pair.clusters]
    return max(len(plan.topics) + len(plan.groups) for plan in plans)


def test_so_is_what_is_advised(fleet: Pair, silent: str, spark: SparkSession, store: Store) -> None:
    """To part what ads ties together: it is critical, so what moves with its Topics is told, too."""
    AppID.objects.filter(name="ads").update(critical=True)
    collecting.take(store)
    facts.run(spark, store, {cluster.name: fleet.name for cluster in fleet.clusters})
    given = Reader(spark, store).read(Settings())
    (step,) = advice(given.inputs.facts, registry(given.inputs), least_radius=2).collect()
    assert (step["appid"], step["clients"]) == ("ads", ["a", "b"])
    topics, used = {use[3] for use in SEEN if use[2] != "group"} | {silent}, {"people", "clicks", silent}
    assert step["before"] == max(moving_with(fleet, topic) for topic in topics)
    assert step["critical_before"] == max(moving_with(fleet, topic) for topic in used)
    for name in step["clients"]:
        InstanceID.objects.create(appid=AppID.objects.get(name="ads"), name=name)
    assert step["after"] == max(moving_with(fleet, topic) for topic in topics)
    assert step["critical_after"] == max(moving_with(fleet, topic) for topic in used)
