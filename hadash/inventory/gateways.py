"""Asks the Gateways over HTTP: for connected clients, quiesced clients, and observed access."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import httpx
from django.conf import settings
from kazoo.client import KazooClient

from hadash.bindings.client import connect, reaching
from hadash.bindings.errors import StoreUnavailable
from hadash.bindings.membership import members
from hadash.bindings.model import GatewayMember
from hadash.inventory.addresses import AddressRefused, AllowedHosts, AskedAt, where_to_ask

log = logging.getLogger(__name__)


#: Guards the first connection: two threads would make two clients, one of which would never be closed.
_connecting = threading.Lock()


def zookeeper() -> KazooClient:
    """Return the one ZooKeeper client of this process.

    :raises StoreUnavailable: no server answers, or they refuse the sign-in.
    """
    with _connecting:
        return _zookeeper()


@lru_cache(maxsize=1)
def _zookeeper() -> KazooClient:
    try:
        return connect(settings.ZOOKEEPER_HOSTS, bounded=True)
    except ValueError as error:  # wrong settings, which check hadash.E011 reports, too
        raise StoreUnavailable(str(error)) from None


@lru_cache(maxsize=1)
def _http() -> httpx.Client:
    return httpx.Client(timeout=settings.GATEWAY_REQUEST_SECONDS)


def gateway_members() -> list[GatewayMember]:
    """Return all Gateways, live or not.

    :raises StoreUnavailable: ZooKeeper does not answer.
    """
    with reaching():
        return members(zookeeper())


def live_gateways() -> list[GatewayMember]:
    """Return the live Gateways, including those without an address (they cannot be asked) and excluded ones
    (they still serve clients).
    """
    return [m for m in gateway_members() if m.live]


def ask(gateway: GatewayMember, path: str, **query: Any) -> dict[str, Any]:
    """Send a GET request to a Gateway: see :func:`ask_json`."""
    return ask_json(gateway.admin_url, path, {}, **query)


def ask_json(address: str, path: str, headers: Mapping[str, str], **query: Any) -> dict[str, Any]:
    """Send a GET request to a process of hadash whose address is in ZooKeeper, and return its JSON. Redirects are not
    followed; time and size are limited.

    :raises httpx.HTTPError: it does not answer, answers too slowly or too much, or must not be asked at its
    address.
    :raises ValueError: its answer is not JSON.
    """
    params = {name: value for name, value in query.items() if value is not None}
    deadline = time.monotonic() + settings.GATEWAY_ANSWER_SECONDS
    try:
        at = where_to_ask(address, AllowedHosts.of(settings.GATEWAY_ADMIN_HOSTS))
    except AddressRefused as refused:
        raise httpx.UnsupportedProtocol(str(refused)) from None
    *others, last = at.urls
    for url in others:
        try:
            return _ask_at(at, url, path, params, headers, deadline)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            # A host with an IPv4 and an IPv6 address may listen on one only.
            if time.monotonic() > deadline:
                raise
    return _ask_at(at, last, path, params, headers, deadline)


def _ask_at(
    at: AskedAt,
    url: str,
    path: str,
    params: dict[str, Any],
    headers: Mapping[str, str],
    deadline: float,
) -> dict[str, Any]:
    answer = bytearray()
    with _http().stream(
        "GET",
        f"{url}{path}",
        params=params,
        headers={**headers, "Host": at.host},
        extensions={"sni_hostname": at.name},
    ) as response:
        response.raise_for_status()
        for chunk in response.iter_bytes():
            answer += chunk
            if len(answer) > settings.GATEWAY_ANSWER_BYTES:
                raise httpx.DecodingError(f"its answer is longer than {settings.GATEWAY_ANSWER_BYTES} bytes")
            if time.monotonic() > deadline:
                raise httpx.ReadTimeout(f"its answer takes longer than {settings.GATEWAY_ANSWER_SECONDS:g} s")
    found: dict[str, Any] = json.loads(answer)
    return found


class GatewaySilent(Exception):
    """A live Gateway does not answer over HTTP, so the state of its clients is not known."""


def ask_every(path: str, key: str, **query: Any) -> list[dict[str, Any]]:
    """Return the entries under ``key`` of every live Gateway, for decisions that need complete answers.

    :raises GatewaySilent: one does not answer.
    :raises StoreUnavailable: ZooKeeper does not answer.
    """
    found: list[dict[str, Any]] = []
    for gateway in live_gateways():
        try:
            found.extend(ask(gateway, path, **query)[key])
        except (httpx.HTTPError, KeyError, ValueError) as error:
            raise GatewaySilent(
                f"Gateway {gateway.id} does not answer at {gateway.admin_url}{path} ({error}): what its clients do is "
                "not known."
            ) from None
    return found


def ask_all(
    path: str, key: str, gateways: Iterable[GatewayMember] | None = None, **query: Any
) -> list[dict[str, Any]]:
    """Return the entries under ``key`` of ``gateways`` (default: all live ones). One that does not answer is
    skipped and logged.
    """
    found: list[dict[str, Any]] = []
    for gateway in live_gateways() if gateways is None else gateways:
        try:
            found.extend(ask(gateway, path, **query)[key])
        except (httpx.HTTPError, KeyError, ValueError) as error:
            log.warning("Gateway %s did not answer %s: %s", gateway.id, path, error)
    return found
