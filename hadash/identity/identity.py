"""The identity of one client connection."""

from __future__ import annotations

from dataclasses import dataclass

from hadash.identity.names import encode


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """An AppID (the principal a client signs in as) and its InstanceID (the ``client.id`` that it sends).

    ``instance_id`` is ``None`` for the AppID as a whole.
    """

    appid: str
    instance_id: str | None = None

    @property
    def key(self) -> str:
        """One unambiguous text for locks and journals.

        >>> Identity('shop', 'web#1').key
        'shop#web%231'
        """
        if self.instance_id is None:
            return encode(self.appid)
        return f"{encode(self.appid)}#{encode(self.instance_id)}"

    def __str__(self) -> str:
        return self.appid if self.instance_id is None else f"{self.appid} › {self.instance_id}"
