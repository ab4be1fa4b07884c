"""The mirrors of a pair on the overview: what is said of thousands is counted by the database, and must be
what the list of mirrors says of each.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hadash.auditors.models import AuditedPartition
from hadash.dashboard.views import mirror_list
from hadash.inventory.models import Pair
from hadash.mirroring.models import Mirror
from hadash.presentation import badges, pair_verdicts
from hadash.presentation.readiness import MirrorFacts, MirrorShow, PairFacts, readiness
from hadash.sentences import fill

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

RPO = 30.0


@pytest.fixture
def mirrors(fleet: SimpleNamespace) -> list[Mirror]:
    """One of each: every state, looked at lately, long ago or never, with every kind of lag."""
    Mirror.objects.all().delete()
    now = timezone.now()
    looks = (now, now - timedelta(hours=1), None)
    made = [
        Mirror(
            pair=fleet.pair,
            name=f"m-{number}",
            topics=[],
            source=fleet.east,
            state=state,
            looked_at=looked_at,
            lag_seconds=seconds,
        )
        for number, (state, looked_at, seconds) in enumerate(
            product(Mirror.State.values, looks, (None, 0.5, 29.0, 31.0, 90.0))
        )
    ]
    return Mirror.objects.bulk_create(made)


def said(mirrors: list[MirrorFacts]) -> list[str]:
    facts = PairFacts(pair="main", rpo_seconds=RPO, workers=1, mirrors=mirrors)
    sentences = [reason.sentence for reason in readiness(facts).reasons if reason.page.startswith("mirror")]
    return [fill(each.text, each.values) for each in sentences]


def test_it_is_what_is_said_of_each_of_them(fleet: SimpleNamespace, mirrors: list[Mirror]) -> None:
    def one(mirror: Mirror) -> MirrorFacts:
        look = badges.of_mirror(mirror).look
        fine = None if look == "unknown" else look == "fine"
        return MirrorFacts(
            mirror.name, fine, mirror.lag_seconds, mirror.state == "turning" and look != "unknown"
        )

    # (One that is turned round and was not looked at lately is told of as turning either way.)
    of_each = [one(mirror) for mirror in mirrors if mirror.state != "turning"]
    Mirror.objects.filter(state="turning").delete()
    together = pair_verdicts._mirrors({fleet.pair.pk: RPO})[fleet.pair.pk]
    assert sum(each.count for each in together) == len(of_each)
    assert len(together) < len(of_each)
    counts = [text for text in said(of_each) if "among them" not in text]
    assert [text for text in said(together) if "among them" not in text] == counts
    assert [text.split(",")[0] for text in said(together)] == [text.split(",")[0] for text in said(of_each)]


@pytest.mark.parametrize("show", set(MirrorShow) - {MirrorShow.DIFFERING})
def test_a_reason_leads_to_the_mirrors_that_it_is_about(
    fleet: SimpleNamespace, mirrors: list[Mirror], as_vera: Client, show: MirrorShow
) -> None:
    """As many as the reason counts are in the list that it leads to, and in the file of that list."""
    together = pair_verdicts._mirrors({fleet.pair.pk: RPO})[fleet.pair.pk]
    facts = PairFacts(pair="main", rpo_seconds=RPO, workers=1, mirrors=together)
    [reason] = [
        reason
        for reason in readiness(facts).reasons
        if reason.page == "mirrors" and f"show={show.value}" in reason.query
    ]
    turning = Mirror.objects.filter(state="turning").count()
    counted = int(reason.sentence.values.get("count", turning))
    listed = Mirror.objects.filter(mirror_list.shown_by(show))
    assert 1 < listed.count() == counted < len(mirrors)
    answer = as_vera.get(reverse("mirrors") + reason.query + "&format=csv")
    lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert {line.split(",")[1] for line in lines[1:]} == set(listed.values_list("name", flat=True))


def test_the_reason_of_one_mirror_leads_to_its_page() -> None:
    facts = PairFacts(pair="主", rpo_seconds=RPO, workers=1, mirrors=[MirrorFacts("a", False, None)])
    assert [
        (each.page, each.arguments) for each in readiness(facts).reasons if each.page.startswith("mirror")
    ] == [("mirror", ("主", "a"))]


def test_differences_lead_to_the_mirrors_that_have_them(fleet: SimpleNamespace, as_vera: Client) -> None:
    for topic, accepted in (("orders", 1), ("stock", 3)):
        AuditedPartition.objects.create(
            pair=fleet.pair, topic=topic, partition=0, source=fleet.east, begun=True, source_begin=0, target_begin=0,
            source_next=9, target_next=9, different=3, accepted=accepted, updated_at=timezone.now(),
        )  # fmt: skip
    for name, topics in (("m-orders", ["carts", "orders"]), ("m-stock", ["stock"])):
        Mirror.objects.create(pair=fleet.pair, name=name, topics=topics, source=fleet.east)
    facts = PairFacts(pair="main", rpo_seconds=RPO, differences=2)
    [reason] = [reason for reason in readiness(facts).reasons if "differ" in reason.sentence.text]
    page = as_vera.get(reverse(reason.page) + reason.query).content.decode()
    assert "m-orders" in page and "m-stock" not in page


def test_the_one_furthest_behind_is_named(fleet: SimpleNamespace, mirrors: list[Mirror]) -> None:
    Mirror.objects.all().delete()
    now = timezone.now()
    for name, seconds in (("near", 31.0), ("far", 95.0), ("fine", 1.0)):
        Mirror.objects.create(
            pair=fleet.pair,
            name=name,
            topics=[],
            source=fleet.east,
            state="running",
            looked_at=now,
            lag_seconds=seconds,
        )
    together = pair_verdicts._mirrors({fleet.pair.pk: RPO})[fleet.pair.pk]
    assert said(together) == ["2 of 3 mirrors are further behind than the RPO of 30 s, far most: 95 s."]


def test_each_pair_against_its_own_rpo_with_its_own_worst(fleet: SimpleNamespace) -> None:
    Mirror.objects.all().delete()
    other = Pair.objects.create(name="other", first=fleet.east, second=fleet.west, default=fleet.east)
    for pair, number in product((fleet.pair, other), range(pair_verdicts.MIRRORS_SHOWN + 2)):
        Mirror.objects.create(
            pair=pair,
            name=f"m-{number}",
            topics=[],
            source=fleet.east,
            state="running",
            looked_at=timezone.now(),
            lag_seconds=number,
        )
    facts = pair_verdicts._mirrors({fleet.pair.pk: 2.5, other.pk: 100.0})
    late = {pair: sum(each.count for each in own if (each.seconds or 0) > 2.5) for pair, own in facts.items()}
    assert late[fleet.pair.pk] == pair_verdicts.MIRRORS_SHOWN + 2 - 3
    assert [each.count for each in facts[other.pk]] == [pair_verdicts.MIRRORS_SHOWN + 2]
    worst = pair_verdicts._worst([fleet.pair.pk, other.pk])
    names = [Mirror.objects.get(pk=key).name for key in worst[other.pk]]
    assert names == [f"m-{number}" for number in range(pair_verdicts.MIRRORS_SHOWN + 1, 1, -1)]


def test_those_of_which_nobody_knows_come_first(fleet: SimpleNamespace) -> None:
    Mirror.objects.all().delete()
    values: dict[str, Any] = {"pair": fleet.pair, "topics": [], "source": fleet.east}
    Mirror.objects.create(name="late", lag_seconds=99.0, **values)
    unknown = Mirror.objects.create(name="unknown", lag_seconds=None, **values)
    assert pair_verdicts._worst([fleet.pair.pk])[fleet.pair.pk][0] == unknown.pk
