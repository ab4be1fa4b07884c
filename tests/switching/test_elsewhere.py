"""An AppID that is in two pairs has one binding document for both."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hadash.identity.identity import Identity
from hadash.inventory.models import AppID, Cluster, Pair
from hadash.switching import planning
from hadash.switching.plan import Scope
from hadash.switching.radius import Estate, MirrorOf, draw_up
from hadash.switching.things import Use

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def make_pair(name: str, *clusters: str) -> Pair:
    first, second = (
        Cluster.objects.create(name=cluster, number=Cluster.objects.count() + 1) for cluster in clusters
    )
    return Pair.objects.create(name=name, first=first, second=second, default=first)


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Pair:
    """``shop`` writes what ``audit`` reads; the engine and the rules about clients have nothing against it."""
    monkeypatch.setattr(
        planning, "dialect_of", lambda pair: SimpleNamespace(objections=lambda identities, cluster: [])
    )
    monkeypatch.setattr(planning, "findings_of", lambda plans, pair, asked: [[] for _ in plans])
    made = make_pair("main", "east", "west")
    for name in ("audit", "shop"):
        AppID.objects.create(pair=made, name=name)
    return made


def against(pair: Pair, appid: str = "shop") -> list[str]:
    uses = (Use("shop", "web-1", "produce", "orders"), Use("audit", "a-1", "consume", "orders"))
    mirrors = (MirrorOf("all", "east", frozenset({"orders"})),)
    estate = Estate("main", ("east", "west"), "east", uses, {}, {}, mirrors)
    draft = draw_up(Scope.of(Identity(appid)), "east", "west", estate)
    (found,) = planning.with_objections(pair, [draft], pair.first)
    return [str(sentence) for sentence in found.objections]


def test_whoever_is_in_one_pair_only_may_move(pair: Pair) -> None:
    AppID.objects.create(pair=make_pair("other", "north", "south"), name="billing")
    assert against(pair) == []


def test_clients_of_another_pair_would_obey_it_too(pair: Pair) -> None:
    """Also those of an AppID that only comes along."""
    for number, clusters in enumerate((("north", "south"), ("up", "down"))):
        AppID.objects.create(pair=make_pair(f"other-{number}", *clusters), name="audit")
    assert against(pair) == [
        "audit is known in pair other-0, other-1 too, and its bindings would be obeyed there as well. Let it sign in as another "
        "user in one of them."
    ]
