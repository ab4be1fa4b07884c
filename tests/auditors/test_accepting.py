"""Differences that people accept do not count, those that are found later do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dashboard.conftest import fleet  # noqa: F401
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from hadash.accounts.roles import ensure_user
from hadash.audit.models import Entry
from hadash.auditing.findings import Kind
from hadash.auditors import accepting, selectors
from hadash.auditors.ledger import Ledger
from hadash.auditors.models import AuditAcceptance, AuditDifference, AuditedPartition
from hadash.auditors.places import Held
from hadash.auditors.proofs import Proof
from hadash.mirroring.models import Mirror
from hadash.refusals import Refused

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def olga(db: None) -> Any:
    return ensure_user("olga", "a-long-password", "operator")


@pytest.fixture
def mirror(fleet: SimpleNamespace) -> Mirror:  # noqa: F811
    """Of which three records differ in one partition, and more than are noted in another."""
    now = timezone.now()
    for partition, different, noted in ((0, 3, 3), (1, 5_000, 2)):
        row = AuditedPartition.objects.create(
            pair=fleet.pair, topic="carts", partition=partition, source=fleet.east, source_begin=0, target_begin=0,
            source_next=9_000, target_next=9_000, different=different, compared_at=now, updated_at=now, claim=1,
        )  # fmt: skip
        for offset in range(noted):
            AuditDifference.objects.create(
                audited=row, kind=Kind.HEADERS.value, source=fleet.east, source_offset=offset, target_offset=offset,
                found_at=now,
            )  # fmt: skip
    found: Mirror = fleet.mirror
    return found


def row(partition: int = 0) -> AuditedPartition:
    return AuditedPartition.objects.get(partition=partition)


def test_all_are_accepted_also_those_that_were_only_counted(mirror: Mirror, olga: Any) -> None:
    assert selectors.standing(mirror).proof is Proof.DIFFERENT and selectors.stops_switches(mirror)
    accepting.accept(olga, mirror, "The old mirror lost headers.")
    standing = selectors.standing(mirror)
    assert standing.proof is Proof.EQUAL and (standing.differences, standing.accepted) == (0, 5_003)
    assert str(standing.sentence).endswith("Accepted differences: 5003.")
    assert not selectors.stops_switches(mirror) and selectors.differences_by_pair() == {}
    entry = Entry.objects.latest("pk")
    assert (entry.verb, entry.details["count"]) == ("accept differences", 5_003)


def test_what_is_found_later_counts(mirror: Mirror, olga: Any) -> None:
    accepting.accept(olga, mirror, "Known.")
    AuditedPartition.objects.filter(partition=0).update(different=4)
    AuditDifference.objects.create(
        audited=row(), kind=Kind.MISSING.value, source=row().source, source_offset=99, target_offset=99,
        found_at=timezone.now(),
    )  # fmt: skip
    standing = selectors.standing(mirror)
    assert standing.proof is Proof.DIFFERENT and standing.differences == 1
    assert selectors.stops_switches(mirror)


def test_some_are_accepted_by_name(mirror: Mirror, olga: Any) -> None:
    one = AuditDifference.objects.filter(audited=row()).first()
    assert one is not None
    accepting.accept(olga, mirror, "A test.", only=[one.pk])
    assert (row().open_differences, row(1).open_differences) == (2, 5_000)
    with pytest.raises(Refused, match="no difference that is not accepted yet"):
        accepting.accept(olga, mirror, "Again.", only=[one.pk])


def test_an_acceptance_is_taken_back(mirror: Mirror, olga: Any) -> None:
    made = accepting.accept(olga, mirror, "Known.")
    for _ in range(2):
        accepting.withdraw(olga, mirror, made.pk)
    assert (row().open_differences, row(1).open_differences) == (3, 5_000)
    assert AuditDifference.objects.filter(acceptance=None).count() == 5
    assert not AuditAcceptance.objects.exists()


def test_accepted_ones_whose_records_are_gone_take_their_acceptance_along(mirror: Mirror, olga: Any) -> None:
    accepting.accept(olga, mirror, "Known.")
    claim = SimpleNamespace(row=row().pk, number=1)
    held: Any = Held(source_start=2, source_end=9_000, target_start=2, target_end=9_000)
    Ledger(mirror.pair, "auditor-1").prune(claim, held)  # type: ignore[arg-type]
    assert (row().different, row().accepted, row().open_differences) == (1, 1, 0)


@pytest.mark.parametrize("role", ["viewer", "requester", "approver"])
def test_others_accept_nothing(mirror: Mirror, role: str) -> None:
    vera = ensure_user("vera", "a-long-password", role)
    with pytest.raises(PermissionDenied):
        accepting.accept(vera, mirror, "Known.")
    with pytest.raises(PermissionDenied):
        accepting.withdraw(vera, mirror, 1)


def test_without_a_reason_nothing_is_accepted(mirror: Mirror, olga: Any) -> None:
    with pytest.raises(Refused, match="Say why"):
        accepting.accept(olga, mirror, " ")
    assert row().accepted == 0
