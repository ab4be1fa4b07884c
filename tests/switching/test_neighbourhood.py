"""A plan is drawn up from the part of a pair that it is about: it is the same plan as from all of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from hadash.bindings.model import Binding, BindingDocument
from hadash.inventory.models import Access, AppID, Cluster, Declaration, InstanceID, Pair
from hadash.kafka.values import Acl
from hadash.mirroring import acls as acl_rules
from hadash.mirroring import standby
from hadash.mirroring.models import Mirror
from hadash.radius.closure import Dimension
from hadash.radius.scope import Scope, ScopeKind
from hadash.switching.machines.switches import Kind
from hadash.switching.planning import neighbourhood, proposals
from hadash.switching.planning.radius import PlanProposal, build_plan
from hadash.switching.planning.readers import build_readers_plan

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@dataclass
class Engine:
    """What ZooKeeper and the clusters hold."""

    documents: dict[str, BindingDocument | None] = field(default_factory=dict)
    acls: set[Acl] = field(default_factory=set)
    #: Topics and principals whose rules were asked for.
    asked: list[str] = field(default_factory=list)

    def client(self) -> Any:
        return SimpleNamespace(acls=lambda: self.acls, acls_about=self._about, acls_of=self._of)

    def _about(self, topics: list[str]) -> set[Acl]:
        self.asked += topics
        return {acl for acl in self.acls if any(acl_rules.applies_to(acl, topic) for topic in topics)}

    def _of(self, principals: list[str]) -> set[Acl]:
        self.asked += principals
        return {acl for acl in self.acls if acl.principal in principals}


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    found = Engine()
    monkeypatch.setattr(
        proposals, "dialect_of", lambda pair: SimpleNamespace(all_documents=lambda: found.documents)
    )
    monkeypatch.setattr(neighbourhood, "documents_of", lambda pair: found.documents)
    monkeypatch.setattr(standby, "_client", lambda cluster: found.client())
    return found


@pytest.fixture
def pair() -> Pair:
    east = Cluster.objects.create(name="east", number=1)
    west = Cluster.objects.create(name="west", number=2)
    return Pair.objects.create(name="main", first=east, second=west, default=east)


def seen(pair: Pair, appid: str, client_id: str, kind: str, resource: str, days: float = 0) -> Access:
    at = timezone.now() - timedelta(days=days)
    return Access(
        pair=pair, appid=appid, client_id=client_id, kind=kind, resource=resource, cluster="east",
        first_seen=at, last_seen=at,
    )  # fmt: skip


class World:
    """A small fleet by chance: few names, so that much hangs together and much does not."""

    APPIDS = tuple(f"app-{n}" for n in range(9))
    UNSEEN = ("ghost", "shadow")
    TOPICS = tuple(f"{team}.{n}" for team in ("shop", "crm", "hr") for n in range(4))
    GROUPS = tuple(f"readers-{n}" for n in range(6))

    def __init__(self, pair: Pair, engine: Engine, seed: int) -> None:
        self.chance = random.Random(seed)
        self.pair = pair
        self._access()
        self._names()
        self._documents(engine)
        self._rights(engine)
        self._mirrors()

    def _client(self, appid: str) -> str:
        return self.chance.choice(
            ("", f"{appid}-1", f"{appid}-2", f"HA#{appid}#{self.chance.choice(self.TOPICS)}")
        )

    def _kind(self) -> tuple[str, str]:
        kind = self.chance.choice(("produce", "consume", "group"))
        return kind, self.chance.choice(self.GROUPS if kind == "group" else self.TOPICS)

    def _access(self) -> None:
        rows = {}
        for _ in range(self.chance.randint(6, 22)):
            appid = self.chance.choice(self.APPIDS)
            key = (appid, self._client(appid), *self._kind())
            rows[key] = seen(self.pair, *key, days=self.chance.choice((0, 0, 0, 3, 90)))
        Access.objects.bulk_create(rows.values())

    def _names(self) -> None:
        for appid in self.chance.sample(self.APPIDS, 7):
            row = AppID.objects.create(pair=self.pair, name=appid)
            for name in self.chance.sample((f"{appid}-1", f"{appid}-2"), self.chance.randint(0, 2)):
                InstanceID.objects.create(appid=row, name=name)
            if self.chance.random() < 0.3:
                kind, resource = self._kind()
                name = self.chance.choice(("", f"{appid}-1"))
                Declaration.objects.create(
                    appid=row, instance_id=name, kind=kind, resource=resource, source="hand"
                )

    def _documents(self, engine: Engine) -> None:
        def binding() -> Binding:
            return Binding(self.chance.choice(("east", "west")))

        for appid in self.chance.sample((*self.APPIDS, "of-another-pair"), 4):
            topics = self.chance.sample(self.TOPICS, 3)
            engine.documents[appid] = BindingDocument(
                appid,
                default=binding() if self.chance.random() < 0.6 else None,
                instances={f"{appid}-1": binding()} if self.chance.random() < 0.4 else {},
                topics={topics[0]: binding()} if self.chance.random() < 0.2 else {},
                topic_lists={tuple(sorted(topics[1:])): binding()} if self.chance.random() < 0.2 else {},
                groups={self.chance.choice(self.GROUPS): binding()} if self.chance.random() < 0.2 else {},
            )

    def _rights(self, engine: Engine) -> None:
        for user in (*self.APPIDS[:3], *self.UNSEEN):
            for _ in range(self.chance.randint(0, 2)):
                name, pattern = self.chance.choice(
                    ((self.chance.choice(self.TOPICS), "LITERAL"), ("shop.", "PREFIXED"), ("*", "LITERAL"))
                )
                engine.acls.add(Acl("TOPIC", name, pattern, f"User:{user}", "*", "READ", "ALLOW"))

    def _mirrors(self) -> None:
        for number in range(3):
            Mirror.objects.create(
                pair=self.pair,
                name=f"m-{number}",
                source=self.chance.choice(self.pair.clusters),
                topics=self.chance.sample(self.TOPICS, 3),
            )

    def scopes(self) -> Iterator[Scope]:
        for dimension in Dimension:
            for widen in (False, True):
                how: dict[str, Any] = {"dimension": dimension, "widen": widen}
                appid = self.chance.choice((*self.APPIDS, "nobody", *self.UNSEEN))
                yield Scope(ScopeKind.APPID, appid, **how)
                yield Scope(ScopeKind.INSTANCE, appid, f"{appid}-{self.chance.randint(1, 2)}", **how)
                topics = tuple(sorted(self.chance.sample((*self.TOPICS, "unknown"), 2)))
                yield Scope(ScopeKind.TOPICS, topics=topics, **how)
                roots = (f"appid:{appid}", f"topic:{topics[0]}", f"group:{self.chance.choice(self.GROUPS)}")
                yield Scope(ScopeKind.SEVERAL, roots=roots, **how)
        yield Scope(ScopeKind.PAIR)


def shown(proposal: PlanProposal) -> tuple[Any, ...]:
    return proposal, proposal.plan.members, proposal.whole


@pytest.mark.in_turn
@pytest.mark.parametrize("at_once", [1, neighbourhood.READ_AT_ONCE])
@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_plan_of_the_whole_pair(
    pair: Pair, engine: Engine, seed: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbourhood, "READ_AT_ONCE", at_once)
    monkeypatch.setattr(neighbourhood, "RESOURCES_AT_ONCE", at_once)
    world = World(pair, engine, seed)
    for target in pair.clusters:
        source = pair.other(target)
        for kind, draw in (
            (Kind.PLANNED, build_plan),
            (Kind.READ_SPLIT, build_readers_plan),
            (Kind.FORCED, build_plan),
        ):
            asked = target if kind is Kind.FORCED else source
            whole = proposals.fleet_of(pair, asked)
            for scope in world.scopes():
                part = proposals.fleet_for(pair, scope, source, target, asked, kind)
                expected = draw(scope, source.name, target.name, whole)
                assert shown(draw(scope, source.name, target.name, part)) == shown(expected), scope


class TestWhatIsRead:
    """Of a large pair only what hangs together."""

    def test_others_are_not_read(self, pair: Pair, engine: Engine) -> None:
        Access.objects.bulk_create(
            [
                seen(pair, "shop", "", "produce", "sales"),
                seen(pair, "crm", "", "consume", "sales"),
                *(seen(pair, f"app-{n}", "", "produce", f"topic-{n}") for n in range(50)),
            ]
        )
        fleet = proposals.fleet_for(
            pair, Scope(ScopeKind.APPID, "shop"), pair.first, pair.second, pair.first, Kind.PLANNED
        )
        assert {use.appid for use in fleet.uses} == {"shop", "crm"}
        assert engine.asked == ["sales"]

    def test_who_is_allowed_and_uses_something_else_does_not_count(self, pair: Pair, engine: Engine) -> None:
        Access.objects.bulk_create(
            [seen(pair, "shop", "", "produce", "sales"), seen(pair, "hr", "", "produce", "staff")]
        )
        engine.acls.add(Acl("TOPIC", "sales", "LITERAL", "User:hr", "*", "READ", "ALLOW"))
        fleet = proposals.fleet_for(
            pair, Scope(ScopeKind.APPID, "shop"), pair.first, pair.second, pair.first, Kind.PLANNED
        )
        assert {use.appid for use in fleet.uses} == {"shop"}

    def test_a_document_that_cannot_be_read_may_say_anything(self, pair: Pair, engine: Engine) -> None:
        AppID.objects.create(pair=pair, name="crm")
        Access.objects.bulk_create([seen(pair, "shop", "", "produce", "sales")])
        engine.documents["crm"] = None
        with pytest.raises(proposals.Refused, match="crm"):
            proposals.fleet_for(
                pair, Scope(ScopeKind.APPID, "shop"), pair.first, pair.second, pair.first, Kind.PLANNED
            )


class TestTooMany:
    """What no change of bindings can hold is not drawn up to its end."""

    @pytest.fixture(autouse=True)
    def few(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(neighbourhood, "MOST_DOCUMENTS", 5)

    def proposal(self, pair: Pair, scope: Scope, target: Cluster) -> PlanProposal:
        return proposals.proposal_for(pair, scope, target)

    def test_it_says_how_many_are_known_and_draws_the_nearest(self, pair: Pair, engine: Engine) -> None:
        chain = [
            seen(pair, f"app-{n}", "", kind, f"t-{n + (kind == 'produce')}")
            for n in range(20)
            for kind in ("produce", "consume")
        ]
        Access.objects.bulk_create(chain)
        proposal = self.proposal(pair, Scope(ScopeKind.APPID, "app-0"), pair.second)
        assert not proposal.whole
        (reason,) = proposal.blockers
        assert str(reason).startswith("At least 6 AppIDs would move together")
        assert {i.appid for i in proposal.plan.identities} == {f"app-{n}" for n in range(5)}

    def test_of_very_many_that_use_the_same_few_are_drawn(
        self, pair: Pair, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nobody reads a picture of a thousand, and while it is drawn somebody waits."""
        monkeypatch.setattr(neighbourhood, "NEAREST", 3)
        Access.objects.bulk_create(
            [
                seen(pair, "shop", "", "produce", "sales"),
                *(
                    seen(pair, f"app-{n}", "", kind, "sales")
                    for n in range(4)
                    for kind in ("produce", "consume")
                ),
                *(seen(pair, "app-3", "", "produce", f"t-{n}") for n in range(9)),
                *(seen(pair, f"far-{n}", "", "consume", f"t-{n}") for n in range(9)),
            ]
        )
        proposal = self.proposal(pair, Scope(ScopeKind.APPID, "shop"), pair.second)
        assert not proposal.whole
        assert {i.appid for i in proposal.plan.identities} == {"shop", "app-0", "app-1"}

    def test_the_cluster_is_not_asked_for_what_is_known_without_it(self, pair: Pair, engine: Engine) -> None:
        """It may have a hundred thousand rules."""
        Access.objects.bulk_create(
            [
                seen(pair, "shop", "", "produce", "sales"),
                *(seen(pair, f"app-{n}", "", "consume", "sales") for n in range(20)),
            ]
        )
        proposal = self.proposal(pair, Scope(ScopeKind.APPID, "shop"), pair.second)
        assert not proposal.whole
        assert engine.asked == []

    def test_who_is_there_already_does_not_move(self, pair: Pair, engine: Engine) -> None:
        Access.objects.bulk_create(
            [
                seen(pair, "shop", "", "produce", "sales"),
                *(seen(pair, f"app-{n}", "", "consume", "sales") for n in range(20)),
            ]
        )
        engine.documents["shop"] = BindingDocument("shop", default=Binding("west"))
        fleet = proposals.fleet_for(
            pair, Scope(ScopeKind.APPID, "shop"), pair.second, pair.first, pair.second, Kind.PLANNED
        )
        assert len({use.appid for use in fleet.uses}) == 21

    def test_everything_on_a_cluster(self, pair: Pair, engine: Engine) -> None:
        Access.objects.bulk_create([seen(pair, f"app-{n}", "", "produce", f"t-{n}") for n in range(20)])
        proposal = self.proposal(pair, Scope(ScopeKind.PAIR), pair.second)
        assert not proposal.whole and str(proposal.blockers[0]).startswith("At least 6 AppIDs")
