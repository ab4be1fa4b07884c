"""Full audits on the page of a mirror, and the page of one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.parts import page
from hadash.auditing.findings import Kind
from hadash.auditing.whole import Compared, as_json
from hadash.full_audits.machine import Status
from hadash.full_audits.models import FullAudit
from hadash.sentences import say

pytestmark = pytest.mark.stack


@pytest.fixture(autouse=True)
def lake(settings: Any) -> None:
    settings.LAKE = "/a/lake"


def asked(fleet: SimpleNamespace, people: SimpleNamespace, **values: Any) -> FullAudit:
    return FullAudit.objects.create(mirror=fleet.mirror, topic="carts", asked_by=people.olga, **values)


def done(fleet: SimpleNamespace, people: SimpleNamespace, **values: Any) -> FullAudit:
    now = timezone.now()
    partitions = [
        as_json(0, Compared((1_000, 9_000), (1_003, 9_003), 7_999, (1_000, 0), 12, {Kind.HEADERS: 1})),
        as_json(1, Compared(older=(0, 5))),
    ]
    known: dict[str, Any] = {
        "status": Status.DONE.value, "began_at": now, "read_at": now, "ended_at": now, "source": fleet.east,
        "offsets": 8_012, "equal": 7_999, "different": 1, "partitions": partitions,
    }  # fmt: skip
    return asked(fleet, people, **{**known, **values})


def test_somebody_asks_for_one(as_olga: Client, fleet: SimpleNamespace) -> None:
    assert "Compare the whole Topic" in page(as_olga, "mirror", "main", "shop")
    answer = as_olga.post(reverse("ask-full-audit", args=["main", "shop"]), {"topic": " carts "})
    made = FullAudit.objects.get()
    assert (made.topic, made.current, answer["Location"]) == (
        "carts",
        Status.WAITING,
        made.get_absolute_url(),
    )
    text = page(as_olga, "full-audit", "main", "shop", made.pk)
    assert "Full audit of carts" in text and "waits for a worker of the queue pipeline" in text
    assert 'hx-trigger="every 1s"' in text and "Cancel it" in text


def test_what_is_refused_is_said(as_olga: Client, fleet: SimpleNamespace) -> None:
    answer = as_olga.post(reverse("ask-full-audit", args=["main", "shop"]), {"topic": "订单"}, follow=True)
    assert "Mirror shop does not copy Topic 订单." in answer.content.decode()
    assert not FullAudit.objects.exists()


def test_who_may_not_ask_sees_them(as_vera: Client, fleet: SimpleNamespace, people: SimpleNamespace) -> None:
    made = done(fleet, people)
    text = page(as_vera, "mirror", "main", "shop")
    assert made.get_absolute_url() in text and "Compare the whole Topic" not in text
    assert "Cancel it" not in page(as_vera, "full-audit", "main", "shop", made.pk)
    answer = as_vera.post(reverse("ask-full-audit", args=["main", "shop"]), {"topic": "carts"})
    assert answer.status_code == 403 and "Olga Operator" in answer.content.decode()


def test_one_that_runs_says_how_far_it_is(
    as_olga: Client, fleet: SimpleNamespace, people: SimpleNamespace
) -> None:
    progress = {"step": "comparing", "done": 3, "total": 8}
    made = asked(fleet, people, status=Status.RUNNING.value, progress=progress)
    text = page(as_olga, "full-audit", "main", "shop", made.pk)
    assert "comparing both sides" in text and "3 / 8" in " ".join(text.split())
    part = as_olga.get(made.get_absolute_url(), headers={"HX-Request": "true"}).content.decode()
    assert part.lstrip().startswith('<div id="live"') and "<html" not in part


def test_one_that_is_done_says_what_differs(
    as_vera: Client, fleet: SimpleNamespace, people: SimpleNamespace
) -> None:
    made = done(fleet, people)
    text = " ".join(page(as_vera, "full-audit", "main", "shop", made.pk).split())
    assert "Records that differ: 1." in text and "differs" in text
    assert "1,000 – 9,000" in text and "1,003 – 9,003" in text
    assert "headers differ: 1" in text
    assert "older than the first record that both sides hold" in text
    assert "the target did not hold them yet" in text and ">12<" in text
    assert "nothing that both sides hold" in text
    assert "hx-trigger" not in text.split('id="live"')[1].split(">")[0]


def test_equal_ones_are_fine(as_vera: Client, fleet: SimpleNamespace, people: SimpleNamespace) -> None:
    made = done(fleet, people, different=0)
    text = page(as_vera, "full-audit", "main", "shop", made.pk)
    assert "All records that both sides hold are equal (records: 7,999)." in text or "7999" in text


def test_where_nothing_is_known_nothing_is_fine(
    as_vera: Client, fleet: SimpleNamespace, people: SimpleNamespace
) -> None:
    made = done(fleet, people, different=0, partitions=[as_json(3, Compared(has_no_place=True))])
    text = " ".join(page(as_vera, "full-audit", "main", "shop", made.pk).split())
    assert "Of partitions 3 nothing is known" in text and "not proved" in text
    assert "no place at which both sides agree" in text


def test_one_that_has_failed_says_why(
    as_vera: Client, fleet: SimpleNamespace, people: SimpleNamespace
) -> None:
    fault = say("%(server)s does not answer.", server="east")
    made = asked(fleet, people, status=Status.FAILED.value, ended_at=timezone.now(), fault=fault)
    assert "It has failed: east does not answer." in page(as_vera, "full-audit", "main", "shop", made.pk)


def test_its_partitions_as_csv(as_vera: Client, fleet: SimpleNamespace, people: SimpleNamespace) -> None:
    answer: Any = as_vera.get(done(fleet, people).get_absolute_url(), {"csv": "partitions"})
    lines = b"".join(answer.streaming_content).decode().removeprefix("\ufeff").splitlines()
    assert lines[1:] == ["0,1000,9000,1003,9003,7999,1,0,1000,0,12", "1,,,,,0,0,0,0,5,0"]


def test_it_is_cancelled_once(as_olga: Client, fleet: SimpleNamespace, people: SimpleNamespace) -> None:
    made = asked(fleet, people)
    address = reverse("cancel-full-audit", args=["main", "shop", made.pk])
    assert "The full audit is cancelled." in as_olga.post(address, follow=True).content.decode()
    assert FullAudit.objects.get().current is Status.CANCELLED
    assert "This full audit has ended already." in as_olga.post(address, follow=True).content.decode()


def test_one_of_another_mirror_is_not_found(
    as_vera: Client, fleet: SimpleNamespace, people: SimpleNamespace
) -> None:
    assert as_vera.get(reverse("full-audit", args=["main", "shop", 999])).status_code == 404
    assert (
        as_vera.get(reverse("full-audit", args=["main", "nothing", done(fleet, people).pk])).status_code
        == 404
    )
