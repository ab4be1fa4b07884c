"""Restricts the Gateway addresses that hadash sends requests to. Gateways write them to ZooKeeper, and somebody
who can write there must not make the web server send requests to any host that it can reach.

An address is resolved once and the request goes to the resolved address: a name that resolves differently a
moment later changes nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

#: The setting with the hosts that may be asked.
SETTING = "HADASH_GATEWAY_ADMIN_HOSTS"


class AddressRefused(Exception):
    """A Gateway's address must not be asked. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class AskedAt:
    """Where to connect to. ``urls`` have resolved addresses as hosts; each is tried when the one before does
    not take a connection. ``host`` is for the Host header, ``name`` for TLS.
    """

    urls: tuple[str, ...]
    host: str
    name: str


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Host names that may be asked whatever they resolve to, and networks for all other hosts.

    >>> allowed = AllowedHosts.of(["10.0.0.0/8", "gw-1.example", ".gateways.example"])
    >>> allowed.knows("gw-1.example"), allowed.knows("a.gateways.example"), allowed.knows("example")
    (True, True, False)
    >>> allowed.holds(ipaddress.ip_address("10.1.2.3")), allowed.holds(ipaddress.ip_address("169.254.169.254"))
    (True, False)
    """

    names: frozenset[str]
    networks: tuple[Network, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> AllowedHosts:
        """Parse networks (``10.0.0.0/8``), addresses, host names, and domains with all names below
        (``.example.com``).

        :raises ValueError: a text is none of these; the message names it.
        """
        names, networks = set(), []
        for text in texts:
            try:
                networks.append(ipaddress.ip_network(text))
                continue
            except ValueError:
                pass
            if "/" in text or ":" in text or not text.strip("."):
                raise ValueError(f"{SETTING}: {text!r} is no network, address or host name.")
            names.add(text.lower())
        return cls(frozenset(names), tuple(networks))

    def knows(self, name: str) -> bool:
        name = name.lower()
        return name in self.names or any(
            name.endswith(known) for known in self.names if known.startswith(".")
        )

    def holds(self, address: Address) -> bool:
        mapped = getattr(address, "ipv4_mapped", None) or address
        return any(mapped in network for network in self.networks if network.version == mapped.version)


def addresses_of(host: str) -> list[str]:
    """Return the addresses that a host name resolves to.

    :raises OSError: it does not resolve.
    """
    return [str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]


def where_to_ask(
    url: str, allowed: AllowedHosts, resolve: Callable[[str], list[str]] = addresses_of
) -> AskedAt:
    """Return where to ask a Gateway with the address ``url``, which has to be ``http(s)://host:port``.

    >>> where_to_ask("http://10.0.0.7:9400", AllowedHosts.of(["10.0.0.0/8"]))
    AskedAt(urls=('http://10.0.0.7:9400',), host='10.0.0.7:9400', name='10.0.0.7')

    :raises AddressRefused: it is no such address, does not resolve, or its host may not be asked.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise AddressRefused(f"{url!r} is no address.") from None
    whole = f"{parts.scheme}://{parts.netloc}"
    if parts.scheme not in ("http", "https") or not host or not port or url != whole or "@" in parts.netloc:
        raise AddressRefused(f"{url!r} is no address of a Gateway, which is http(s)://host:port.")
    try:
        found = [ipaddress.ip_address(address.partition("%")[0]) for address in resolve(host)]
    except (OSError, UnicodeError) as error:
        raise AddressRefused(f"Host {host!r} cannot be resolved ({error}).") from None
    outside = [str(address) for address in found if not allowed.holds(address)]
    if not found or (outside and not allowed.knows(host)):
        raise AddressRefused(
            f"{host} ({', '.join(outside)}) is none of the hosts that are asked for what Gateways know. If a "
            f"Gateway is there, name "
            f"it in {SETTING}."
        )
    literals = [f"[{address}]" if address.version == 6 else str(address) for address in found]
    urls = tuple(f"{parts.scheme}://{literal}:{port}" for literal in dict.fromkeys(literals))
    return AskedAt(urls, parts.netloc, host)
