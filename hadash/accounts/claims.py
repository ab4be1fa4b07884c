"""The claims of an OpenID Connect provider about a person, read as hadash's user name, names and roles. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hadash.sentences import Sentence, say

#: As Django's user names: letters and digits of any language, and @ . + - _
_USERNAME = re.compile(r"[\w.@+-]{1,150}")
_NAME_LENGTH = 150
_EMAIL_LENGTH = 254
_SUBJECT_LENGTH = 255


class Refused(Exception):
    """A sign-in through the provider is refused. ``username`` is empty when it is not certain."""

    def __init__(self, sentence: Sentence, username: str = "") -> None:
        super().__init__(str(sentence))
        self.sentence = sentence
        self.username = username


@dataclass(frozen=True, slots=True)
class Rules:
    """How to read the claims.

    :param username_claim: the claim with the user name.
    :param groups_claim: the claim with the groups.
    :param roles: group → role.
    :param default_role: the role of people without a mapped group; empty for none.
    """

    username_claim: str
    groups_claim: str
    roles: Mapping[str, str]
    default_role: str = ""


@dataclass(frozen=True, slots=True)
class Person:
    """A person as the provider describes them. ``subject`` is the provider's permanent name for this person."""

    subject: str
    username: str
    first_name: str
    last_name: str
    email: str
    roles: frozenset[str]


def person_of(claims: Mapping[str, Any], rules: Rules) -> Person:
    """Read a person from the claims.

    :raises Refused: the subject is missing, or the user name is missing or impossible.
    """
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
    """Return the claim of this name; a dot leads into a nested claim. ``None`` if there is none.

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
    """Return the groups in a claim, which is a list of names or one name; anything else holds none.

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
    # Names that look alike get one spelling, as Django stores it.
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
    """Return the first and last name, split from the full name if the provider does not give them separately."""
    first, last = _text(claims.get("given_name")), _text(claims.get("family_name"))
    if not first and not last:
        first, _, last = _text(claims.get("name")).partition(" ")
    return first, last


def _text(value: Any, length: int = _NAME_LENGTH) -> str:
    return value.strip()[:length] if isinstance(value, str) else ""
