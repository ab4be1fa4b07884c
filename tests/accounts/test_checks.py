"""Wrong settings are told at the start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings

from hadash.accounts import checks
from hadash.accounts.checks import (
    cookies_are_for_tls,
    nobody_reads_on_the_way,
    provider_is_whole,
    secret_key_is_set,
)
from hadash.accounts.servers import servers_elsewhere
from hadash.settings.environment import mapping
from hadash.starting import WrongSettings, check_settings

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


HERE = {"HOST": "127.0.0.1", "REDIS_URL": "redis://localhost:6379/0"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, None),
        (
            {"HOST": "db.example.org"},
            "DATABASE_URL names another machine (db.example.org)",
        ),
        ({"REDIS_URL": "redis://:secret@10.0.0.5:6379/0"}, "REDIS_URL names another machine (10.0.0.5)"),
        ({"ZOOKEEPER_HOSTS": "127.0.0.1:2181,zk2:2181/x"}, "ZOOKEEPER_HOSTS names another machine (zk2)"),
        ({"ALLOWED_HOSTS": ["hadash.example.org"]}, "HADASH_ALLOWED_HOSTS lets others in"),
        ({"ZOOKEEPER_HOSTS": "zk1:2181", "SECRET_KEY": "a key of its own"}, None),
    ],
)
def test_a_key_that_everybody_knows_is_for_this_machine_only(
    settings: Any, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], said: str | None
) -> None:
    settings.SECRET_KEY = settings.INSECURE_SECRET_KEY
    settings.ALLOWED_HOSTS, settings.ZOOKEEPER_HOSTS = ["localhost"], "[::1]:2181"
    given = {**HERE, **changes}
    monkeypatch.setitem(settings.DATABASES["default"], "HOST", given.pop("HOST"))
    for name, value in given.items():
        setattr(settings, name, value)
    found = [(error.id, error.msg) for error in secret_key_is_set(None)]
    assert found == ([("hadash.E001", f"HADASH_SECRET_KEY is not set, but {said}.")] if said else [])


@pytest.mark.parametrize(
    "database",
    [{}, {"HOST": ""}, {"HOST": "/run/postgresql"}, {"HOST": "127.0.0.1,::1"}, {"OPTIONS": {"host": "/x"}}],
)
def test_a_database_of_this_machine(database: dict[str, Any]) -> None:
    assert servers_elsewhere(database, "unix:///run/redis.sock", "localhost:2181") == {}


def test_a_database_that_is_named_among_the_options() -> None:
    database = {"HOST": "", "OPTIONS": {"host": "/x,db2"}}
    assert servers_elsewhere(database, "", "") == {"DATABASE_URL": ["db2"]}


def test_a_worker_serves_with_settings_that_only_the_web_server_needs(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.SECRET_KEY, settings.OIDC_ISSUER = "a key of its own", "https://sso.example.org"
    check_settings(web=False)
    assert "OpenID Connect is configured in part" in caplog.text
    with pytest.raises(WrongSettings):
        check_settings()


FAR = {
    "DATABASES": {"default": {"HOST": "db1", "OPTIONS": {"sslmode": "verify-full"}}},
    "REDIS_URL": "rediss://r1:6380/0?ssl_cert_reqs=required",
    "CONNECT_URL": "https://connect:8083",
    "ALLOWED_HOSTS": ["hadash.example.org"],
    "SESSION_COOKIE_SECURE": True,
}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        ({"DATABASES": {"default": {"HOST": "db1", "OPTIONS": {}}}}, ["DATABASE_URL"]),
        ({"DATABASES": {"default": {"HOST": "db1", "OPTIONS": {"sslmode": "require"}}}}, ["DATABASE_URL"]),
        ({"REDIS_URL": "redis://:secret@r1:6379/0"}, ["REDIS_URL"]),
        ({"REDIS_URL": "rediss://r1:6380/0"}, ["REDIS_URL"]),
        ({"REDIS_URL": "sentinel://s1:26379;sentinel://s2:26379"}, ["REDIS_URL"]),
        ({"CONNECT_URL": "http://connect:8083"}, ["CONNECT_URL"]),
        ({"SESSION_COOKIE_SECURE": False}, ["HADASH_SECURE_COOKIES"]),
    ],
)
def test_what_can_be_read_on_the_way_is_told(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], told: list[str]
) -> None:
    monkeypatch.setattr(
        checks, "settings", SimpleNamespace(LOOPBACK_HOSTS=settings.LOOPBACK_HOSTS, **{**FAR, **changes})
    )
    found = [*nobody_reads_on_the_way(None), *cookies_are_for_tls(None)]
    assert [warning.msg.split()[0] for warning in found] == told


def test_on_this_machine_nobody_reads_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {
        "DATABASES": {"default": {"HOST": "127.0.0.1"}},
        "REDIS_URL": "redis://127.0.0.1:6379/0",
        "CONNECT_URL": "http://localhost:8083",
        "ALLOWED_HOSTS": ["127.0.0.1"],
        "SESSION_COOKIE_SECURE": False,
    }
    monkeypatch.setattr(checks, "settings", SimpleNamespace(LOOPBACK_HOSTS=settings.LOOPBACK_HOSTS, **here))
    assert [*nobody_reads_on_the_way(None), *cookies_are_for_tls(None)] == []
