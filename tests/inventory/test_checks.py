"""Wrong settings are told at the start."""

from __future__ import annotations

from typing import Any

import pytest

from hadash.bindings import client
from hadash.inventory.checks import (
    hosts_of_gateways_can_be_read,
    hosts_of_rules_can_be_read,
    zookeeper_has_a_chroot,
)


def test_addresses_and_networks_of_rules(settings: Any) -> None:
    settings.SWITCH_ACL_HOSTS = ("10.0.0.7", "10.0.1.0/24", "2001:db8::/32")
    assert hosts_of_rules_can_be_read(None) == []


@pytest.mark.parametrize("host", ["gateway.example", "10.0.0.7/24", "*"])
def test_what_is_neither_would_fail_every_precheck(settings: Any, host: str) -> None:
    settings.SWITCH_ACL_HOSTS = ("10.0.0.7", host)
    (error,) = hosts_of_rules_can_be_read(None)
    assert error.id == "hadash.E013"
    assert repr(host) in error.msg


@pytest.mark.parametrize(
    ("chroot", "ids"), [("/hadash", []), ("/a/b", []), ("/", ["hadash.E014"]), ("", ["hadash.E014"])]
)
def test_hadash_is_not_the_owner_of_a_whole_zookeeper(
    monkeypatch: pytest.MonkeyPatch, chroot: str, ids: list[str]
) -> None:
    """secure_zookeeper would take over the nodes of everybody else there."""
    monkeypatch.setattr(client, "CHROOT", chroot)
    assert [message.id for message in zookeeper_has_a_chroot(None)] == ids


@pytest.mark.parametrize(
    ("hosts", "debug", "named", "ids"),
    [
        (["hadash.example"], False, None, ["hadash.W013"]),
        (["hadash.example"], False, "10.1.0.0/24", []),
        (["hadash.example"], True, None, []),
        (["127.0.0.1"], False, None, []),
    ],
)
def test_all_private_networks_are_warned_of(
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    hosts: list[str],
    debug: bool,
    named: str | None,
    ids: list[str],
) -> None:
    settings.ALLOWED_HOSTS, settings.DEBUG = hosts, debug
    monkeypatch.delenv("HADASH_GATEWAY_ADMIN_HOSTS", raising=False)
    if named is not None:
        monkeypatch.setenv("HADASH_GATEWAY_ADMIN_HOSTS", named)
    assert [message.id for message in hosts_of_gateways_can_be_read(None)] == ids
