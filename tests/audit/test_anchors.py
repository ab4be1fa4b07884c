"""Signed digests that are kept elsewhere tell when the whole chain was written again."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from hadash.audit.anchors import FOLDER, drop_anchor
from hadash.audit.chain import BEGINNING, digest_of
from hadash.audit.models import Entry, LastAnchor, record, unanchored_since
from hadash.lake.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def owner_of_the_table(db: None) -> None:
    """The owner of the table can switch its trigger off."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE audit_entry DISABLE TRIGGER audit_entry_unchanged")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path))


def write_again(subject: str) -> None:
    """Somebody who may write to the table can make a chain that is whole by itself."""
    previous = BEGINNING
    for entry in Entry.objects.order_by("number"):
        entry.subject, entry.previous = subject, previous
        entry.digest = previous = digest_of(entry.to_json())
        entry.save()


def verify(store: Store, file: Path | None = None) -> None:
    call_command("verify_audit", anchors=store.address, file=file)


def test_a_log_as_it_was_fits(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        record(None, "request", f"switch {number}")
        assert drop_anchor(store) is not None
    verify(store)
    assert "3 anchors" in capsys.readouterr().out


def test_a_chain_that_was_written_again_is_found(store: Store) -> None:
    record(None, "request", "switch 1")
    drop_anchor(store)
    record(None, "approve", "switch 1")
    write_again("switch 7")
    call_command("verify_audit")  # by itself the chain is whole
    with pytest.raises(CommandError, match="Entry 1 is not the one that was there at"):
        verify(store)


def test_a_log_that_was_shortened_is_found(store: Store) -> None:
    for number in range(2):
        record(None, "request", f"switch {number}")
    drop_anchor(store)
    Entry.objects.filter(number=2).delete()
    with pytest.raises(CommandError, match="Entry 2 is not the one that was there"):
        verify(store)


def test_how_long_entries_have_had_no_anchor_is_known(store: Store) -> None:
    assert unanchored_since() is None, "there is no entry"
    first, _second = (record(None, "request", f"switch {number}") for number in range(2))
    assert unanchored_since() == first.at
    drop_anchor(store)
    assert unanchored_since() is None
    third = record(None, "approve", "switch 1")
    assert unanchored_since() == third.at
    LastAnchor.objects.all().delete()
    drop_anchor(store)
    LastAnchor.objects.update(number=1)  # the database was restored, the store was not
    assert drop_anchor(store) is None and unanchored_since() is None, "it is there already"


def test_nothing_new_needs_no_anchor(store: Store) -> None:
    assert drop_anchor(store) is None, "there is no entry"
    record(None, "request", "switch 1")
    assert drop_anchor(store) is not None
    assert drop_anchor(store) is None


@pytest.mark.parametrize(
    "change", [{"digest": "0" * 64}, {"number": 7}, {"signature": "x"}, {"at": "2020-01-01"}]
)
def test_an_anchor_that_somebody_has_made_is_none(
    store: Store, tmp_path: Path, change: dict[str, Any]
) -> None:
    record(None, "request", "switch 1")
    drop_anchor(store)
    (file,) = (tmp_path / FOLDER).iterdir()
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(CommandError, match="its signature does not fit"):
        verify(store)


def test_an_anchor_that_is_missing_is_said(store: Store, tmp_path: Path) -> None:
    for number in range(3):
        record(None, "request", f"switch {number}")
        drop_anchor(store)
    _, second, _ = sorted((tmp_path / FOLDER).iterdir())
    second.unlink()
    with pytest.raises(CommandError, match=f"{second.name} is missing"):
        verify(store)


def test_the_newest_anchor_may_not_be_missing_for_long(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    yesterday = timezone.now() - timedelta(days=1)
    monkeypatch.setattr(timezone, "now", lambda: yesterday)
    record(None, "request", "switch 1")
    verify(store)  # (beat comes in a moment)
    monkeypatch.undo()
    with pytest.raises(CommandError, match="is later than the newest anchor"):
        verify(store)


def test_an_older_export_is_whole_up_to_its_end(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export = tmp_path / "audit.jsonl"
    record(None, "request", "switch 1")
    drop_anchor(store)
    with export.open("w") as file:
        call_command("export_audit", stdout=file)
    record(None, "approve", "switch 1")
    drop_anchor(store)
    verify(store, export)
    assert "1 anchors in" in capsys.readouterr().out
    write_again("switch 7")
    with export.open("w") as file:
        call_command("export_audit", stdout=file)
    with pytest.raises(CommandError, match="Entry 1 is not the one"):
        verify(store, export)
