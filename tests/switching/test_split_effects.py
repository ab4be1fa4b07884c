"""What a read split does to servers, and what it leaves alone: the effects behind its commands, with faked servers."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from hadash.inventory.models import Access, Cluster, Pair
from hadash.mirroring.models import Mirror
from hadash.switching import commands as do
from hadash.switching import effects
from hadash.switching.effects import Effects, Facts
from hadash.switching.plan import Plan

from .world import SPLIT, WHOLE

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

HOME = replace(SPLIT, source="west", target="east")


@pytest.fixture
def pair(db: None) -> Pair:
    """Orders and carts are written on east; people on west."""
    east, west = (
        Cluster.objects.create(name=name, number=number) for number, name in enumerate(("east", "west"), 1)
    )
    found = Pair.objects.create(name="main", first=east, second=west, default=east)
    Mirror.objects.create(pair=found, name="shop", topics=["carts", "orders"], source=east)
    Mirror.objects.create(pair=found, name="people", topics=["people"], source=west)
    return found


def hands(plan: Plan) -> Effects:
    return Effects(plan, None, Facts(), lambda sentence: None)


@pytest.fixture
def gateways(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What every Gateway says of AppID shop."""
    said = SimpleNamespace(clients=[], access=[], readers=[], members=[])
    monkeypatch.setattr(effects, "ask_every", lambda path, key, **query: list(getattr(said, path.strip("/"))))
    return said


def test_on_which_cluster_topics_are_written(pair: Pair) -> None:
    plan = replace(SPLIT, topics=("orders", "people"), mirrors=("people", "shop"))
    written = hands(plan).carry_out(do.ReadWritten())
    assert written == {"carts": "east", "orders": "east", "people": "west"}


