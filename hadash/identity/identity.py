"""The identities that can be bound to a cluster, and the one text form of each.

======================= ============================ =========================
identity                is bound                     is written
======================= ============================ =========================
``Identity("shop")``    the AppID as a whole         ``shop``
``… instance_id="web"`` AppID + InstanceID           ``shop+web``
``… topics=("t",)``     one Topic of the AppID       ``shop#t``
``… topics=("t","u")``  a Topic list of the AppID    ``shop#t,u``
``… group="g"``         one consumer group           ``shop##g``
======================= ============================ =========================

Each name is percent-encoded, so the text has exactly one reading whatever characters a name holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from hadash.identity.names import decode, encode

#: The characters that separate names; an encoded name holds none of them.
SEPARATORS = "+#,"


class NotAnIdentity(ValueError):
    """A text that is not an identity. The message says what is expected."""


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """An AppID (the principal a client signs in as), narrowed by at most one of InstanceID, Topics and group.

    ``topics`` is sorted and holds every name once: a Topic list is a set.

    :raises NotAnIdentity: a name is empty, or more than one of InstanceID, Topics and group is given.
    """

    appid: str
    #: The exact ``client.id``.
    instance_id: str | None = None
    topics: tuple[str, ...] = ()
    group: str | None = None

    def __post_init__(self) -> None:
        narrowed = [self.instance_id is not None, bool(self.topics), self.group is not None]
        if sum(narrowed) > 1:
            raise NotAnIdentity("An identity has an InstanceID, Topics or a group: not two of them.")
        names = (self.appid, *self.topics, *(n for n in (self.instance_id, self.group) if n is not None))
        if not all(names):
            raise NotAnIdentity("A name in an identity is empty.")
        object.__setattr__(self, "topics", tuple(sorted(set(self.topics))))

    @property
    def key(self) -> str:
        """The unambiguous text for locks, journals and the API; :func:`parse` reads it.

        >>> Identity('shop', 'web#1').key
        'shop+web%231'
        >>> Identity('shop', topics=('returns', 'orders')).key
        'shop#orders,returns'
        >>> Identity('shop', group='readers').key
        'shop##readers'
        """
        appid = encode(self.appid)
        if self.instance_id is not None:
            return f"{appid}+{encode(self.instance_id)}"
        if self.group is not None:
            return f"{appid}##{encode(self.group)}"
        if self.topics:
            return f"{appid}#{','.join(encode(topic) for topic in self.topics)}"
        return appid

    def __str__(self) -> str:
        """Return the text for people: the names without encoding.

        >>> str(Identity('shop', 'web#1'))
        'shop › web#1'
        """
        if self.instance_id is not None:
            return f"{self.appid} › {self.instance_id}"
        if self.group is not None:
            return f"{self.appid}##{self.group}"
        return f"{self.appid}#{', '.join(self.topics)}" if self.topics else self.appid


def parse(text: str) -> Identity:
    """Return the identity that :attr:`Identity.key` wrote.

    :raises NotAnIdentity: the text is not a key. The message says what is wrong.

    >>> parse('shop##readers')
    Identity(appid='shop', instance_id=None, topics=(), group='readers')
    """
    appid, hash_sign, rest = text.partition("#")
    if not hash_sign:
        appid, plus, instance = text.partition("+")
        _refuse_separators(instance)
        return Identity(decode(appid), decode(instance) if plus else None)
    _refuse_separators(appid)
    if rest.startswith("#"):
        _refuse_separators(rest[1:])
        return Identity(decode(appid), group=decode(rest[1:]))
    topics = rest.split(",")
    for topic in topics:
        _refuse_separators(topic)
    return Identity(decode(appid), topics=tuple(decode(topic) for topic in topics))


def _refuse_separators(part: str) -> None:
    if any(separator in part for separator in SEPARATORS):
        raise NotAnIdentity(
            f"{part!r} is no name in an identity: write AppID, AppID+InstanceID, AppID#Topic, AppID#Topic,Topic "
            "or AppID##Group, with +, # and , inside a name percent-encoded."
        )
