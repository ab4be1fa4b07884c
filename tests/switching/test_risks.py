"""Which of what was seen a plan's findings are about: also of clients that move with one Topic only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hadash.governance.catalogue import Code
from hadash.governance.client_risks import Seen
from hadash.governance.findings import Circumstances, findings
from hadash.identity.identity import Identity
from hadash.switching.planning.risks import _moving

from .world import WHOLE

BY_TOPIC = replace(WHOLE, identities=(Identity("shop", topics=("orders",)),), topics=("orders",), groups=())


def codes(*rows: Seen) -> list[Code]:
    return [finding.code for finding in findings(_moving(rows, BY_TOPIC), Circumstances())]


def seen(kind: str, resource: str, client_id: str = "web-1", **details: Any) -> Seen:
    return Seen("shop", client_id, kind, resource, details=details)


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (seen("produce", "orders", transactional=True), Code.TRANSACTIONS),
        (seen("consume", "orders"), Code.SELF_ASSIGNED),
    ],
)
def test_who_moves_with_a_topic_is_named(row: Seen, code: Code) -> None:
    assert codes(row) == [code]


def test_what_it_does_with_other_topics_is_not() -> None:
    assert codes(seen("produce", "carts", transactional=True), seen("consume", "people")) == []


def test_a_member_of_a_group_that_stays_is_no_reader_without_one() -> None:
    """That its group stays is said by itself."""
    joined = {"session_timeout_ms": 45_000}
    assert codes(seen("consume", "orders"), seen("group", "billing", **joined)) == []
    assert codes(seen("consume", "orders"), seen("group", "billing", "another", **joined)) == [
        Code.SELF_ASSIGNED
    ]