def test_only_mirrors_that_they_will_read_from_are_looked_at(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def look(mirror: Mirror) -> Any:
        looked.append(mirror.name)
        return SimpleNamespace(records=0)

    monkeypatch.setattr(effects.looking, "look", look)
    plan = replace(SPLIT, topics=("orders", "people"), mirrors=("people", "shop"))
    found = hands(plan).carry_out(do.CheckMirrors(copying_from="east"))
    assert [name for name, *_ in found] == looked == ["shop"]
    hands(plan).carry_out(do.CheckMirrors())
    assert looked == ["shop", "people", "shop"]


@pytest.mark.parametrize(
    ("plan", "closed"),
    [
        (WHOLE, ["carts", "orders"]),
        (SPLIT, ["orders"]),
        (HOME, []),  # there the target is where others write: it must never be closed to them
        (replace(SPLIT, topics=("orders", "people"), mirrors=("people", "shop")), ["orders"]),
    ],
)
def test_topics_are_closed_only_where_their_mirror_is(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, plan: Plan, closed: list[str]
) -> None:
    asked: list[list[str]] = []

    def copy_acls(pair: Any, source: Any, target: Any, appids: Any, standby: list[str]) -> int:
        asked.append(list(standby))
        return 0

    monkeypatch.setattr(effects.standby, "copy_acls", copy_acls)
    hands(plan).carry_out(do.CopyAcls())
    assert asked == [closed]


def test_what_others_of_the_same_appid_do_is_no_activity_of_the_readers(
    pair: Pair, gateways: SimpleNamespace
) -> None:
    gateways.access = [
        {
            "appid": "shop",
            "client_id": client_id,
            "kind": kind,
            "resource": "orders",
            "cluster": "east",
            "idle": 0.5,
        }
        for client_id, kind in (("web-1", "produce"), ("mobile", "consume"))
    ]
    assert hands(SPLIT).carry_out(do.ReadActivity("east", 5.0)) == set()
    gateways.access[1]["client_id"] = "bill-1"
    assert hands(SPLIT).carry_out(do.ReadActivity("east", 5.0)) == {("consume", "orders")}
    assert hands(WHOLE).carry_out(do.ReadActivity("east", 5.0)) == {
        ("consume", "orders"),
        ("produce", "orders"),
    }


class TestSelfAssigned:
    """bill-1 is a member of the group; bill-2 reads, and may be one or not."""

    @pytest.fixture(autouse=True)
    def observed(self, pair: Pair) -> None:
        now = timezone.now()
        for client_id, topic in (("bill-1", "orders"), ("bill-2", "orders"), ("bill-2", "carts")):
            Access.objects.create(
                pair=pair,
                appid="shop",
                client_id=client_id,
                kind="consume",
                resource=topic,
                cluster="east",
                first_seen=now,
                last_seen=now,
            )

    def found(
        self,
        gateways: SimpleNamespace,
        *connected: tuple[str, str],
        members: tuple[str, ...] = ("bill-1",),
        readers: tuple[tuple[str, int], ...] = (),
        **others: str,
    ) -> list[str]:
        """Who is found to read without a group.

        :param members: client.ids, one a member. :param readers: client.id and broker of each connection that reads.
        :param others: what is different about the members.
        """
        gateways.clients = [
            {"appid": "shop", "client_id": name, "cluster": cluster} for name, cluster in connected
        ]
        gateways.members = [
            {
                "appid": "shop",
                "client_id": name,
                "cluster": "east",
                "group": "billing",
                "member_id": f"{name}-{number}",
                "host": "10.0.0.1",
                **others,
            }
            for number, name in enumerate(members)
        ]
        gateways.readers = [
            {
                "appid": "shop",
                "client_id": name,
                "cluster": "east",
                "host": "10.0.0.1",
                "broker": broker,
                "topics": ["orders", "elsewhere"],
            }
            for name, broker in readers
        ]
        answer: list[str] = hands(SPLIT).carry_out(do.CheckSelfAssigned())
        return answer

    def test_a_reader_without_a_group(self, gateways: SimpleNamespace) -> None:
        assert self.found(gateways, ("bill-1", "east"), ("bill-2", "east")) == ["bill-2 (orders)"]

    def test_a_member(self, gateways: SimpleNamespace) -> None:
        assert (
            self.found(gateways, ("bill-1", "east"), ("bill-2", "east"), members=("bill-1", "bill-2")) == []
        )

    @pytest.mark.parametrize(
        "others",
        [{"appid": "another"}, {"group": "another"}, {"cluster": "west"}],
        ids=["of another AppID", "of another group", "on the other cluster"],
    )
    def test_a_member_that_is_only_called_the_same(
        self, gateways: SimpleNamespace, others: dict[str, str]
    ) -> None:
        """rdkafka is librdkafka's default client.id."""
        assert self.found(gateways, ("bill-1", "east"), **others) == ["bill-1 (orders)"]

    def test_one_that_reads_beside_a_member_of_its_own_name(self, gateways: SimpleNamespace) -> None:
        assert self.found(gateways, ("bill-1", "east"), readers=(("bill-1", 0), ("bill-1", 0))) == [
            "bill-1 (orders)"
        ]

    def test_one_that_reads_on_another_machine(self, gateways: SimpleNamespace) -> None:
        assert self.found(gateways, ("bill-1", "east"), readers=(("bill-1", 0),), host="10.0.0.2") == [
            "bill-1 (orders)"
        ]

    def test_a_member_reads_over_one_connection_to_each_broker(self, gateways: SimpleNamespace) -> None:
        several = (("bill-1", 0), ("bill-1", 1), ("bill-1", 2))
        assert self.found(gateways, ("bill-1", "east"), readers=several) == []
        both = self.found(gateways, ("bill-1", "east"), readers=several * 2, members=("bill-1", "bill-1"))
        assert both == []

    def test_a_member_that_has_just_come_back_is_one(self, gateways: SimpleNamespace) -> None:
        """Its old connection may be there still."""
        found = self.found(
            gateways,
            ("bill-1", "east"),
            readers=(("bill-1", 0), ("bill-1", 0)),
            members=("bill-1", "bill-1"),
            member_id="the-same",
        )
        assert found == ["bill-1 (orders)"]

    def test_one_that_is_not_there_now(self, gateways: SimpleNamespace) -> None:
        assert self.found(gateways, ("bill-1", "east"), ("bill-2", "west")) == []

    def test_one_that_stays(self, gateways: SimpleNamespace) -> None:
        Access.objects.filter(client_id="bill-2").update(client_id="mobile")
        assert self.found(gateways, ("bill-1", "east"), ("mobile", "east")) == []
