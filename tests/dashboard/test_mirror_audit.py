"""The page of a mirror says what auditors have found."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.parts import page
from hadash.auditors.models import AuditDifference, AuditedPartition
from hadash.dashboard.templatetags.audits import part_words

pytestmark = pytest.mark.stack


def audited(fleet: SimpleNamespace, partition: int = 0, **values: Any) -> AuditedPartition:
    now = timezone.now()
    known: dict[str, Any] = {
        "source_begin": 0, "target_begin": 0, "source_next": 99_997, "target_next": 99_997, "source_start": 0,
        "source_end": 100_000, "equal": 99_997, "compared_at": now, "updated_at": now, "auditor": "auditor-1",
    }  # fmt: skip
    return AuditedPartition.objects.create(
        pair=fleet.pair, topic="carts", partition=partition, source=fleet.east, **{**known, **values}
    )


def csv_of(client: Client, name: str) -> list[str]:
    answer: Any = client.get(reverse("mirror", args=["main", "shop"]), {"csv": name})
    return b"".join(answer.streaming_content).decode().removeprefix("\ufeff").splitlines()


def test_nobody_has_compared_it(as_vera: Client, fleet: SimpleNamespace) -> None:
    text = page(as_vera, "mirror", "main", "shop")
    assert "No auditor has compared this mirror." in text and "HADASH_AUDITOR_PAIR=main" in text
    assert "Differences" not in text


def test_both_sides_are_proved_equal(as_vera: Client, fleet: SimpleNamespace) -> None:
    audited(fleet)
    text = page(as_vera, "mirror", "main", "shop")
    assert "Proved equal, record by record (partitions: 1)" in text
    assert "99.99 %" in text and "99,997" in text and "auditor-1" in text


def test_what_differs_is_listed(as_vera: Client, fleet: SimpleNamespace) -> None:
    row = audited(fleet, different=1)
    found = AuditDifference.objects.create(
        audited=row, kind="headers", source=fleet.east, source_offset=812, target_offset=815,
        parts=["headers", "time"], found_at=timezone.now(),
    )  # fmt: skip
    text = page(as_vera, "mirror", "main", "shop")
    assert "Both sides differ in 1 of 1 partitions (differences: 1)." in text
    assert "headers differ" in text and ">812<" in text and ">815<" in text
    assert part_words(found) == "headers, time"
    assert csv_of(as_vera, "differences")[1].split(",")[1:] == [
        "headers", "carts", "0", "east", "812", "815", "headers time",
    ]  # fmt: skip


def test_partitions_are_ordered_the_worst_first_or_by_a_column(
    as_vera: Client, fleet: SimpleNamespace
) -> None:
    audited(fleet, 0)
    audited(fleet, 1, different=2)
    audited(fleet, 2, equal=5)

    def shown(**query: str) -> list[str]:
        text = page(as_vera, "mirror", "main", "shop", **query)
        table = text[text.index('id="audit"') :]
        return sorted(("carts-0", "carts-1", "carts-2"), key=lambda name: table.index(f"<code>{name}<"))

    assert shown()[0] == "carts-1"
    assert shown(**{"audit-sort": "equal"})[0] == "carts-2"


def test_it_is_taken_along_as_csv(as_vera: Client, fleet: SimpleNamespace) -> None:
    audited(fleet)
    head, line = csv_of(as_vera, "audit")
    assert head.startswith("topic,partition,proof") and line.startswith("carts,0,equal,0,99997,100000")
