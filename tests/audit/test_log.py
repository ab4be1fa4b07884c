"""The log in PostgreSQL: it only grows, says who did what, and can be checked and exported."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hadash.audit.models import Entry, exported, head, record

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def olga(db: None) -> User:
    return User.objects.create(username="olga")


@pytest.fixture
def three(olga: User) -> list[Entry]:
    return [
        record(olga, "request", "switch 1", "127.0.0.1", plan={"topics": ["订单"]}),
        record(None, "stage done", "switch 1", effects=[{"effect": "WriteBindings", "answer": 7}]),
        record(olga, "cancel", "switch 1", "::ffff:10.0.0.1"),
    ]


def verified(**options: Any) -> str:
    out = StringIO()
    call_command("verify_audit", stdout=out, **options)
    return out.getvalue()


def test_an_entry_says_who_what_when_and_from_where(three: list[Entry]) -> None:
    first, second, third = exported()
    assert (first["number"], first["actor"], first["verb"], first["subject"], first["address"]) == (
        1,
        "olga",
        "request",
        "switch 1",
        "127.0.0.1",
    )
    assert first["details"] == {"plan": {"topics": ["订单"]}}
    assert (second["actor"], second["previous"]) == ("", first["digest"])
    assert third["address"] == "10.0.0.1"
    assert head() == three[2]


def test_it_is_whole(three: list[Entry]) -> None:
    assert verified() == f"3 entries, all whole. The last digest is {three[2].digest}.\n"
    assert verified(expect=three[0].digest).startswith("3 entries, all whole.")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_entry SET actor_name = 'nobody' WHERE number = 1",
        "DELETE FROM audit_entry WHERE number = 3",
    ],
)
def test_it_only_grows(three: list[Entry], statement: str) -> None:
    with (
        pytest.raises(DatabaseError, match="The audit log only grows"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    assert verified().startswith("3 entries, all whole.")


def test_it_cannot_be_emptied(append_only: None, three: list[Entry]) -> None:
    with (
        pytest.raises(DatabaseError, match="The audit log only grows: TRUNCATE"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("TRUNCATE audit_entry")
    assert Entry.objects.count() == 3


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        (
            "UPDATE audit_entry SET actor_name = 'nobody' WHERE number = 2",
            "Entry 2 was changed after it had been written. The 1 entries before it are whole.",
        ),
        (
            "DELETE FROM audit_entry WHERE number = 2",
            "After entry 1 comes entry 3: one is missing, or one too many.",
        ),
    ],
)
def test_whoever_gets_round_the_database_is_found(three: list[Entry], statement: str, fault: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE audit_entry DISABLE TRIGGER audit_entry_unchanged")
        cursor.execute(statement)
    with pytest.raises(CommandError, match=fault):
        verified()


def test_whoever_cuts_the_end_off_is_found_by_a_digest_that_was_noted(three: list[Entry]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE audit_entry DISABLE TRIGGER audit_entry_unchanged")
        cursor.execute("DELETE FROM audit_entry WHERE number = 3")
    assert verified().startswith("2 entries, all whole.")
    with pytest.raises(CommandError, match="the end was cut off, or it is another log"):
        verified(expect=three[2].digest)


def test_what_is_not_done_is_not_recorded(olga: User) -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        record(olga, "request", "switch 1")
        raise RuntimeError("the request fails")
    record(olga, "request", "switch 2")
    assert [(entry["number"], entry["subject"]) for entry in exported()] == [(1, "switch 2")]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.filterwarnings(
    "ignore::hypothesis.errors.HypothesisDeprecationWarning"
)  # threads of ZooKeeper clients use random meanwhile
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(json_values, st.text(max_size=400))
@example(-0.0, "")
def test_whatever_is_recorded_is_read_again_as_it_was_chained(olga: User, details: Any, subject: str) -> None:
    """PostgreSQL knows no NUL, no infinity, and writes numbers in its own way."""
    record(olga, "request", subject, "not an address", value=details)
    assert "all whole" in verified()


class TestExport:
    def test_the_command_writes_what_can_be_checked_anywhere(
        self, three: list[Entry], tmp_path: Path
    ) -> None:
        out = StringIO()
        call_command("export_audit", stdout=out)
        path = tmp_path / "audit.jsonl"
        path.write_text(out.getvalue())
        assert [json.loads(line)["number"] for line in out.getvalue().splitlines()] == [1, 2, 3]
        assert verified(file=path).startswith("3 entries, all whole.")
        path.write_text(out.getvalue().replace("olga", "nobody", 1))
        with pytest.raises(CommandError, match=r"Entry 1 was changed"):
            verified(file=path)

    def test_a_later_part(self, three: list[Entry]) -> None:
        out = StringIO()
        call_command("export_audit", "--from", "3", stdout=out)
        assert [json.loads(line)["verb"] for line in out.getvalue().splitlines()] == ["cancel"]

    @pytest.mark.parametrize(("text", "why"), [("no json\n", "Line 1 of"), ("[]\n", "Line 1 of")])
    def test_a_file_that_is_none_is_refused(self, tmp_path: Path, text: str, why: str) -> None:
        path = tmp_path / "other.txt"
        path.write_text(text)
        with pytest.raises(CommandError, match=why):
            verified(file=path)

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="cannot be read"):
            verified(file=tmp_path / "nothing")
