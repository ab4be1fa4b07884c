"""The small parts: generated passwords, the way for PostgreSQL's user, Java's properties."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

import pytest

from hadash_sandbox import kafka, secrets, unprivileged


def test_passwords_are_generated_once_and_kept_private(tmp_path: Path) -> None:
    store = tmp_path / "secrets.json"
    first = secrets.passwords(["admin", "postgres"], store)
    assert first["admin"] != first["postgres"]
    assert len(first["admin"]) >= 32
    assert secrets.passwords(["postgres", "admin", "other"], store).items() >= first.items()
    assert stat.S_IMODE(store.stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root lends PostgreSQL another user")
def test_only_blocked_folders_become_passable(tmp_path: Path) -> None:
    closed, opened = tmp_path / "closed", tmp_path / "closed" / "open"
    opened.mkdir(parents=True)
    closed.chmod(0o700)
    opened.chmod(0o755)
    said: list[str] = []
    unprivileged.open_way(opened / "data", pwd.getpwnam("nobody"), said.append)
    assert stat.S_IMODE(closed.stat().st_mode) == 0o701  # entered, not listed
    assert stat.S_IMODE(opened.stat().st_mode) == 0o755
    assert any(line.startswith(f"Made {closed} passable") for line in said)
    assert not any(str(opened) in line for line in said)


def test_ordinary_users_need_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert unprivileged.ordinary_user() is None


def test_a_quote_in_a_password_does_not_end_it() -> None:
    assert kafka.plain_jaas("shop", 'a"b\\c').endswith('username="shop" password="a\\"b\\\\c";')
    assert kafka.render({"key": 'a\\"b'}) == 'key=a\\\\"b\n'
