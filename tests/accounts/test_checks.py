"""Wrong settings are told at the start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hadash.accounts.checks import provider_is_whole
from hadash.settings import mapping

ROOT = Path(__file__).resolve().parents[2]

WHOLE = {
    "OIDC_ISSUER": "https://sso.example.org/realms/main",
    "OIDC_RP_CLIENT_ID": "hadash",
    "OIDC_RP_CLIENT_SECRET": "secret",
    "OIDC_ROLES": {"ops": "operator"},
    "OIDC_DEFAULT_ROLE": "",
}


@pytest.mark.parametrize(
    ("changes", "ids"),
    [
        ({}, []),
        (dict.fromkeys(["OIDC_ISSUER", "OIDC_RP_CLIENT_ID", "OIDC_RP_CLIENT_SECRET"], ""), []),
        ({"OIDC_RP_CLIENT_SECRET": ""}, ["hadash.E002"]),
        ({"OIDC_ISSUER": ""}, ["hadash.E002"]),
        ({"OIDC_ISSUER": "http://sso.example.org"}, ["hadash.E003"]),
        ({"OIDC_ISSUER": "http://127.0.0.1:8080/realms/main"}, []),
        ({"OIDC_ISSUER": "sso.example.org"}, ["hadash.E003"]),
        ({"OIDC_ROLES": {"ops": "operator", "x": "king"}}, ["hadash.E004"]),
        ({"OIDC_DEFAULT_ROLE": "operator"}, ["hadash.E005"]),
        ({"OIDC_DEFAULT_ROLE": "viewer", "OIDC_ROLES": {}}, []),
        ({"OIDC_ROLES": {}}, ["hadash.E006"]),
    ],
)
def test_what_is_wrong_is_said(settings: Any, changes: dict[str, Any], ids: list[str]) -> None:
    for name, value in {**WHOLE, **changes}.items():
        setattr(settings, name, value)
    assert [error.id for error in provider_is_whole(None)] == ids


@pytest.mark.parametrize("text", ["{", "[]", '{"ops": 1}', "ops=operator"])
def test_a_map_that_is_none(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("HADASH_OIDC_ROLES", text)
    with pytest.raises(ValueError, match="HADASH_OIDC_ROLES"):
        mapping("HADASH_OIDC_ROLES")


@pytest.mark.parametrize(
    "arguments",
    [
        ("-c", "import hadash.asgi"),
        ("-m", "celery", "-A", "tasks", "worker", "--pool", "solo"),
        ("-m", "celery", "-A", "tasks", "beat", "-s", "beat-schedule"),
    ],
    ids=["web", "worker", "beat"],
)
def test_no_process_serves_with_a_key_that_everybody_knows(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """Not only ``manage.py`` looks: it is not what serves."""
    environment = {name: value for name, value in os.environ.items() if name != "HADASH_SECRET_KEY"}
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=tmp_path,  # beat writes what it has scheduled
        env={**environment, "HADASH_ALLOWED_HOSTS": "hadash.example.org", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 1
    assert "HADASH_SECRET_KEY is not set, but HADASH_ALLOWED_HOSTS lets others in." in ended.stderr
