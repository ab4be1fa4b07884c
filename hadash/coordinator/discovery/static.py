"""Members that are listed in a file, for pools whose members are always the same. A person edits it: it is read again
at every look.

::

    {"audit": {"host-1": "http://10.0.0.1:8700", "host-2": "http://10.0.0.2:8700"}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from hadash.coordinator.discovery.listing import DiscoveryUnavailable
from hadash.sentences import say


class StaticDiscovery:
    """The members of a pool that a JSON file lists by name. A pool that it does not have has no members."""

    def __init__(self, path: Path, pool: str) -> None:
        self._path = path
        self._pool = pool

    def members(self) -> Mapping[str, str]:
        try:
            found = json.loads(self._path.read_bytes())
        except OSError as error:
            raise DiscoveryUnavailable(
                say(
                    "The list of members %(path)s cannot be read: %(reason)s.",
                    path=self._path,
                    reason=error.strerror,
                )
            ) from error
        except ValueError:
            found = None
        found = found.get(self._pool, {}) if isinstance(found, dict) else None
        if not isinstance(found, dict) or not all(isinstance(url, str) for url in found.values()):
            raise DiscoveryUnavailable(
                say(
                    "The list of members %(path)s is no JSON object of pools with names and URLs. Correct it.",
                    path=self._path,
                )
            )
        return found
