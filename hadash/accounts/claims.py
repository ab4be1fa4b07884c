"""What a provider of OpenID Connect says of a person, as hadash's user name, names and roles. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hadash.sentences import Sentence, say

#: As Django's: letters and digits of any language, and @ . + - _
_USERNAME = re.compile(r"[\w.@+-]{1,150}")
_NAME_LENGTH = 150
_EMAIL_LENGTH = 254
_SUBJECT_LENGTH = 255


class Refused(Exception):
    """Somebody whom the provider knows, or may know, does not come in. ``username`` is empty if it is not certain."""

    def __init__(self, sentence: Sentence, username: str = "") -> None:
        super().__init__(str(sentence))
        self.sentence = sentence
        self.username = username


@dataclass(frozen=True, slots=True)
class Rules:
    """How to read the claims: which hold the name and the groups, group → role, and the role of all others or
    ``""``.
    """

    username_claim: str
    groups_claim: str
    roles: Mapping[str, str]
    default_role: str = ""


@dataclass(frozen=True, slots=True)
class Person:
    """``subject`` is what the provider will always call this person; ``roles`` is empty for somebody who has none."""

    subject: str
    username: str
    first_name: str
    last_name: str
    email: str
    roles: frozenset[str]


def person_of(claims: Mapping[str, Any], rules: Rules) -> Person:
    """:raises Refused: without a subject or a user name that can be one."""
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= _SUBJECT_LENGTH:
        raise Refused(say("The provider does not say who you are: the claim sub is missing."))
    first, last = _names(claims)
    return Person(
        subject=subject,
        username=_username(claims, rules.username_claim),
        first_name=first,
        last_name=last,
        email=_text(claims.get("email"), _EMAIL_LENGTH),
        roles=_roles(claims, rules),
    )


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """The claim of this name; a dot leads into a claim that holds others. ``None`` if there is none.

    >>> claim({"realm_access": {"roles": ["a"]}, "https://x.org/groups": ["b"]}, "realm_access.roles")
    ['a']
    >>> claim({"realm_access": {"roles": ["a"]}, "https://x.org/groups": ["b"]}, "https://x.org/groups")
    ['b']
    """
    if name in claims:
        return claims[name]
    head, dot, rest = name.partition(".")
    inner = claims.get(head)
    return claim(inner, rest) if dot and isinstance(inner, Mapping) else None


def groups_of(value: Any) -> frozenset[str]:
    """A list of names, or one name; anything else is none.

    >>> sorted(groups_of(["b", "a", 1])), sorted(groups_of("ops")), sorted(groups_of({"x": 1}))
    (['a', 'b'], ['ops'], [])
    """
    if isinstance(value, str):
        return frozenset([value])
    if isinstance(value, list | tuple):
        return frozenset(entry for entry in value if isinstance(entry, str))
    return frozenset()


def _roles(claims: Mapping[str, Any], rules: Rules) -> frozenset[str]:
    found = groups_of(claim(claims, rules.groups_claim))
    roles = frozenset(role for group, role in rules.roles.items() if group in found)
    return roles or frozenset([rules.default_role] if rules.default_role else [])


def _username(claims: Mapping[str, Any], name: str) -> str:
    value = claim(claims, name)
    if not isinstance(value, str) or not value.strip():
        raise Refused(
            say("The provider does not tell your user name: the claim %(claim)s is missing.", claim=name)
        )
    # One spelling of what looks alike, as Django stores it.
    username = unicodedata.normalize("NFKC", value.strip())
    if not _USERNAME.fullmatch(username):
        raise Refused(
            say(
                "The provider's user name %(user)s cannot be one here: letters, digits and @ . + - _ can, 150 at most.",
                user=username[:_NAME_LENGTH],
            )
        )
    return username


def _names(claims: Mapping[str, Any]) -> tuple[str, str]:
    """First and last name; from the whole name if they are not told apart."""
    first, last = _text(claims.get("given_name")), _text(claims.get("family_name"))
    if not first and not last:
        first, _, last = _text(claims.get("name")).partition(" ")
    return first, last


def _text(value: Any, length: int = _NAME_LENGTH) -> str:
    return value.strip()[:length] if isinstance(value, str) else ""
