"""The client.id form ``HA#AppID#Topic``: the client names its binding itself (docs/background.md, rule 2)."""

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
        """The client.id to configure in the client. ``#`` and ``%`` inside a name are percent-encoded.

        >>> NamedByClient("shop", "orders").client_id
        'HA#shop#orders'
        >>> NamedByClient("shop#2", "orders").client_id
        'HA#shop%232#orders'
        """
        return f"{PREFIX}{encode(self.appid)}#{encode(self.topic)}"


def named_by(client_id: str) -> NamedByClient | None:
    """Return the AppID and Topic that ``client_id`` names; ``None`` for a client.id that is not of this form.

    Exactly two names follow ``HA#``, and neither is empty. A name may be written without encoding (Chinese, blanks) if
    it holds neither ``#`` nor ``%``.

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
