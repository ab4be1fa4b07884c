"""Wrong settings are told at the start."""

from __future__ import annotations

from typing import Any

import pytest

from hadash.inventory.checks import hosts_of_rules_can_be_read


def test_addresses_and_networks_of_rules(settings: Any) -> None:
    settings.SWITCH_ACL_HOSTS = ("10.0.0.7", "10.0.1.0/24", "2001:db8::/32")
    assert hosts_of_rules_can_be_read(None) == []


@pytest.mark.parametrize("host", ["gateway.example", "10.0.0.7/24", "*"])
def test_what_is_neither_would_fail_every_precheck(settings: Any, host: str) -> None:
    settings.SWITCH_ACL_HOSTS = ("10.0.0.7", host)
    (error,) = hosts_of_rules_can_be_read(None)
    assert error.id == "hadash.E013"
    assert repr(host) in error.msg
