"""What beat had to pick up stands on the overview and in the API, where somebody looks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.urls import reverse

from dashboard.parts import signed_in
from hadash.switching.handovers import counting
from hadash.switching.models.handovers import Way, Work

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_fault_is_shown(
    people: SimpleNamespace, fleet: SimpleNamespace, engines: Any, language: str
) -> None:
    for _ in range(2):
        counting.count(Work.STAGE, Way.NEVER_TAKEN)
    counting.count(Work.STAGE, Way.HANDED_OVER)
    counting.count(Work.RUN, Way.NEVER_TAKEN)
    client = signed_in(people.vera, language)
    text = client.get(reverse("overview")).content.decode()
    notice = text.split('id="handovers"')[1].split("</div>")[0]
    assert '<b class="num">2</b>' in notice
    assert notice.count("<time") == 1, "runs of jobs wait for each other"
    if language == "en":
        assert "stages of switches: picked up: no worker had taken it" in notice
    answer = client.get("/api/v1/handovers/").json()
    assert [(each["work"], each["way"], each["count"]) for each in answer] == [
        ("run", "never_taken", 1),
        ("stage", "handed_over", 1),
        ("stage", "never_taken", 2),
    ]


def test_without_a_fault_nothing_is_shown(
    people: SimpleNamespace, fleet: SimpleNamespace, engines: Any
) -> None:
    counting.count(Work.STAGE, Way.HANDED_OVER)
    counting.count(Work.STAGE, Way.RETRIED)
    assert 'id="handovers"' not in signed_in(people.vera).get(reverse("overview")).content.decode()
