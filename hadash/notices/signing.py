"""Signs posts: Standard Webhooks (https://www.standardwebhooks.com), DingTalk and Feishu. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from datetime import datetime

#: The prefix of a Standard Webhooks secret.
PREFIX = "whsec_"
#: Bytes of a secret: the standard asks for 24 to 64.
SECRET_BYTES = 32


def new_secret() -> str:
    """Return a new random secret.

    >>> new_secret().startswith("whsec_")
    True
    """
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


class BadSecret(ValueError):
    """A text is not a valid Standard Webhooks secret."""


def key_of(secret: str) -> bytes:
    """Return the key in a secret. :raises BadSecret: it is not valid."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except ValueError:
        key = b""
    if len(key) < 24 or len(key) > 64:
        raise BadSecret("A secret is whsec_ and 24 to 64 bytes in base64.")
    return key


def webhook_headers(secret: str, message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """Return the three headers with the id, the time and the signature of a message."""
    stamp = str(int(at.timestamp()))
    signed = b".".join((message_id.encode(), stamp.encode(), body))
    digest = hmac.new(key_of(secret), signed, hashlib.sha256).digest()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": stamp,
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def dingtalk_query(secret: str, at: datetime) -> dict[str, str]:
    """Return the query parameters for a DingTalk robot with a secret: the time in milliseconds, and its signature."""
    stamp = str(int(at.timestamp() * 1000))
    digest = hmac.new(secret.encode(), f"{stamp}\n{secret}".encode(), hashlib.sha256).digest()
    return {"timestamp": stamp, "sign": base64.b64encode(digest).decode()}


def feishu_fields(secret: str, at: datetime) -> dict[str, str]:
    """Return the fields that Feishu needs in the message: the time in seconds, and the signature of an empty
    text, with the time and the secret as its key.
    """
    stamp = str(int(at.timestamp()))
    digest = hmac.new(f"{stamp}\n{secret}".encode(), b"", hashlib.sha256).digest()
    return {"timestamp": stamp, "sign": base64.b64encode(digest).decode()}
