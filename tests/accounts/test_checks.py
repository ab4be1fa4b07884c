"""Wrong settings are told at the start."""

from __future__ import annotations

from typing import Any

import pytest

from hadash.accounts.checks import provider_is_whole
from hadash.settings import mapping

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
