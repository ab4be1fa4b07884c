"""Which library a client is. Some libraries say so on one of their connections only, and open others for
their groups and partitions.
"""

from __future__ import annotations

from typing import NamedTuple

#: Clients whose library is remembered; of more the one that was told first is forgotten. As many as a large
#: Gateway has connections.
MAX_CLIENTS = 20_000

#: librdkafka and what is made of it, as they name themselves. Answered UNKNOWN_MEMBER_ID they wait for up to
#: a second before they join again (``rkcg_join_intvl``); answered MEMBER_ID_REQUIRED they do at once, with
#: the new id.
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
    """Its name and version as it tells them (KIP-511); empty when it does not."""

    name: str = ""
    version: str = ""


class Libraries:
    """What clients have told, by AppID, client.id and host."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str, str], Library] = {}

    def tell(self, appid: str, client_id: str, host: str, library: Library) -> None:
        """One of its connections has told."""
        who = appid, client_id, host
        self._told.pop(who, None)
        self._told[who] = library
        if len(self._told) > MAX_CLIENTS:
            del self._told[next(iter(self._told))]

    def of(self, appid: str, client_id: str, host: str) -> Library:
        """What is known of a client whose connection does not tell.

        >>> libraries = Libraries()
        >>> libraries.tell("shop", "web-1", "10.0.0.1", Library("platformatic-kafka", "2.12.1"))
        >>> libraries.of("shop", "web-1", "10.0.0.1").name, libraries.of("shop", "web-1", "10.0.0.2").name
        ('platformatic-kafka', '')
        """
        return self._told.get((appid, client_id, host), Library())
