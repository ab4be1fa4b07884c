"""Map the subject of a client certificate to an AppID, by Kafka's own ``ssl.principal.mapping.rules``.

The rules are separated by commas. ``DEFAULT`` takes the whole distinguished name. ``RULE:pattern/replacement/`` takes
the replacement when the pattern matches the whole name; a trailing ``L`` or ``U`` turns the result into lower or upper
case. The first rule that matches wins. ``/`` inside a pattern or replacement is written ``\\/``.

The result equals that of Kafka's ``SslPrincipalMapper`` exactly (``tests/identity/test_principal_as_java.py``
compares them), because the clusters' ACLs are written for it. A rule that Java reads differently from Python is
refused at the start.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: One rule, up to the comma or the end, as in Kafka.
_RULE = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))"
    r"\s*(?:,|$)",
    re.ASCII,
)
_REFERENCE = re.compile(r"\$(\d+)", re.ASCII)

#: An escape; and an escape or a set, as far as the set's first end.
_ESCAPE = re.compile(r"\\(?:\d+|.)", re.DOTALL | re.ASCII)
_ESCAPE_OR_SET = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])*\]", re.DOTALL)

#: Escapes that Java's patterns read differently or refuse while Python raises no error: vertical white space, word
#: boundaries (by Unicode up to Java 18, then by ASCII), code points and characters by name, octal numbers, and group
#: numbers with several digits. (``.`` and ``$`` also disagree about line ends, but :data:`_LINE_ENDS` refuses these.)
_ESCAPES_READ_DIFFERENTLY = re.compile(r"\\(?:[vbBNU]|0\d*|\d\d+)", re.ASCII)
#: The same for sets: sets inside sets, their intersection, and a set that begins with its own end.
_SETS_READ_DIFFERENTLY = re.compile(r"(?<!\\)(?:\\\\)*(\[\^?\]|\[(?:\\.|[^\]\\])*(?:\[|&&))")
#: The same outside escapes and sets: groups other than those listed (``(?P<n>…)``, ``(?#…)``, ``(?(1)…)``, ``(?u)``,
#: ``(?x)``, ``(?a)``), a brace that is not a repetition (``{,3}``), and possessive or atomic parts (``(?>…)``,
#: ``a*+``), which Python before 3.11.5 matches wrongly.
_READ_DIFFERENTLY = re.compile(
    r"\(\?(?!:|=|!|<=|<!|[ims]*(?:-[ims]+)?[:)]).?|\{(?!\d+(?:,\d*)?\})|(?:[*+?]|\{\d+(?:,\d*)?\})\+",
    re.ASCII,
)

#: Java's line terminators. No AppID contains one.
_LINE_ENDS = re.compile("[\n\r\u0085\u2028\u2029]")


class BadRules(ValueError):
    """The rules cannot be read. The message says where."""


class NoRule(ValueError):
    """No rule matches a distinguished name."""


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    #: Literal texts and group numbers.
    replacement: tuple[str | int, ...]
    case: str

    def apply(self, name: str) -> str | None:
        if self.pattern.fullmatch(name) is None:
            return None
        found = self._replaced(name)
        return {"L": found.lower, "U": found.upper}.get(self.case, lambda: found)()

    def _replaced(self, name: str) -> str:
        """Return what Java's ``replaceAll`` makes of ``name``.

        The whole name matches, but ``replaceAll`` replaces each part that the pattern finds, which may be shorter.
        """
        done: list[str] = []
        at = copied = 0
        while at <= len(name) and (match := self.pattern.search(name, at)) is not None:
            done.append(name[copied : match.start()])
            done += [(match[part] or "") if isinstance(part, int) else part for part in self.replacement]
            copied = match.end()
            at = copied + (match.start() == copied)  # one further after an empty match
        return "".join(done) + name[copied:]


@dataclass(frozen=True, slots=True)
class PrincipalMapper:
    """Mapping rules in their order.

    >>> PrincipalMapper.read("RULE:^CN=(.*?),OU=Apps.*$/$1/L, DEFAULT").appid("CN=Shop,OU=Apps,O=Acme")
    'shop'
    """

    #: ``None`` is DEFAULT.
    rules: tuple[_Rule | None, ...]

    @classmethod
    def read(cls, text: str) -> PrincipalMapper:
        """Parse the value of ``ssl.principal.mapping.rules``.

        :raises BadRules: a part is not a rule. The message quotes it.
        """
        rules: list[_Rule | None] = []
        at = 0
        text = text.strip()
        while at < len(text):
            found = _RULE.match(text, at)
            if found is None:
                raise BadRules(
                    f"{text[at:].strip()!r} is no mapping rule: write DEFAULT or RULE:pattern/replacement/[LU]."
                )
            rules.append(
                None if found["default"] else _rule(found["pattern"], found["replacement"], found["case"])
            )
            at = found.end()
        return cls(tuple(rules))

    def appid(self, distinguished_name: str) -> str:
        """Return the AppID for a distinguished name.

        :raises NoRule: no rule matches, the matching rule leaves nothing, or the name contains a line end.
        """
        if _LINE_ENDS.search(distinguished_name):
            raise NoRule(f"the name {distinguished_name!r} has a line end in it, which no AppID has")
        for rule in self.rules:
            found = distinguished_name if rule is None else rule.apply(distinguished_name)
            if found is not None:
                if not found:
                    break
                return found
        raise NoRule(f"no mapping rule makes an AppID of {distinguished_name!r}")


def _rule(pattern: str, replacement: str, case: str) -> _Rule:
    """Compile one rule.

    :raises BadRules: Java and Python do not both accept it, or read it differently.
    """
    differs = _read_differently(pattern)
    if differs:
        raise BadRules(
            f"{pattern!r} has {differs} in it, which Kafka's Java reads in another way than a Gateway, or not at all: "
            "write it without."
        )
    try:
        # ASCII gives \w, \d, \s and (?i) their meaning in Java.
        compiled = re.compile(pattern, re.ASCII)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise BadRules(f"{pattern!r} is no pattern that Java and Python read alike ({error}).") from None
    try:
        return _Rule(compiled, _parts(replacement, compiled.groups), case)
    except ValueError as error:
        raise BadRules(f"{replacement!r} is no replacement ({error}).") from None


def _read_differently(pattern: str) -> str:
    """Return the first piece that Java reads differently from Python or refuses; empty if there is none."""
    for escape in _ESCAPE.findall(pattern):
        if _ESCAPES_READ_DIFFERENTLY.fullmatch(escape):
            return str(escape)
    found = _SETS_READ_DIFFERENTLY.search(pattern)
    if found is not None:
        return found[1]
    found = _READ_DIFFERENTLY.search(_ESCAPE_OR_SET.sub("x", pattern))
    return found[0] if found is not None else ""


def _parts(replacement: str, groups: int) -> tuple[str | int, ...]:
    """Split a replacement into texts and group numbers, as Java's ``Matcher`` does.

    :raises ValueError: Java would refuse the replacement.
    """
    text = _literal_references(replacement, groups)
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        if text[at] == "\\":
            parts.append(text[at + 1 : at + 2])
            at += 2
        elif text[at] == "$":
            at += 1
            if not text[at : at + 1].isdecimal() or not text[at].isascii():
                raise ValueError("behind $ stands the number of a group; $ itself is \\$")
            group, at = int(text[at]), at + 1
            while text[at : at + 1] in tuple("0123456789") and group * 10 + int(text[at]) <= groups:
                group, at = group * 10 + int(text[at]), at + 1
            if group > groups:
                raise ValueError(f"the pattern has no group {group}")
            parts.append(group)
        else:
            parts.append(text[at])
            at += 1
    return tuple(parts)


def _literal_references(replacement: str, groups: int) -> str:
    """Escape references to groups that the pattern does not have, as Kafka does: ``$4`` with three groups is a text.

    Two quirks are kept: for a pattern without groups nothing is escaped (a reference is then an error), and of several
    such references only the first is escaped at its place.
    """
    if groups == 0:
        return replacement
    value = replacement
    for reference in _REFERENCE.finditer(replacement):
        number = reference[1]
        if number.startswith("0"):
            continue
        index = int(number)
        while index > groups and index >= 10:
            index //= 10
        if index > groups:
            value = value[: reference.start()] + "\\" + value[reference.start() :]
    return value
