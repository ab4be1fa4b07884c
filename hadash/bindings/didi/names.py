"""The names of identities in DiDi's engine, below ``/config/users`` (docs/didi-engine.md 1.3, 1.4).

================== ============== =======================
identity           user name      node
================== ============== =======================
``Identity("a")``  ``a``          ``a``
``… "P#order1"``   ``a#P#order1`` ``a%23P%23order1``
================== ============== =======================

The engine splits a user name at its first ``#``. An AppID that contains ``#`` could not be told from another AppID's
InstanceID, so it is refused.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from hadash.bindings.errors import NotKnownToEngine
from hadash.identity.identity import Identity
from hadash.sentences import Sentence, say

SEPARATOR = "#"

#: A client.id with this prefix is governed by the Topic that it writes to, unless it has a node of its own (1.4).
BY_TOPIC = "P#"


def sanitized(name: str) -> str:
    """Return a name as Kafka and DiDi's platform write it into a path: URL-encoded, including ``*`` and blanks.

    >>> sanitized("购物 a*b+c~d")
    '%E8%B4%AD%E7%89%A9%20a%2Ab%2Bc%7Ed'
    """
    return quote(name, safe="").replace("~", "%7E")  # Java's URLEncoder encodes it, Python's does not


def desanitized(node: str) -> str:
    """Return the name that :func:`sanitized` encoded.

    >>> desanitized(sanitized("a#P#购物+ *"))
    'a#P#购物+ *'
    """
    return unquote(node)


def refusal_of(identity: Identity) -> Sentence | None:
    """Return why the engine cannot bind ``identity``; ``None`` when it can.

    >>> str(refusal_of(Identity("shop", group="readers")))
    "DiDi's engine binds AppIDs and InstanceIDs only: it knows nothing of shop##readers."
    """
    if identity.topics or identity.group is not None:
        return say(
            "DiDi's engine binds AppIDs and InstanceIDs only: it knows nothing of %(identity)s.",
            identity=identity,
        )
    if SEPARATOR in identity.appid:
        return say(
            "AppID %(appid)s contains #, at which DiDi's engine separates the InstanceID: it could not tell "
            "them apart.",
            appid=identity.appid,
        )
    if user_name(identity) in (".", ".."):
        return say("ZooKeeper has no place for a user named %(appid)s.", appid=identity.appid)
    return None


def user_name(identity: Identity) -> str:
    """Return the user name that stands for ``identity``, not encoded.

    >>> user_name(Identity("appA", "P#order1"))
    'appA#P#order1'
    """
    if identity.instance_id is None:
        return identity.appid
    return f"{identity.appid}{SEPARATOR}{identity.instance_id}"


def node_of(identity: Identity) -> str:
    """Return the node of ``identity`` below ``/config/users``.

    :raises NotKnownToEngine: the engine cannot bind the identity.

    >>> node_of(Identity("appA", "P#order1"))
    'appA%23P%23order1'
    """
    against = refusal_of(identity)
    if against is not None:
        raise NotKnownToEngine(against)
    return sanitized(user_name(identity))


def identity_of(node: str) -> Identity | None:
    """Return the identity that a node stands for; ``None`` if the node is not the name of a user.

    >>> identity_of("appA%23P%23order1")
    Identity(appid='appA', instance_id='P#order1', topics=(), group=None)
    >>> identity_of("%23x") is None
    True
    """
    appid, separator, instance = desanitized(node).partition(SEPARATOR)
    if not appid or (separator and not instance):
        return None
    return Identity(appid, instance if separator else None)
