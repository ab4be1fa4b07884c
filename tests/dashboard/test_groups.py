"""Consumer groups: the list from the newest snapshot, one group as its cluster tells it, and what a change
would make of it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hadash.dashboard.groups import what_if
from hadash.dashboard.groups.live import Lag, Look
from hadash.dashboard.views import groups as views
from hadash.inventory.models import Access, AppID
from hadash.kafka.errors import KafkaError
from hadash.kafka.values import GroupInfo, GroupMember, Partition
from hadash.lake import snapshots
from hadash.lake.store import Store
from hadash.sentences import fill

TOPICS = {"orders": 6}


def member(number: int, *partitions: int, **more: Any) -> GroupMember:
    own = tuple(Partition("orders", index) for index in partitions)
    values = {"topics": ("orders",), "partitions": own, **more}
    return GroupMember(f"app-{number}-7f3c", f"app-{number}", f"10.0.0.{number}", **values)


def look(*members: GroupMember, assignor: str = "range", racks: frozenset[str] = frozenset()) -> Look:
    lags = [
        Lag(each.topic, each.partition, one.client_id, 90, 100) for one in members for each in one.partitions
    ]
    return Look(GroupInfo("readers", "Stable", 1, members, assignor), TOPICS, racks, lags)


TWO = look(member(1, 0, 1, 2), member(2, 3, 4, 5))


def said(answer: what_if.Answer | None) -> list[str]:
    assert answer is not None
    sentences = [each for each in (answer.refused, answer.why) if each] if answer.refused else answer.said
    return [fill(each.text, each.values) for each in sentences]


class TestWhatIf:
    def test_without_a_question_there_is_no_answer(self) -> None:
        assert what_if.answer(TWO, {}) is None
        assert what_if.answer(TWO, {"change": "everything"}) is None

    def test_one_member_more(self) -> None:
        answer = what_if.answer(TWO, {"change": "more", "member": "app-2-7f3c"})
        assert answer is not None and answer.outcome is not None
        assert {len(mine) for mine in answer.outcome.after.values()} == {2}
        first, second, *_ = said(answer)
        assert first.endswith("of 6 partitions would go from one member to another.")
        assert (
            second == "All members would stop reading until they have joined again: range rebalances eagerly."
        )

    def test_a_cooperative_group_goes_on_reading(self) -> None:
        two = look(member(1, 0, 1, 2), member(2, 3, 4, 5), assignor="cooperative-sticky")
        answer = what_if.answer(two, {"change": "more"})
        assert said(answer)[:2] == [
            "2 of 6 partitions would go from one member to another.",
            "2 partitions would not be read for a moment, all others go on.",
        ]

    def test_one_member_fewer(self) -> None:
        answer = what_if.answer(TWO, {"change": "fewer", "member": "app-1-7f3c"})
        assert answer is not None and answer.outcome is not None
        assert [len(mine) for mine in answer.outcome.after.values()] == [6]

    def test_more_members_than_partitions_are_idle(self) -> None:
        many = look(*(member(number, number) for number in range(6)))
        assert "1 of 7 members would have nothing to read." in said(what_if.answer(many, {"change": "more"}))

    def test_more_partitions(self) -> None:
        answer = what_if.answer(TWO, {"change": "partitions", "topic": "orders", "count": "8"})
        assert answer is not None and answer.outcome is not None
        assert sum(len(mine) for mine in answer.outcome.after.values()) == 8

    @pytest.mark.parametrize(
        ("asked", "text"),
        [
            ({"change": "fewer", "member": "gone"}, "The group has no gone (any more). Choose another one."),
            ({"change": "partitions", "topic": "orders", "count": "2"}, "orders has 6 partitions already: "
                                                                        "Kafka can only add some."),
            ({"change": "partitions", "topic": "orders", "count": "²"}, "A Topic has from 1 to 10000 partitions."),
            ({"change": "partitions", "topic": "orders", "count": "9" * 40}, "A Topic has from 1 to 10000 partitions."),
            ({"change": "partitions", "topic": "other", "count": "9"}, "The group has no other (any more). "
                                                                       "Choose another one."),
        ],
    )  # fmt: skip
    def test_what_makes_no_sense_is_refused_with_the_reason(self, asked: dict[str, str], text: str) -> None:
        assert said(what_if.answer(TWO, asked)) == [text]

    def test_what_nobody_knows_is_not_made_up(self) -> None:
        silent = look(member(1, 0, topics=None))
        assert said(what_if.answer(silent, {"change": "more"})) == [
            "Nobody knows what would come of it.",
            "app-1 does not say what it subscribes to.",
        ]
        stranger = look(member(1, 0), assignor="my-own")
        assert said(what_if.answer(stranger, {"change": "more"}))[0].startswith(
            "Nobody knows what would come of it"
        )
        racked = look(member(1, 0, rack="a"), racks=frozenset({"a", "b"}))
        assert said(what_if.answer(racked, {"change": "more"}))[0].startswith(
            "Nobody knows what would come of it"
        )

    def test_a_group_without_members_has_nothing_to_assign(self) -> None:
        assert said(what_if.answer(look(), {"change": "more"})) == [
            "The group has no members now: there is nothing to assign."
        ]


def test_of_a_partition_that_nobody_can_tell_of_the_lag_is_not_known() -> None:
    assert Lag("orders", 0, "a", 90, 100).records == 10
    assert Lag("orders", 0, "a", None, 100).records is None
    assert Lag("orders", 0, "a", 90, None).records is None
    assert Lag("orders", 0, "a", 110, 100).records == 0
    half = Look(
        TWO.info, TOPICS, frozenset(), [Lag("orders", 0, "a", 90, 100), Lag("orders", 1, "a", None, 5)]
    )
    assert half.total is None
    assert TWO.total == 60


@pytest.mark.stack
@pytest.mark.django_db
class TestPages:
    @pytest.fixture
    def lake(self, settings: Any, tmp_path: Path) -> Store:
        settings.LAKE = str(tmp_path / "lake")
        return Store(settings.LAKE)

    @pytest.fixture
    def listed(self, lake: Store, fleet: SimpleNamespace) -> None:
        groups = [
            {"cluster": cluster, "group": name, "state": "Stable", "protocol": "range", "coordinator": 1}
            for cluster, name in (
                ("east", "readers"),
                ("east", "审计/组"),
                ("west", "others"),
                ("elsewhere", "secret"),
            )
        ]
        members = [
            {
                "cluster": "east",
                "group": "readers",
                "member_id": f"a-{number}",
                "client_id": "a",
                "host": f"h{number}",
                "partitions": [f"orders-{number}", f"big-orders-{number}"][: number + 1],
                "topics": ["orders"],
            }
            for number in range(2)
        ]
        snapshots.write(lake, datetime.now(UTC), {"groups": groups, "members": members})

    def test_before_the_first_snapshot_it_says_where_groups_come_from(
        self, as_vera: Client, lake: Store, fleet: Any, engines: Any
    ) -> None:
        assert "No snapshot has been taken yet." in as_vera.get(reverse("groups")).content.decode()

    def test_the_list_has_the_groups_of_the_clusters_that_one_may_see(
        self, as_vera: Client, listed: None, engines: Any
    ) -> None:
        text = as_vera.get(reverse("groups")).content.decode()
        assert "readers" in text and "审计/组" in text and "others" in text
        assert "secret" not in text, "no pair that she may see has that cluster"
        assert reverse("group", args=["east", "审计/组"]) in text

    def test_it_is_searched_ordered_and_taken_along(
        self, as_vera: Client, listed: None, engines: Any
    ) -> None:
        text = as_vera.get(reverse("groups"), {"q": "READ"}).content.decode()
        assert "readers" in text and "others" not in text
        text = as_vera.get(reverse("groups"), {"cluster": "west"}).content.decode()
        assert "others" in text and "readers" not in text
        answer = as_vera.get(reverse("groups"), {"sort": "-most", "format": "csv"})
        lines = b"".join(answer.streaming_content).decode().splitlines()
        assert lines[1] == "east,readers,Stable,range,2,2,2,3,1,2"

    @pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance"])
    def test_what_a_broker_does_not_tell_of_a_group_that_rebalances_is_not_nothing(
        self, as_vera: Client, lake: Store, fleet: Any, engines: Any, state: str
    ) -> None:
        group = {"cluster": "east", "group": "g", "state": state, "protocol": "", "coordinator": 1}
        member = {"cluster": "east", "group": "g", "member_id": "a", "client_id": "a", "host": "h"}
        nothing: dict[str, list[str]] = {"partitions": [], "topics": []}
        snapshots.write(lake, datetime.now(UTC), {"groups": [group], "members": [member | nothing]})
        answer = as_vera.get(reverse("groups"), {"sort": "-topics", "format": "csv"})
        lines = b"".join(answer.streaming_content).decode().splitlines()
        assert lines[1] == f"east,g,{state},,1,1,,,,"
        assert "–" in as_vera.get(reverse("groups")).content.decode()

    def test_a_lake_that_cannot_be_read_is_said(
        self, as_vera: Client, fleet: Any, engines: Any, settings: Any, tmp_path: Path
    ) -> None:
        settings.LAKE = "strange://nowhere"
        assert "The lake cannot be read" in as_vera.get(reverse("groups")).content.decode()

    @pytest.fixture
    def told(self, monkeypatch: pytest.MonkeyPatch, fleet: Any, engines: Any) -> None:
        monkeypatch.setattr(views, "look_at", lambda cluster, name: TWO if name == "readers" else None)

    def test_a_group_with_its_members_and_lag(self, as_vera: Client, told: None) -> None:
        text = as_vera.get(reverse("group", args=["east", "readers"])).content.decode()
        assert "app-1" in text and "10.0.0.2" in text and "60 records" in text
        answer = as_vera.get(reverse("group", args=["east", "readers"]), {"csv": "lag"})
        assert b"".join(answer.streaming_content).decode().splitlines()[1] == "orders,0,app-1,90,100,10"
        answer = as_vera.get(reverse("group", args=["east", "readers"]), {"csv": "members"})
        head, *members = b"".join(answer.streaming_content).decode().splitlines()
        assert head == "client_id,instance_id,host,partitions,lag,has,subscribes_to"
        assert [line.split(",")[0] for line in members] == ["app-1", "app-2"]

    def test_it_leads_on_to_its_appids_topics_and_the_graph(
        self, as_vera: Client, told: None, fleet: SimpleNamespace
    ) -> None:
        now = timezone.now()
        for appid in ("shop", "not-registered"):
            Access.objects.create(
                pair=fleet.pair, appid=appid, client_id="c", kind="group", resource="readers", cluster="east",
                first_seen=now, last_seen=now,
            )  # fmt: skip
        text = as_vera.get(reverse("group", args=["east", "readers"])).content.decode()
        number = AppID.objects.get(pair=fleet.pair, name="shop").pk
        assert (
            f'<a href="{reverse("appid", args=[number])}">shop</a>' in text and "not-registered" not in text
        )
        graph = reverse("graph-focus")
        assert f'href="{graph}?pair=main&amp;kind=group&amp;name=readers"' in text
        assert f'href="{graph}?pair=main&amp;kind=topic&amp;name=orders"' in text

    def test_a_question_is_answered_and_stands_in_the_address(self, as_vera: Client, told: None) -> None:
        asked = {"change": "fewer", "member": "app-1-7f3c"}
        text = as_vera.get(reverse("group", args=["east", "readers"]), asked).content.decode()
        assert "3 of 6 partitions would go from one member to another." in text
        answer = as_vera.get(reverse("group", args=["east", "readers"]), {**asked, "csv": "moves"})
        lines = b"".join(answer.streaming_content).decode().splitlines()
        assert lines[1] == "orders-0,app-1 (10.0.0.1),app-2 (10.0.0.2)"

    @pytest.mark.parametrize("address", [("east", "nobody"), ("elsewhere", "readers")])
    def test_one_that_there_is_not_or_that_one_may_not_see(
        self, as_vera: Client, told: None, address: tuple[str, str]
    ) -> None:
        assert as_vera.get(reverse("group", args=address)).status_code == 404

    def test_a_cluster_that_does_not_answer_is_said(
        self, as_vera: Client, fleet: Any, engines: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away(cluster: Any, name: str) -> None:
            raise KafkaError("east cannot be reached")

        monkeypatch.setattr(views, "look_at", away)
        answer = as_vera.get(reverse("group", args=["east", "readers"]))
        assert answer.status_code == 503
        assert "nobody knows now who is in the group" in answer.content.decode()
