"""The user name in the first message of a SASL exchange. All other messages pass unread.

PLAIN is RFC 4616 (``authzid NUL authcid NUL password``), SCRAM is RFC 5802 (``n,,n=user,r=nonce``), OAUTHBEARER is
RFC 7628 (``n,,`` and ``auth=Bearer <token>`` between %x01). A token is read, not verified: the cluster verifies it, and
a client whose token the cluster refuses is not signed in.
"""

from __future__ import annotations

import base64
import json


class UnreadableToken(ValueError):
    """The message is not a valid first message of its mechanism."""


def user_name(mechanism: str, token: bytes, claim: str = "sub") -> str:
    """Return the user that ``token``, a client's first message, names.

    :param claim: the claim of an OAUTHBEARER token that holds the user.

    :raises UnreadableToken: no user name can be read, or the client asks to act as another user.

    >>> user_name("PLAIN", b"\\0shop\\0secret")
    'shop'
    >>> user_name("SCRAM-SHA-512", b"n,,n=a=2Cb,r=abc")
    'a,b'
    """
    try:
        if mechanism == "PLAIN":
            return _plain(token)
        if mechanism.startswith("SCRAM-"):
            return _scram(token)
        if mechanism == "OAUTHBEARER":
            return _bearer(token, claim)
    except UnicodeDecodeError:
        raise UnreadableToken(f"The first {mechanism} message is not UTF-8.") from None
    raise UnreadableToken(f"SASL mechanism {mechanism} cannot be read.")


def _plain(token: bytes) -> str:
    parts = token.split(b"\0")
    if len(parts) != 3 or not parts[1]:
        raise UnreadableToken("The PLAIN message is not authorization id, user name, password.")
    authorization, user = parts[0].decode(), parts[1].decode()
    if authorization and authorization != user:
        raise UnreadableToken("PLAIN with an authorization id other than the user name is not allowed.")
    return user


def _scram(token: bytes) -> str:
    header, _, bare = token.decode().partition(",")
    authorization, _, bare = bare.partition(",")
    if header not in ("n", "y") or not bare.startswith("n="):
        raise UnreadableToken("The first SCRAM message has no user name.")
    user = bare[2:].partition(",")[0].replace("=2C", ",").replace("=3D", "=")
    if not user:
        raise UnreadableToken("The first SCRAM message has an empty user name.")
    if any(extension.partition("=")[0] == "tokenauth" for extension in bare.split(",")):
        raise UnreadableToken("Delegation tokens are not supported: their id is not an AppID.")
    if authorization not in ("", f"a={user}"):
        raise UnreadableToken("SCRAM with an authorization id other than the user name is not allowed.")
    return user


def _bearer(token: bytes, claim: str) -> str:
    header, _, rest = token.decode().partition("\x01")
    tokens = [part[len("auth=") :] for part in rest.split("\x01") if part.startswith("auth=")]
    # Of several tokens a broker takes the last, so more than one is refused: the user read here must be the one
    # signed in.
    bearer = tokens[0] if len(tokens) == 1 else ""
    scheme, _, jwt = bearer.partition(" ")
    parts = jwt.strip().split(".")
    if not header.startswith("n,") or scheme.lower() != "bearer" or len(parts) != 3:
        raise UnreadableToken("The OAUTHBEARER message has no bearer token of three parts (a JWT).")
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        user = claims.get(claim) if isinstance(claims, dict) else None
    except (ValueError, RecursionError):
        raise UnreadableToken("The claims of the OAUTHBEARER token cannot be read.") from None
    if not isinstance(user, str) or not user:
        raise UnreadableToken(f"The OAUTHBEARER token has no claim {claim!r} that names its user.")
    try:
        user.encode()
    except UnicodeEncodeError:  # JSON can spell half a character
        raise UnreadableToken("The user of the OAUTHBEARER token is no text.") from None
    authorization = header[2:].rstrip(",")
    if authorization not in ("", f"a={user}"):
        raise UnreadableToken("OAUTHBEARER with an authorization id other than the user name is not allowed.")
    return user
