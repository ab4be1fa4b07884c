"""Two files that belong together, or none. (That they can be put back: tests/e2e/test_restored.py.)"""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import CommandError

from hadash.inventory.management.commands.backup import dump, remove_older

UTC_MOMENT = "2026-11-26T120000Z"


def program(folder: Path, text: str) -> str:
    path = folder / "pg_dump"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


class TestDump:
    def test_the_password_stands_in_no_command_line(self, tmp_path: Path) -> None:
        fake = program(
            tmp_path,
            'for each; do case $each in --file=*) echo "$PGPASSWORD $*" > "${each#--file=}";; esac; done',
        )
        dump(fake, {"HOST": "db1", "NAME": "hadash", "PASSWORD": "geheim"}, tmp_path / "a.dump")
        password, *arguments = (tmp_path / "a.dump").read_text().split()
        assert password == "geheim" and not any("geheim" in each for each in arguments)

    def test_one_that_fails_leaves_nothing(self, tmp_path: Path) -> None:
        fake = program(
            tmp_path,
            'for each; do case $each in --file=*) echo half > "${each#--file=}";; esac; done; echo full >&2; exit 1',
        )
        with pytest.raises(CommandError, match="full"):
            dump(fake, {}, tmp_path / "a.dump")
        assert [path.name for path in tmp_path.iterdir()] == ["pg_dump"]

    def test_without_the_program_it_says_what_to_install(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="client programs"):
            dump(str(tmp_path / "nowhere"), {}, tmp_path / "a.dump")


def test_what_is_old_goes_and_what_is_not_a_backup_stays(tmp_path: Path) -> None:
    names = [
        "zookeeper-2026-10-01T000000Z.json",
        "postgresql-2026-10-01T000000Z.dump",
        "notes.txt",
        "postgresql-mine.dump",
    ]
    for name in [*names, f"postgresql-{UTC_MOMENT}.dump"]:
        (tmp_path / name).touch()
    assert remove_older(tmp_path, datetime(2026, 11, 1, tzinfo=UTC)) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["notes.txt", "postgresql-mine.dump", f"postgresql-{UTC_MOMENT}.dump"]
    )
