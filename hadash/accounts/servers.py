"""Which of hadash's servers are on other machines. Pure.

An installation that keeps its data on other machines is no sandbox, whatever host names its web server accepts.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit


def servers_elsewhere(
    database: Mapping[str, Any],
    redis_url: str,
    zookeeper_hosts: str,
    loopback: Iterable[str] = ("localhost",),
) -> dict[str, list[str]]:
    """Return the hosts that are not this machine, by the variable that names them. Variables without one are left out.

    :param database: an entry of Django's ``DATABASES``.
    :param loopback: names of this machine, in addition to its loopback addresses.

    >>> servers_elsewhere({"HOST": "/run/postgresql"}, "redis://127.0.0.1:6379/0", "[::1]:2181,zk2:2181/hadash")
    {'ZOOKEEPER_HOSTS': ['zk2']}
    """
    options = database.get("OPTIONS") or {}
    databases = [database.get("HOST") or "", options.get("host") or "", options.get("hostaddr") or ""]
    named = {
        "DATABASE_URL": ",".join(databases).split(","),
        "REDIS_URL": [_host(part) for url in redis_url.split(";") for part in url.split(",")],
        "ZOOKEEPER_HOSTS": [_host(part) for part in zookeeper_hosts.partition("/")[0].split(",")],
    }
    local = set(loopback)
    found = {name: [host for host in hosts if not _is_here(host, local)] for name, hosts in named.items()}
    return {name: hosts for name, hosts in found.items() if hosts}


#: The values of PostgreSQL's ``sslmode`` with which the server's certificate is verified.
_VERIFIED = frozenset({"verify-full", "verify-ca"})


def readable_on_the_way(
    database: Mapping[str, Any], redis_url: str, connect_url: str, loopback: Iterable[str] = ("localhost",)
) -> dict[str, str]:
    """Return the servers on other machines whose connection is not encrypted, or whose certificate is not
    verified: the variable that names each → what to set.

    >>> list(readable_on_the_way({"HOST": "db1"}, "rediss://r1:6380/0?ssl_cert_reqs=required", "http://127.0.0.1:8083"))
    ['DATABASE_URL']
    >>> readable_on_the_way({"HOST": "db1", "OPTIONS": {"sslmode": "verify-full"}}, "redis://127.0.0.1/0", "https://connect:8083")
    {}
    """
    names = set(loopback)
    elsewhere = servers_elsewhere(database, redis_url, "", names)
    found = {}
    if "DATABASE_URL" in elsewhere and (database.get("OPTIONS") or {}).get("sslmode") not in _VERIFIED:
        found["DATABASE_URL"] = "?sslmode=verify-full&sslrootcert=/etc/ssl/certs/ca-certificates.crt"
    if "REDIS_URL" in elsewhere:
        asked = {
            (each.scheme, (parse_qs(each.query).get("ssl_cert_reqs") or [""])[-1].lower())
            for each in map(urlsplit, redis_url.split(";"))
        }
        if any(scheme not in _OVER_TLS or asks not in _ASKED for scheme, asks in asked):
            found["REDIS_URL"] = "rediss://…?ssl_cert_reqs=required"
    connect = urlsplit(connect_url)
    if connect.scheme != "https" and not _is_here(connect.hostname or "", names):
        found["CONNECT_URL"] = "https://…"
    return found


#: Schemes of Redis over TLS (also of sentinels), and the values of ``ssl_cert_reqs`` that require a certificate.
_OVER_TLS = frozenset({"rediss", "sentinels"})
_ASKED = frozenset({"required", "cert_required"})


def _host(address: str) -> str:
    """Return the host of a URL or of ``host:port``; empty for a Unix socket."""
    address = address.strip()
    return urlsplit(address if "://" in address else f"//{address}").hostname or ""


def _is_here(host: str, names: set[str]) -> bool:
    """Whether ``host`` is empty, a path (a Unix socket), a name of this machine, or a loopback address."""
    host = host.strip()
    if not host or host.startswith(("/", "@")) or host in names:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
