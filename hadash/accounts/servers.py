"""Which servers of hadash are on other machines. Pure.

An installation that keeps its data elsewhere is no sandbox, whatever names its web server answers to.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit


def servers_elsewhere(
    database: Mapping[str, Any],
    redis_url: str,
    zookeeper_hosts: str,
    loopback: Iterable[str] = ("localhost",),
) -> dict[str, list[str]]:
    """The hosts that are not this machine, by the variable that names them; without those that have none.

    :param database: as Django has it.
    :param loopback: names of this machine, beside its addresses.

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


def _host(address: str) -> str:
    """The host of a URL or of ``host:port``; empty for a Unix socket."""
    address = address.strip()
    return urlsplit(address if "://" in address else f"//{address}").hostname or ""


def _is_here(host: str, names: set[str]) -> bool:
    """Nothing, a path (a Unix socket), a name of this machine, or an address of its loopback."""
    host = host.strip()
    if not host or host.startswith(("/", "@")) or host in names:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
