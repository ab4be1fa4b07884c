"""Which Topics of a switch its mirrors still have to copy, as its page and its stream show it."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hadash.mirroring.models import LagSample, Mirror
from hadash.presentation.behind import TopicBehind, of_switch, topics_of
from hadash.switching.models.switches import Switch

TOPICS = ("clicks", "orders")


def mirror_of(*known: str, **seconds: float) -> Mirror:
    ends = [[*name.rsplit("-", 1), 100] for name in known]
    return Mirror(name="shop", topics=TOPICS, known_ends=ends, partition_seconds=seconds)


class TestOneMirror:
    def test_a_topic_lacks_what_its_partitions_lack_together(self) -> None:
        mirror = mirror_of("clicks-0", "orders-0", "orders-1")
        mirror.partition_seconds = {"orders-0": 2.0, "orders-1": 3.5}
        sample = LagSample(partitions={"clicks-0": 0, "orders-0": 4, "orders-1": 3})
        assert topics_of(mirror, TOPICS, sample) == [
            TopicBehind("clicks", "shop", 0, 0.0),
            TopicBehind("orders", "shop", 7, 3.5),
        ]

    def test_a_topic_of_which_one_partition_is_not_known_is_not_known(self) -> None:
        mirror = mirror_of("clicks-0", "orders-0", "orders-1")
        [_clicks, orders] = topics_of(mirror, TOPICS, LagSample(partitions={"clicks-0": 0, "orders-0": 0}))
        assert orders == TopicBehind("orders", "shop", None, None)

    def test_without_a_sample_of_now_nothing_is_known(self) -> None:
        found = topics_of(mirror_of("clicks-0", "orders-0"), TOPICS, None)
        assert [row.records for row in found] == [None, None]

    def test_a_topic_that_nobody_has_looked_at_is_not_known(self) -> None:
        assert [row.records for row in topics_of(mirror_of(), TOPICS, LagSample(partitions={}))] == [
            None,
            None,
        ]


@pytest.mark.stack
@pytest.mark.django_db
class TestASwitch:
    @pytest.fixture
    def running(self, make_switch: Any, fleet: SimpleNamespace) -> Switch:
        switch: Switch = make_switch("running", stage="drain")
        LagSample.objects.all().delete()
        Mirror.objects.filter(pk=fleet.mirror.pk).update(
            name=switch.the_plan().mirrors[0],
            topics=list(switch.the_plan().topics),
            known_ends=[[topic, 0, 100] for topic in switch.the_plan().topics],
        )
        return switch

    def test_its_page_names_the_topics_that_hold_it_up(
        self, as_vera: Client, running: Switch, fleet: SimpleNamespace, engines: Any
    ) -> None:
        topic = running.the_plan().topics[0]
        LagSample.objects.create(
            mirror=fleet.mirror, at=timezone.now(), records=9, partitions={f"{topic}-0": 9}
        )
        assert of_switch(running).rows[0] == TopicBehind(topic, running.the_plan().mirrors[0], 9, None, (9,))
        page = as_vera.get(reverse("switch", args=[running.key])).content.decode()
        assert "Still to be copied" in page and f"?topic={topic}" in page

    def test_each_topic_has_its_trend_and_all_of_them_are_a_csv(
        self, as_vera: Client, running: Switch, fleet: SimpleNamespace, engines: Any, monkeypatch: Any
    ) -> None:
        """Samples are read once: of those that the process knows only newer ones."""
        Switch.objects.filter(pk=running.pk).update(plan={**running.plan, "topics": ["carts", "stock"]})
        Mirror.objects.update(topics=["carts", "stock"], known_ends=[["carts", 0, 100], ["stock", 0, 100]])
        running = Switch.objects.get(pk=running.pk)
        plan, now = running.the_plan(), timezone.now()
        topic = f"{plan.topics[0]}-0"

        def sample(seconds: float, **partitions: int) -> None:
            at = now - timedelta(seconds=seconds)
            LagSample.objects.create(mirror=fleet.mirror, at=at, records=1, partitions=partitions)

        for seconds, records in ((130, 999), (4, 30), (3, 20)):
            sample(seconds, **{topic: records})
        trends = {row.topic: row.trend for row in of_switch(running).rows}
        assert trends == {"carts": (30, 20), "stock": (None, None)}, "nothing that is older than two minutes"
        sample(1, **{topic: 7})
        monkeypatch.setattr("hadash.presentation.behind.SHOWN", 1)
        assert of_switch(running).left_out == len(plan.topics) - 1 > 0
        address = reverse("switch", args=[running.key])
        page = as_vera.get(address).content.decode()
        assert f"{address}?csv=behind" in page
        answer = as_vera.get(address, {"csv": "behind"})
        lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert len(lines) == 1 + len(plan.topics) and f"{plan.topics[0]},{plan.mirrors[0]},7," in lines

    def test_when_all_is_copied_it_says_so(
        self, as_vera: Client, running: Switch, fleet: SimpleNamespace, engines: Any
    ) -> None:
        whole = {f"{topic}-0": 0 for topic in running.the_plan().topics}
        LagSample.objects.create(mirror=fleet.mirror, at=timezone.now(), records=0, partitions=whole)
        page = as_vera.get(reverse("switch", args=[running.key])).content.decode()
        assert "Nothing is left to be copied." in page

    def test_one_that_has_ended_copies_nothing_any_more(
        self, as_vera: Client, finished: Switch, engines: Any
    ) -> None:
        assert (
            "Still to be copied" not in as_vera.get(reverse("switch", args=[finished.key])).content.decode()
        )
