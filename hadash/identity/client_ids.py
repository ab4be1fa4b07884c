"""The client.id form ``HA#AppID#Topic``: a client says itself which binding governs it (docs/background.md, rule 2)."""

from __future__ import annotations

from dataclasses import dataclass

from hadash.identity.names import decode, encode

PREFIX = "HA#"


@dataclass(frozen=True, slots=True)
class NamedByClient:
    """The AppID and the Topic that a client.id names."""

    appid: str
    topic: str

    @property
    def client_id(self) -> str:
        """The client.id to set in the client. ``#`` and ``%`` inside a name are percent-encoded.

        >>> NamedByClient("shop", "orders").client_id
        'HA#shop#orders'
        >>> NamedByClient("shop#2", "orders").client_id
        'HA#shop%232#orders'
        """
        return f"{PREFIX}{encode(self.appid)}#{encode(self.topic)}"


def named_by(client_id: str) -> NamedByClient | None:
    """What ``client_id`` names; ``None`` for every client.id that is not of the form.

    Exactly two names after ``HA#``, neither of them empty. Names may be written as they are (Chinese, blanks) as long
    as they hold neither ``#`` nor ``%``.

    >>> named_by("HA#shop#orders")
    NamedByClient(appid='shop', topic='orders')
    >>> named_by("HA#shop%232#orders").appid
    'shop#2'
    >>> named_by("HA#shop#orders#1") is None and named_by("ha#shop#orders") is None
    True
    """
    if not client_id.startswith(PREFIX):
        return None
    names = client_id[len(PREFIX) :].split("#")
    if len(names) != 2 or not all(names):
        return None
    return NamedByClient(decode(names[0]), decode(names[1]))
