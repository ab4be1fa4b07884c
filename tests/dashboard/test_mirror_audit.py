"""The page of a mirror says what auditors have found."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.parts import PASSWORD, page, signed_in
from hadash.accounts.roles import ensure_user
from hadash.audit.models import Entry
from hadash.auditors import versions
from hadash.auditors.models import AuditDifference, AuditedPartition
from hadash.dashboard.templatetags.audits import part_words
from hadash.kafka.errors import KafkaError
from hadash.kafka.one_record import Content
from hadash.kafka.values import Partition

pytestmark = pytest.mark.stack


@pytest.fixture
def as_ada(people: SimpleNamespace) -> Client:
    """An administrator."""
    return signed_in(ensure_user("ada", PASSWORD, "administrator", "Ada Admin"))


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


def test_windows_of_record_time_are_there_for_other_programs(as_vera: Client, fleet: SimpleNamespace) -> None:
    audited(fleet, windows=[[1_800_000_000, 40, 7, 40, 7], [1_800_000_600, 12, 8, 11, 9]])
    assert "csv=windows" in page(as_vera, "mirror", "main", "shop")
    assert [line.split(",", 3)[3] for line in csv_of(as_vera, "windows")[1:]] == [
        "40,7,40,7,True",
        "12,8,11,9,False",
    ]


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
        "headers", "carts", "0", "east", "812", "815", "headers time", "", "",
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


class TestBothVersions:
    HELD = {
        "east": Content(812, b"key", "购物车".encode(), (("trace", b"\xff\x01"),), 1_700_000_000_000),
        "west": Content(815, b"key", b"another", (), 1_700_000_000_000),
    }

    @pytest.fixture
    def found(self, fleet: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> AuditDifference:
        def read(access: Any, partition: Partition, offset: int, seconds: float) -> Content | None:
            held = self.HELD[access.name]
            return held if held.offset == offset else None

        monkeypatch.setattr(versions, "read_one", read)
        return AuditDifference.objects.create(
            audited=audited(fleet, different=1), kind="different", source=fleet.east, source_offset=812,
            target_offset=815, parts=["value"], found_at=timezone.now(),
        )  # fmt: skip

    def test_an_administrator_sees_them_and_that_is_noted(
        self, as_ada: Client, found: AuditDifference
    ) -> None:
        text = page(as_ada, "mirror-difference", "main", "shop", found.pk)
        assert "购物车" in text and "another" in text and "ff 01" in text and "trace" in text
        entry = Entry.objects.latest("number")
        assert (entry.verb, entry.subject) == ("see record", "mirror shop (carts-0, east 812)")

    def test_others_see_that_they_differ_and_no_content(
        self, as_olga: Client, found: AuditDifference
    ) -> None:
        text = page(as_olga, "mirror-difference", "main", "shop", found.pk)
        assert "购物车" not in text and "another" not in text and "trace" not in text
        assert "9 bytes" in text and "7 bytes" in text
        assert not Entry.objects.filter(verb="see record").exists()

    def test_a_side_that_never_held_it_is_not_asked(self, as_ada: Client, found: AuditDifference) -> None:
        found.kind = "missing"
        found.save()
        text = page(as_ada, "mirror-difference", "main", "shop", found.pk)
        assert "This side does not hold the record." in text and "another" not in text

    def test_a_record_that_is_gone_is_said_to_be(self, as_ada: Client, found: AuditDifference) -> None:
        found.source_offset = 5
        found.save()
        assert "The record is not there any more." in page(
            as_ada, "mirror-difference", "main", "shop", found.pk
        )

    def test_a_cluster_that_is_away_hides_nothing_of_the_other(
        self, as_ada: Client, found: AuditDifference, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def read(access: Any, *_: Any) -> Content:
            if access.name == "east":
                raise KafkaError("Cluster east: no broker answers.")
            return self.HELD["west"]

        monkeypatch.setattr(versions, "read_one", read)
        text = page(as_ada, "mirror-difference", "main", "shop", found.pk)
        assert "no broker answers" in text and "another" in text

    def test_one_that_is_not_there_any_more_is_404(self, as_ada: Client, found: AuditDifference) -> None:
        found.delete()
        assert as_ada.get(reverse("mirror-difference", args=["main", "shop", 1])).status_code == 404


def test_a_difference_is_accepted_and_taken_back(fleet: SimpleNamespace, people: SimpleNamespace) -> None:
    row = audited(fleet, different=2)
    first, second = (
        AuditDifference.objects.create(
            audited=row, kind="headers", source=fleet.east, source_offset=offset, target_offset=offset,
            found_at=timezone.now(),
        )
        for offset in (5, 6)
    )  # fmt: skip
    olga = signed_in(ensure_user("olga", PASSWORD, "operator"))
    address = reverse("mirror-difference", args=["main", "shop", first.pk])
    text = olga.get(address).content.decode()
    assert "Accept it" in text and "Accept all 2" in " ".join(text.split())
    refused = olga.post(f"{address}accept/", {"reason": ""})
    assert refused.status_code == 409 and "Say why" in refused.content.decode()
    olga.post(f"{address}accept/", {"reason": "旧镜像丢失了消息头"})
    assert "旧镜像丢失了消息头" in page(olga, "mirror", "main", "shop")
    text = olga.get(address).content.decode()
    assert "Take the acceptance back" in text
    first.refresh_from_db()
    assert first.acceptance is not None
    olga.post(reverse("withdraw-differences", args=["main", "shop", first.acceptance.pk]))
    olga.post(
        reverse("accept-difference", args=["main", "shop", second.pk]), {"reason": "Known.", "all": "on"}
    )
    row.refresh_from_db()
    assert row.open_differences == 0
    assert "Known." in csv_of(olga, "differences")[1]


def test_viewers_accept_nothing(as_vera: Client, fleet: SimpleNamespace) -> None:
    row = audited(fleet, different=1)
    found = AuditDifference.objects.create(
        audited=row,
        kind="headers",
        source=fleet.east,
        source_offset=5,
        target_offset=5,
        found_at=timezone.now(),
    )
    address = reverse("mirror-difference", args=["main", "shop", found.pk])
    assert "Accept it" not in as_vera.get(address).content.decode()
    assert as_vera.post(f"{address}accept/", {"reason": "x"}).status_code == 403
