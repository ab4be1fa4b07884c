"""The address that a request comes from."""

from __future__ import annotations

import ipaddress

from django.http import HttpRequest

#: The bits of an IPv6 network that a provider assigns as a whole: a customer has 2^64 addresses.
_IPV6_NETWORK_BITS = 64


def address_of(request: HttpRequest) -> str | None:
    """Return the address of the connection's other side; ``None`` for a Unix socket.

    Behind a proxy the web server puts the client's address there, and only for proxies that it was told to trust
    (uvicorn: ``--forwarded-allow-ips``). No header is read here.
    """
    return request.META.get("REMOTE_ADDR") or None


def limited_address(request: HttpRequest) -> str | None:
    """Return the address that failed sign-ins count for: all addresses that one machine can choose freely are one."""
    return network_of(address_of(request))


def network_of(address: str | None) -> str | None:
    """Return an IPv4 address unchanged, an IPv6 address as its network's first; ``None`` for anything else.

    >>> network_of("::ffff:192.0.2.1"), network_of("2001:db8:1:2:3:4:5:6"), network_of("192.0.2.1"), network_of("")
    ('192.0.2.1', '2001:db8:1:2::', '192.0.2.1', None)
    """
    try:
        found = ipaddress.ip_address(address or "")
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(found), _IPV6_NETWORK_BITS), strict=False).network_address)
