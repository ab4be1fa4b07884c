"""Which addresses are asked of those that stand in ZooKeeper, where somebody may have written anything."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from hadash.bindings.epochs import Report
from hadash.bindings.model import GatewayMember
from hadash.inventory import addresses
from hadash.inventory.addresses import AddressRefused, AllowedHosts, where_to_ask
from hadash.inventory.gateways import ask

PRIVATE = AllowedHosts.of(["127.0.0.0/8", "::1", "10.0.0.0/8", "gateways.example"])


def resolve(host: str) -> list[str]:
    names = {
        "gw-1": ["10.0.0.7"],
        "gateways.example": ["203.0.113.9"],
        "both": ["::1", "10.0.0.7", "::1"],
        "two-sides": ["10.0.0.7", "203.0.113.9"],
    }
    if host not in names and not host.replace(".", "").replace(":", "").isalnum():
        raise OSError("Name or service not known")
    return names.get(host, [host])


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("http://127.0.0.1:9400", ("http://127.0.0.1:9400",)),
        ("http://gw-1:9400", ("http://10.0.0.7:9400",)),
        ("https://[::1]:9400", ("https://[::1]:9400",)),
        ("http://gateways.example:9400", ("http://203.0.113.9:9400",)),
        ("http://both:9400", ("http://[::1]:9400", "http://10.0.0.7:9400")),
    ],
)
def test_where_a_gateway_is_asked(url: str, asked: tuple[str, ...]) -> None:
    """At the address that its name had when it was looked at, not at what the name says a moment later."""
    assert where_to_ask(url, PRIVATE, resolve).urls == asked


@pytest.mark.parametrize(
    "url",
    [
        "",
        "gw-1:9400",
        "file:///etc/passwd",
        "ftp://10.0.0.7:21",
        "http://10.0.0.7",
        "http://10.0.0.7:0",
        "http://10.0.0.7:99999",
        "http://10.0.0.7:9400/latest/meta-data",
        "http://10.0.0.7:9400?x=",
        "http://user:word@10.0.0.7:9400",
        "http://169.254.169.254:80",
        "http://[::ffff:169.254.169.254]:80",
        "http://203.0.113.9:9400",
        "http://two-sides:9400",
        "http://no such host:9400",
    ],
)
def test_what_is_not_asked(url: str) -> None:
    with pytest.raises(AddressRefused):
        where_to_ask(url, PRIVATE, resolve)


@pytest.mark.parametrize("text", ["10.0.0.0/33", "http://gw-1", "gw-1:9400", "."])
def test_a_setting_that_cannot_be_used_is_named(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"HADASH_GATEWAY_ADMIN_HOSTS: .* is no network, address or host name"
    ):
        AllowedHosts.of([text])


class Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/elsewhere":
            self.send_response(302)
            self.send_header("Location", "/status")
            self.end_headers()
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"id": self.path, "padding": "x" * 5000}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def gateway() -> Iterator[GatewayMember]:
    """Something that answers over HTTP on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever).start()
        yield member(f"http://127.0.0.1:{server.server_port}")
        server.shutdown()


def member(url: str) -> GatewayMember:
    return GatewayMember("gw-1", "gw-1:9092", url, "1", 1, 0.0, True, Report(0))


def resolving(*found: str) -> Callable[..., list[Any]]:
    """A name has these addresses; an address is one."""
    real = socket.getaddrinfo

    def resolve(host: str, *values: Any, **options: Any) -> list[Any]:
        if host == "gw-1.example":
            return [(0, 0, 0, "", (address, 0)) for address in found]
        return real(host, *values, **options)

    return resolve


def test_its_answer(gateway: GatewayMember) -> None:
    assert ask(gateway, "/status")["id"] == "/status"


def test_a_host_that_listens_at_one_of_its_addresses_only(
    gateway: GatewayMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name with an IPv6 address before the IPv4 one at which the Gateway listens."""
    port = gateway.admin_url.rpartition(":")[2]
    monkeypatch.setattr(addresses.socket, "getaddrinfo", resolving("::1", "127.0.0.1"))
    assert ask(member(f"http://gw-1.example:{port}"), "/status")["id"] == "/status"


def test_not_when_one_of_its_addresses_may_not_be_asked(
    gateway: GatewayMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = gateway.admin_url.rpartition(":")[2]
    monkeypatch.setattr(addresses.socket, "getaddrinfo", resolving("127.0.0.1", "169.254.169.254"))
    with pytest.raises(httpx.HTTPError, match=r"169\.254\.169\.254\) is none of the hosts"):
        ask(member(f"http://gw-1.example:{port}"), "/status")


def test_one_that_listens_nowhere_is_silent(gateway: GatewayMember, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses.socket, "getaddrinfo", resolving("::1", "127.0.0.1"))
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(httpx.HTTPError):
        ask(member(f"http://gw-1.example:{port}"), "/status")


def test_a_redirect_is_not_followed(gateway: GatewayMember) -> None:
    with pytest.raises(httpx.HTTPStatusError):
        ask(gateway, "/elsewhere")


def test_an_answer_that_is_too_long_is_none(gateway: GatewayMember, settings: Any) -> None:
    settings.GATEWAY_ANSWER_BYTES = 4096
    with pytest.raises(httpx.HTTPError, match="longer than 4096 bytes"):
        ask(gateway, "/status")


def test_who_may_not_be_asked_is_silent_with_the_reason(gateway: GatewayMember, settings: Any) -> None:
    settings.GATEWAY_ADMIN_HOSTS = ["10.0.0.0/8"]
    with pytest.raises(httpx.HTTPError, match=r"127\.0\.0\.1 .* is none of the hosts that are asked"):
        ask(gateway, "/status")
