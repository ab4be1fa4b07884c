"""What a read split does to servers, and what it leaves alone: the effects behind its commands, with faked servers."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from hadash.auditors.models import AuditDifference, AuditedPartition
from hadash.inventory.models import Access, Cluster, Pair
from hadash.mirroring.models import Mirror
from hadash.switching.execution.command_handler import CommandHandler
from hadash.switching.execution.handlers import bindings, clusters, mirrors
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.context import StageContext

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


def hands(plan: Plan) -> CommandHandler:
    return CommandHandler(plan, None, StageContext(), lambda sentence: None)


@pytest.fixture
def gateways(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What every Gateway says of AppID shop."""
    said = SimpleNamespace(access=[], readers=[], members=[])
    for module in (bindings, clusters, mirrors):
        monkeypatch.setattr(
            module, "ask_every", lambda path, key, **query: list(getattr(said, path.strip("/")))
        )
    return said


def test_on_which_cluster_topics_are_written(pair: Pair) -> None:
    plan = replace(SPLIT, topics=("orders", "people"), mirrors=("people", "shop"))
    written = hands(plan).carry_out(do.ReadWritten())
    assert written == {"carts": "east", "orders": "east", "people": "west"}


def test_only_mirrors_that_they_will_read_from_are_looked_at(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def look(mirror: Mirror, thorough: bool, held: Any, max_lag: int) -> Any:
        looked.append(mirror.name)
        return SimpleNamespace(records=0)

    monkeypatch.setattr(mirrors.probe, "look", look)
    plan = replace(SPLIT, topics=("orders", "people"), mirrors=("people", "shop"))
    found = hands(plan).carry_out(do.CheckMirrors(copying_from="east"))
    assert [name for name, *_ in found] == looked == ["shop"]
    hands(plan).carry_out(do.CheckMirrors())
    assert looked == ["shop", "people", "shop"]


def test_what_auditors_say_of_the_mirrors(pair: Pair) -> None:
    now = timezone.now()
    row = AuditedPartition.objects.create(
        pair=pair, topic="orders", partition=0, source=pair.first, source_begin=0, target_begin=0, source_next=9,
        target_next=9, source_start=0, source_end=9, equal=9, compared_at=now, updated_at=now,
    )  # fmt: skip
    plan = replace(SPLIT, topics=("orders", "people"), mirrors=("people", "shop"))

    def found() -> dict[str, tuple[bool, bool]]:
        return {
            each.mirror: (each.is_equal, each.differs) for each in hands(plan).carry_out(do.CheckAudits())
        }

    assert found() == {"shop": (True, False), "people": (False, False)}
    row.different = 1
    row.save()
    again = AuditDifference.objects.create(
        audited=row, kind="extra", source=pair.first, source_offset=3, target_offset=3, found_at=now
    )
    assert found()["shop"] == (False, True), "a record that is too much"
    shop = Mirror.objects.get(name="shop")
    shop.syncs.create(topic="orders", partition=0, source_offset=9, target_offset=10, target_repeated=1)
    assert found()["shop"] == (False, False), "one that a Connect worker is known to have copied again"
    again.kind = "missing"
    again.save()
    assert found()["shop"] == (False, True)


def test_what_sources_hold_is_asked_before_the_first_mirror_is_waited_for(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many mirrors that have to catch up take the time of one."""
    done: list[tuple[str, str]] = []

    def held_now(mirrors: list[Mirror]) -> dict[Mirror, str]:
        done.extend(("asked", mirror.name) for mirror in mirrors)
        return {mirror: f"what {mirror.name} held" for mirror in mirrors}

    def look(mirror: Mirror, thorough: bool, held: Any, max_lag: int) -> Any:
        done.append(("waited", held))
        return SimpleNamespace(records=0)

    monkeypatch.setattr(mirrors.catching_up, "held_now", held_now)
    monkeypatch.setattr(mirrors.probe, "look", look)
    plan = replace(SPLIT, topics=("orders", "people"), mirrors=("people", "shop"))
    hands(plan).carry_out(do.CheckMirrors(thorough=True))
    assert done == [
        ("asked", "people"),
        ("asked", "shop"),
        ("waited", "what people held"),
        ("waited", "what shop held"),
    ]


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

    monkeypatch.setattr(clusters.standby, "copy_acls", copy_acls)
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


def test_readers_and_members_of_the_gateways_say_who_reads_alone(
    pair: Pair, gateways: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(Each case: ``test_self_assigned.py``.) Who stays is nobody's concern."""
    here = {"appid": "shop", "cluster": "east", "host": "10.0.0.1"}
    gateways.readers = [
        {
            **here,
            "client_id": name,
            "broker": 1,
            "topics": ["orders", "elsewhere"],
            "partitions": {"orders": [0]},
        }
        for name in ("bill-1", "bill-2", "mobile")
    ]
    monkeypatch.setattr(
        CommandHandler, "client", lambda self, cluster: SimpleNamespace(groups=lambda names: {})
    )
    member = {"client_id": "bill-1", "group": "billing", "member_id": "m", "connected": True}
    gateways.members = [{**here, **member}]
    assert hands(SPLIT).carry_out(do.CheckSelfAssigned()) == {"bill-2": frozenset({"orders"})}


def test_members_with_a_library_that_reads_on(pair: Pair, gateways: SimpleNamespace, settings: Any) -> None:
    libraries = {"bill-1": "platformatic-kafka", "bill-2": "acme", "mobile": "platformatic-kafka"}
    for client_id, library in libraries.items():
        Access.objects.create(
            pair=pair,
            appid="shop",
            client_id=client_id,
            kind=Access.Kind.GROUP,
            resource="billing",
            cluster="east",
            library=library,
            details={"member": True},
            first_seen=timezone.now(),
            last_seen=timezone.now(),
        )
    # (One that only commits there never rejoins.)
    Access.objects.filter(client_id="bill-1").update(details={"member": False})
    assert hands(SPLIT).carry_out(do.CheckReadingOn()) == []
    Access.objects.filter(client_id="bill-1").update(details={"member": True})
    assert hands(SPLIT).carry_out(do.CheckReadingOn()) == ["bill-1"], "of those that move"
    settings.SWITCH_READING_ON = ("acme",)
    assert hands(SPLIT).carry_out(do.CheckReadingOn()) == ["bill-1", "bill-2"]


@pytest.mark.parametrize(("version", "found"), [("3.0.12", ["bill-1"]), ("2.3.1", []), ("", ["bill-1"])])
def test_a_library_that_reads_on_since_a_version(
    pair: Pair, gateways: SimpleNamespace, version: str, found: list[str]
) -> None:
    """kafka-python keeps its positions over a rebalance since 3.0. Of one that does not say its version
    nobody knows.
    """
    Access.objects.create(
        pair=pair,
        appid="shop",
        client_id="bill-1",
        kind=Access.Kind.GROUP,
        resource="billing",
        cluster="east",
        library="kafka-python",
        version=version,
        details={"member": True},
        first_seen=timezone.now(),
        last_seen=timezone.now(),
    )
    assert hands(SPLIT).carry_out(do.CheckReadingOn()) == found
