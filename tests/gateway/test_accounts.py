"""The Gateway's own accounts: read whole, or refused with the place that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from hadash.gateway.listeners.accounts import Account, Accounts, BadAccounts, read_accounts

GOOD = """
[lookup.east]
mechanism = "PLAIN"
username = "gateway"
password = "secret"

[appids."shop #1".west]
mechanism = "SCRAM-SHA-512"
username = "shop"
password = "geheim"
"""


def written(folder: Path, text: str, mode: int = 0o600) -> str:
    path = folder / "accounts.toml"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_accounts_by_cluster_and_by_appid(tmp_path: Path) -> None:
    accounts = read_accounts(written(tmp_path, GOOD))
    assert accounts.lookup == {"east": Account("PLAIN", "gateway", "secret")}
    assert accounts.of("shop #1", "west") == Account("SCRAM-SHA-512", "shop", "geheim")
    assert accounts.of("shop #1", "east") is None
    assert accounts.of("other", "west") is None


def test_no_file_is_no_accounts() -> None:
    assert read_accounts("") == Accounts()


def test_a_password_is_in_no_text_of_it(tmp_path: Path) -> None:
    assert "secret" not in repr(read_accounts(written(tmp_path, GOOD)))


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(BadAccounts, match=r"can be read by others: chmod 600 "):
        read_accounts(written(tmp_path, GOOD, mode))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[lookup.east", "cannot be read"),
        ("lookup = 1", "lookup is not a table"),
        ("[lookup]\neast = 1", r"lookup\.east is not a table"),
        ('[lookup.east]\nmechanism = "PLAIN"\nusername = "x"', r"lookup\.east has no password"),
        (GOOD.replace("SCRAM-SHA-512", "GSSAPI"), r"west: mechanism 'GSSAPI' is none of PLAIN, SCRAM"),
        ("[look.east]", "a section 'look'; it may have lookup and appids only"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadAccounts, match=message):
        read_accounts(written(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadAccounts, match=r"HADASH_GATEWAY_ACCOUNTS=.*nowhere cannot be read"):
        read_accounts(str(tmp_path / "nowhere"))
