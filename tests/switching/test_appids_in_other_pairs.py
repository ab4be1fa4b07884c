"""An AppID that is used in two pairs has one binding document for both."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.utils import timezone

from hadash.governance.catalogue import Code
from hadash.identity.identity import Identity
from hadash.inventory.models import Access, AppID, Cluster, InstanceID, Pair
from hadash.inventory.selectors import access_since
from hadash.radius.fleet import Fleet, MirrorOf
from hadash.radius.nodes import AccessEdge
from hadash.radius.scope import Scope
from hadash.switching.machines.switches import Kind
from hadash.switching.planning import proposals, risks
from hadash.switching.planning.appids_in_other_pairs import used_elsewhere
from hadash.switching.planning.radius import PlanProposal, build_plan
from hadash.switching.policy import stopping

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def make_pair(name: str, *clusters: str) -> Pair:
    first, second = (
        Cluster.objects.create(name=cluster, number=Cluster.objects.count() + 1) for cluster in clusters
    )
    return Pair.objects.create(name=name, first=first, second=second, default=first)


def see(pair: Pair, appid: str, days_ago: float = 0) -> None:
    at = timezone.now() - timedelta(days=days_ago)
    Access.objects.create(
        pair=pair,
        appid=appid,
        client_id="c",
        kind="produce",
        resource="orders",
        cluster=pair.first.name,
        first_seen=at,
        last_seen=at,
    )


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Pair:
    """``shop`` writes what ``audit`` reads; the engine has nothing against it, and no Topic has replicas."""
    monkeypatch.setattr(
        proposals, "dialect_of", lambda pair: SimpleNamespace(blockers=lambda identities, cluster: [])
    )
    monkeypatch.setattr(risks, "client_for", lambda access: SimpleNamespace(topics=lambda names: {}))
    return make_pair("main", "east", "west")


def drawn(pair: Pair, kind: Kind = Kind.PLANNED) -> PlanProposal:
    uses = (AccessEdge("shop", "web-1", "produce", "orders"), AccessEdge("audit", "a-1", "consume", "orders"))
    mirrors = (MirrorOf("all", "east", frozenset({"orders"})),)
    fleet = Fleet("main", ("east", "west"), "east", uses, {}, {}, mirrors)
    draft = build_plan(Scope.of(Identity("shop")), "east", "west", fleet)
    draft = replace(draft, plan=replace(draft.plan, kind=kind))
    (found,) = proposals.with_blockers(pair, [draft], pair.first)
    return found


def test_whoever_is_in_one_pair_only_may_move(pair: Pair) -> None:
    see(pair, "shop")
    see(make_pair("other", "north", "south"), "billing")
    assert Code.TWO_PAIRS not in {finding.code for finding in drawn(pair).findings}


def test_clients_of_another_pair_would_obey_it_too(pair: Pair) -> None:
    """Also those of an AppID that only comes along."""
    for number, clusters in enumerate((("north", "south"), ("up", "down"))):
        see(make_pair(f"other-{number}", *clusters), "audit")
    (objection,) = drawn(pair).blockers
    assert str(objection) == (
        "audit (also in pair other-0, other-1): the bindings of an AppID are one document for all pairs, "
        "so its clients there "
        "would obey them, too. Let it sign in as another user in one of the pairs."
    )


def test_when_the_source_is_lost_it_is_told(pair: Pair) -> None:
    see(make_pair("other", "north", "south"), "audit")
    found = drawn(pair, Kind.FORCED)
    assert found.blockers == ()
    assert [finding.code for finding in found.findings] == [Code.TWO_PAIRS]


def test_who_was_there_by_mistake_and_is_gone_does_not_count(pair: Pair) -> None:
    other = make_pair("other", "north", "south")
    AppID.objects.create(pair=other, name="audit")
    see(other, "audit", days_ago=(timezone.now() - access_since()).days + 1)
    assert drawn(pair).blockers == ()


def test_who_is_expected_there_does(pair: Pair) -> None:
    other = AppID.objects.create(pair=make_pair("other", "north", "south"), name="audit")
    InstanceID.objects.create(appid=other, name="nightly")
    assert used_elsewhere(pair, ["audit", "shop"]) == {"audit": ("other",)}


def test_it_stops_where_nobody_has_said_otherwise(pair: Pair) -> None:
    assert Code.TWO_PAIRS.value in stopping(pair)
