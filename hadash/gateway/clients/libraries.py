"""The library that a client uses. Some libraries name themselves on one of their connections only, and open others for
their groups and partitions.
"""

from __future__ import annotations

from typing import NamedTuple

#: The most clients whose library is remembered; above it the earliest entry is dropped. As many as a large Gateway has
#: connections.
MAX_CLIENTS = 20_000

#: librdkafka and libraries based on it, as they name themselves. After UNKNOWN_MEMBER_ID they wait for up to a second
#: before they join again (``rkcg_join_intvl``); after MEMBER_ID_REQUIRED they join at once, with the new id.
JOINS_AT_ONCE_WITHOUT_ID = frozenset(
    {
        "librdkafka",
        "confluent-kafka-python",
        "confluent-kafka-go",
        "confluent-kafka-dotnet",
        "confluent-kafka-javascript",
    }
)


class Library(NamedTuple):
    """A library's name and version as it reports them (KIP-511); empty when it does not."""

    name: str = ""
    version: str = ""


class Libraries:
    """The libraries that clients have reported, by AppID, client.id and host."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str, str], Library] = {}

    def tell(self, appid: str, client_id: str, host: str, library: Library) -> None:
        """Remember the library that one of the client's connections has reported."""
        who = appid, client_id, host
        self._told.pop(who, None)
        self._told[who] = library
        if len(self._told) > MAX_CLIENTS:
            del self._told[next(iter(self._told))]

    def of(self, appid: str, client_id: str, host: str) -> Library:
        """Return the known library of a client whose connection does not report one; empty if none is known.

        >>> libraries = Libraries()
        >>> libraries.tell("shop", "web-1", "10.0.0.1", Library("platformatic-kafka", "2.12.1"))
        >>> libraries.of("shop", "web-1", "10.0.0.1").name, libraries.of("shop", "web-1", "10.0.0.2").name
        ('platformatic-kafka', '')
        """
        return self._told.get((appid, client_id, host), Library())
