"""Declared relations: an InstanceID, or an AppID as a whole, uses a Topic or group. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Sequence
from itertools import chain, count
from typing import NamedTuple

from hadash.identity.names import MAX_NAME_LENGTH, fitting, printable
from hadash.sentences import Sentence, say

#: The kinds of use that can be declared; the same as those that are observed.
PRODUCE, CONSUME, GROUP = "produce", "consume", "group"
KINDS = (PRODUCE, CONSUME, GROUP)

#: Kafka's own limit: a Topic is a folder on a broker's disk, with its partition's number behind the name.
MAX_TOPIC_LENGTH = 249

#: The length of the column. Kafka limits a group's name only by the size of a string in its protocol.
MAX_GROUP_LENGTH = 255

#: The length of a note, which is one line; longer texts can be linked from it.
MAX_NOTE_LENGTH = 500

#: Characters of a name that a sentence quotes, at most.
QUOTED = 60

_TOPIC = re.compile(r"[A-Za-z0-9._-]+")

#: Characters that a generated client.id avoids: tools split at blanks, and ``HA#AppID#Topic`` has a meaning of
#: its own.
_UNFIT = re.compile(r"[\s#\x00-\x1f\x7f]+")


class Relation(NamedTuple):
    """A use that can be declared, and can be seen. Relations sort in the order in which pages list them."""

    appid: str
    #: The client.id; empty for the AppID as a whole, or for a seen client without one.
    instance_id: str
    #: One of :data:`KINDS`.
    kind: str
    #: The Topic; for kind group the consumer group.
    resource: str

    @property
    def whole(self) -> Relation:
        """The same relation of the AppID as a whole."""
        return self._replace(instance_id="")

    @property
    def who(self) -> str:
        return f"{self.appid} › {self.instance_id}" if self.instance_id else self.appid

    def __str__(self) -> str:
        return f"{self.who} {self.kind} {self.resource}"


def fault_of(relation: Relation) -> Sentence | None:
    """Return why a relation cannot be declared, and what to do; ``None`` when it can. Does not check that its
    AppID exists.
    """
    if relation.kind not in KINDS:
        return say(
            "“%(kind)s” is no kind of use. Write produce, consume or group.", kind=_quoted(relation.kind)
        )
    fault = _fault_of_name(relation.instance_id, MAX_NAME_LENGTH)
    if fault is not None:
        return fault
    if not relation.resource:
        return say("Nothing is said to be used. Name a Topic; for the kind group, a consumer group.")
    if relation.kind == GROUP:
        return _fault_of_name(relation.resource, MAX_GROUP_LENGTH)
    legal = _TOPIC.fullmatch(relation.resource) and relation.resource not in (".", "..")
    if legal and len(relation.resource) <= MAX_TOPIC_LENGTH:
        return None
    return say(
        "Kafka has no Topic of the name “%(name)s”. Its letters can be A to Z, a to z, digits, dots, underscores and "
        "hyphens, at most %(limit)s of them.",
        name=_quoted(relation.resource),
        limit=MAX_TOPIC_LENGTH,
    )


def fault_of_note(note: str) -> Sentence | None:
    """Return what is wrong with a note, as :func:`one_line` returns it; ``None`` when it is valid."""
    return _fault_of_name(note, MAX_NOTE_LENGTH)


def one_line(note: str) -> str:
    """Return a note as it is stored: one line with single blanks.

    >>> one_line("  asked for by\\r\\nChen ")
    'asked for by Chen'
    """
    return " ".join(note.split())


def _fault_of_name(name: str, limit: int) -> Sentence | None:
    if len(name) > limit:
        return say(
            "“%(name)s” has %(length)s characters. Shorten it to %(limit)s.",
            name=_quoted(name),
            length=len(name),
            limit=limit,
        )
    if any(ord(character) < 32 or ord(character) == 127 for character in name):
        return say("“%(name)s” holds a control character. Remove it.", name=_quoted(name))
    if name != name.strip():
        return say("“%(name)s” begins or ends with a blank. Remove it.", name=name)
    return None


def _quoted(name: str) -> str:
    return printable(name, QUOTED)


def new_instance_ids(appid: str, topics: Iterable[str], taken: Container[str]) -> dict[str, str]:
    """Return a new InstanceID for each Topic, none of which is ``taken``.

    >>> new_instance_ids("shop", ["orders", "carts"], {"shop-carts"})
    {'orders': 'shop-orders', 'carts': 'shop-carts-2'}
    """
    found: dict[str, str] = {}
    for topic in topics:
        base = _UNFIT.sub("-", f"{appid}-{topic}")
        tries = chain([""], (f"-{number}" for number in count(2)))
        names = (fitting(base, MAX_NAME_LENGTH - len(end)) + end for end in tries)
        # (The second try for one Topic can be the first for another: "carts" and "carts-2".)
        found[topic] = next(name for name in names if name not in taken and name not in found.values())
    return found


def generated_ids(
    appid: str, topics: Sequence[str], taken: Container[str], *, one: bool, ending: Callable[[], str]
) -> dict[str, tuple[str, ...]]:
    """Return new InstanceIDs, none of which is ``taken``, with their Topics: one for each Topic, or ``one`` for
    all.

    :param ending: returns an ending that makes a name unique; called again while the name is taken.

    >>> generated_ids("shop", ["orders", "carts"], {}, one=False, ending=iter(["a7", "b9"]).__next__)
    {'shop-orders-a7': ('orders',), 'shop-carts-b9': ('carts',)}
    >>> generated_ids("shop", ["orders", "carts"], {}, one=True, ending=lambda: "a7")
    {'shop-2-topics-a7': ('orders', 'carts')}
    """
    wanted = [tuple(topics)] if one else [(topic,) for topic in topics]
    found: dict[str, tuple[str, ...]] = {}
    for some in wanted:
        stem = some[0] if len(some) == 1 else f"{len(some)}-topics"
        base = _UNFIT.sub("-", f"{appid}-{stem}")
        endings = (f"-{ending()}" for _ in count())
        names = (fitting(base, MAX_NAME_LENGTH - len(end)) + end for end in endings)
        found[next(name for name in names if name not in taken and name not in found)] = some
    return found
