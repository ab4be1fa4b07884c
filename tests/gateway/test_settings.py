"""Settings come from the environment; one that cannot be read is named."""

from __future__ import annotations

import re
import socket
from dataclasses import fields
from pathlib import Path

import pytest

from hadash.gateway.__main__ import main
from hadash.gateway.settings import GatewaySettings


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for variable in os.environ:
        if variable.startswith("HADASH_GATEWAY_"):
            monkeypatch.delenv(variable)


def test_an_empty_environment_means_the_defaults() -> None:
    assert GatewaySettings.from_environment() == GatewaySettings()


def test_every_field_has_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADASH_GATEWAY_PAIR", "orders")
    monkeypatch.setenv("HADASH_GATEWAY_PORT", "19092")
    monkeypatch.setenv("HADASH_GATEWAY_PARK_SECONDS", "7.5")
    monkeypatch.setenv("HADASH_GATEWAY_SASL_MECHANISMS", "PLAIN, SCRAM-SHA-512,")
    settings = GatewaySettings.from_environment()
    assert (settings.pair, settings.port, settings.park_seconds) == ("orders", 19092, 7.5)
    assert settings.sasl_mechanisms == ("PLAIN", "SCRAM-SHA-512")


def test_the_id_is_the_hosts_and_ports_unless_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    assert GatewaySettings.from_environment().id == f"{socket.gethostname()}-9092"
    monkeypatch.setenv("HADASH_GATEWAY_PORT", "19092")
    assert GatewaySettings.from_environment().id == f"{socket.gethostname()}-19092"
    monkeypatch.setenv("HADASH_GATEWAY_ID", "gateway-7")
    assert GatewaySettings.from_environment().id == "gateway-7"


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("HADASH_GATEWAY_PORT", "http", "HADASH_GATEWAY_PORT='http' is not a whole number."),
        ("HADASH_GATEWAY_PARK_SECONDS", "20s", "HADASH_GATEWAY_PARK_SECONDS='20s' is not a number."),
        ("HADASH_GATEWAY_PORT", "65536", "HADASH_GATEWAY_PORT='65536' must be 65535 at most."),
        ("HADASH_GATEWAY_PORT", "0", "HADASH_GATEWAY_PORT='0' must be more than 0."),
        (
            "HADASH_GATEWAY_PORT",
            "65400",
            "HADASH_GATEWAY_PORT=65400 with HADASH_GATEWAY_PORTS_PER_CLUSTER=100 leads to node ports up to 65600; "
            "there are none beyond 65535.",
        ),
        ("HADASH_GATEWAY_LINGER_SECONDS", "0", "HADASH_GATEWAY_LINGER_SECONDS='0' must be more than 0."),
        (
            "HADASH_GATEWAY_SILENCE_SECONDS",
            "1e9",
            "HADASH_GATEWAY_SILENCE_SECONDS='1e9' must be 86400 at most.",
        ),
        ("HADASH_GATEWAY_WORKERS", "0", "HADASH_GATEWAY_WORKERS='0' must be more than 0."),
        ("HADASH_GATEWAY_MAX_IN_FLIGHT", "-1", "HADASH_GATEWAY_MAX_IN_FLIGHT='-1' must be more than 0."),
        ("HADASH_GATEWAY_MAX_PARKED", "-1", "HADASH_GATEWAY_MAX_PARKED='-1' must be 0 or more."),
        ("HADASH_GATEWAY_PARK_SECONDS", "nan", "HADASH_GATEWAY_PARK_SECONDS='nan' must be more than 0."),
        ("HADASH_GATEWAY_PARK_SECONDS", "inf", "HADASH_GATEWAY_PARK_SECONDS='inf' must be more than 0."),
        ("HADASH_GATEWAY_MODE", "Proxy", "HADASH_GATEWAY_MODE='Proxy': 'Proxy' is none of proxy, redirect."),
        (
            "HADASH_GATEWAY_TRANSACTIONS",
            "allow",
            "HADASH_GATEWAY_TRANSACTIONS='allow': 'allow' is none of refuse, relay.",
        ),
        (
            "HADASH_GATEWAY_SASL_MECHANISMS",
            "PLAIN,GSSAPI",
            "HADASH_GATEWAY_SASL_MECHANISMS='PLAIN,GSSAPI': 'GSSAPI' is none of "
            "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER.",
        ),
        (
            "HADASH_GATEWAY_SASL_MECHANISMS",
            ",",
            "HADASH_GATEWAY_SASL_MECHANISMS=',' names none of "
            "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER.",
        ),
        (
            "HADASH_GATEWAY_PARKSECONDS",
            "20",
            "There is no setting HADASH_GATEWAY_PARKSECONDS. Did you mean HADASH_GATEWAY_PARK_SECONDS?",
        ),
        ("HADASH_GATEWAY_XYZ", "", "There is no setting HADASH_GATEWAY_XYZ."),
        (
            "HADASH_GATEWAY_SERVICE_HOST",
            "10.0.0.1",
            "There is no setting HADASH_GATEWAY_SERVICE_HOST. Kubernetes makes it for a service named hadash-gateway: "
            "set enableServiceLinks to false.",
        ),
    ],
)
def test_a_value_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError) as caught:
        GatewaySettings.from_environment()
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["ID", "HOST", "ADMIN_HOST", "PORT", "PAIR"])
def test_what_is_set_to_nothing_is_not_set(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """An empty id would be the place of all Gateways in ZooKeeper, an empty host every interface."""
    monkeypatch.setenv(f"HADASH_GATEWAY_{name}", "")
    assert GatewaySettings.from_environment() == GatewaySettings()


def test_an_address_that_nobody_can_ask_is_not_advertised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADASH_GATEWAY_ADMIN_HOST", "0.0.0.0")
    with pytest.raises(ValueError, match="Set HADASH_GATEWAY_ADMIN_ADVERTISED_HOST to this machine's"):
        GatewaySettings.from_environment()
    monkeypatch.setenv("HADASH_GATEWAY_ADMIN_ADVERTISED_HOST", "gw-1.example")
    assert GatewaySettings.from_environment().admin_url == "http://gw-1.example:9400"


def test_the_gateway_says_so_and_does_not_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HADASH_GATEWAY_PARK_SECONDS", "long")
    assert main() == 2
    assert capsys.readouterr().err == "HADASH_GATEWAY_PARK_SECONDS='long' is not a number.\n"


def test_a_request_stays_parked_for_less_than_any_clients_request_timeout() -> None:
    java_request_timeout_ms = 30_000
    assert GatewaySettings().park_seconds * 1000 < java_request_timeout_ms


def test_what_the_pages_are_told_may_stand_in_a_gateways_environment_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every process is told the same: a Gateway must not stop at what is not for it."""
    import hadash.settings

    of_gateways = {f"HADASH_GATEWAY_{field.name.upper()}" for field in fields(GatewaySettings)}
    source = "".join(each.read_text() for each in Path(hadash.settings.__file__).parent.glob("*.py"))
    others = set(re.findall(r"HADASH_GATEWAY_[A-Z_]*[A-Z]", source)) - of_gateways
    assert len(others) >= 5
    for name in others:
        monkeypatch.setenv(name, "1")
    assert GatewaySettings.from_environment() == GatewaySettings()
