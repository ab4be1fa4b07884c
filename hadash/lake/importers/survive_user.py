"""Reads the connection reports of DiDi's brokers: ``POST …/heartbeat/survive-user?clusterId=1&brokerId=3``
every five minutes. Pure.

The body has the connected clients by Topic: ``{"produce": {"<topic>":
["<appId>#<ip>:<port>#<version>#<clientId>#<ms>"]}, "fetch": {…}}``. An AppID and a client.id may contain ``#``,
so an entry is split at its address, which cannot.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from hadash.lake.access import EARLIEST, SURVIVE_USER
from hadash.lake.importers.imported import Imported, ImportRefused
from hadash.lake.quarantine import Unreadable

_KINDS = {"produce": "produce", "fetch": "consume"}

#: AppID, address (IPv6 in brackets or bare), client's version, client.id, milliseconds.
_ENTRY = re.compile(
    r"(?P<appid>.*?)#/?(?P<host>\[[0-9A-Fa-f:.%]+\]|[0-9A-Fa-f:.]+|[\w.-]+):(?P<port>\d{1,5})"
    r"#(?P<version>[^#]*)#(?P<client_id>.*)#(?P<ms>\d{1,16})",
    re.DOTALL,
)

#: The brokers' AppID for a client that they do not know; such entries are ignored.
UNKNOWN = "unknown"


def parse(body: bytes, pair: str, cluster: str, broker: str) -> Imported:
    """Return the reports in one body.

    :param cluster: the name of the cluster whose id the request has.
    :raises ImportRefused: it is not such a body.
    """
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        raise ImportRefused("The body is no JSON.") from None
    if not isinstance(said, dict) or not any(isinstance(said.get(part), dict) for part in _KINDS):
        raise ImportRefused('The body has neither "produce" nor "fetch" with Topics in it.')
    found = Imported()
    for part, kind in _KINDS.items():
        topics = said.get(part)
        if topics is None:
            continue
        if not isinstance(topics, dict):
            found.unreadable.append(Unreadable(json.dumps({part: topics}), f'"{part}" holds no Topics.'))
            continue
        for topic, entries in topics.items():
            if not isinstance(entries, list):
                found.unreadable.append(Unreadable(json.dumps({topic: entries}), "A Topic has no list."))
                continue
            for entry in entries:
                _read(found, entry, kind, topic, pair, cluster, broker)
    return found


def _read(found: Imported, entry: Any, kind: str, topic: str, pair: str, cluster: str, broker: str) -> None:
    read = _ENTRY.fullmatch(entry) if isinstance(entry, str) else None
    if read is None:
        text = entry if isinstance(entry, str) else json.dumps(entry)
        found.unreadable.append(Unreadable(text, "It is not appId#ip:port#version#clientId#milliseconds."))
        return
    if read["appid"] == UNKNOWN:
        return
    try:
        seen = datetime.fromtimestamp(int(read["ms"]) / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        seen = None
    if seen is None or seen < EARLIEST:
        found.unreadable.append(Unreadable(entry, "Its time is none."))
        return
    found.rows.append(
        {
            "gateway": f"{cluster}/{broker}",
            "pair": pair,
            "source": SURVIVE_USER,
            "appid": read["appid"],
            "client_id": read["client_id"],
            "kind": kind,
            "resource": topic,
            "cluster": cluster,
            "host": read["host"].strip("[]"),
            "library": "",
            "version": read["version"],
            "requests": 0,
            "records": 0,
            "bytes": 0,
            "first_seen": seen,
            "last_seen": seen,
        }
    )
