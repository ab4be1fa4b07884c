"""Removes from recorded rows what would reveal their origin: addresses and names of hosts, and values of
configs. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

#: Values of configs that describe how a cluster works, but not where it is. Others (listeners, paths, users)
#: are left out.
_PLAIN = re.compile(
    r"-?\d+(\.\d+)?|true|false|compact|delete|producer|none|gzip|snappy|lz4|zstd|CreateTime|LogAppendTime|"
)
#: The names of configs that are left out whatever their value is.
_SECRET = re.compile(r"password|secret|jaas|token|credential|keystore|truststore", re.IGNORECASE)
#: kafka-go's default client.id contains the host.
_NAMED_AFTER_HOST = re.compile(r"(?<=^kafka-go@)[\w.-]+(?= \()")
#: The columns that name a host or a rack.
_COLUMNS = ("host", "rack")


class Hosts:
    """Replacements for hosts: always the same one for the same host."""

    def __init__(self) -> None:
        self._others: dict[str, str] = {}

    def other(self, host: str) -> str:
        """Return the replacement of a host.

        >>> hosts = Hosts()
        >>> hosts.other("db7.bank.example"), hosts.other("/10.1.2.3"), hosts.other("db7.bank.example"), hosts.other("")
        ('192.0.2.1', '/192.0.2.2', '192.0.2.1', '')
        """
        slash, name = ("/", host[1:]) if host.startswith("/") else ("", host)
        if not name:
            return host
        number = len(self._others) + 1
        # Reserved addresses of RFC 5737; when these are used up, those of RFC 2544.
        made = f"192.0.2.{number}" if number < 255 else f"198.18.{number // 250}.{number % 250 + 1}"
        return slash + self._others.setdefault(name, made)

    def out_of(self, text: str) -> str:
        """Replace the hosts that were seen so far in a text.

        >>> hosts = Hosts()
        >>> _ = hosts.other("db7.bank.example")
        >>> hosts.out_of("db7.bank.example:9092 does not answer")
        '192.0.2.1:9092 does not answer'
        """
        for host in sorted(self._others, key=len, reverse=True):
            text = re.sub(rf"(?<![\w.]){re.escape(host)}(?![\w])", self._others[host], text)
        return text

    def learn(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Learn the hosts that rows name, because texts of other rows may name them, too."""
        for row in rows:
            for column, value in row.items():
                if _is_host(column, value):
                    self.other(value)


def harmless(rows: Iterable[Mapping[str, Any]], hosts: Hosts) -> list[dict[str, Any]]:
    """Return the rows with hosts replaced, and without configs that may name one.

    >>> rows = [{"host": "db7", "client_id": "till-db7", "configs": {"log.dirs": "/data/7", "num.io.threads": "8"}}]
    >>> harmless(rows, Hosts())
    [{'host': '192.0.2.1', 'client_id': 'till-192.0.2.1', 'configs': {'num.io.threads': '8'}}]
    """
    found = list(rows)
    hosts.learn(found)
    return [
        {
            name: hosts.other(value) if _is_host(name, value) else _without(value, hosts)
            for name, value in row.items()
        }
        for row in found
    ]


def _is_host(column: str, value: Any) -> bool:
    """Return whether a value is a host. (An ACL may be for any host, ``*``.)"""
    return column in _COLUMNS and isinstance(value, str) and value != "*"


def _without(value: Any, hosts: Hosts) -> Any:
    if isinstance(value, str):
        return hosts.out_of(_NAMED_AFTER_HOST.sub(lambda found: hosts.other(found[0]), value))
    if isinstance(value, list | tuple):
        return [_without(each, hosts) for each in value]
    if isinstance(value, Mapping):
        return {
            name: text
            for name, text in value.items()
            if text is not None and not _SECRET.search(name) and _PLAIN.fullmatch(text)
        }
    return value
