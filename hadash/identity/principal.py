"""From the subject of a client certificate to an AppID, by Kafka's own ``ssl.principal.mapping.rules``.

A list of rules, separated by commas: ``DEFAULT`` takes the whole distinguished name,
``RULE:pattern/replacement/`` takes the replacement when the pattern matches the whole name, with ``L`` or
``U`` behind it in lower or upper case. The first rule that matches wins. ``/`` inside a pattern or
replacement is written ``\\/``.

The outcome is that of Kafka's ``SslPrincipalMapper`` to the letter
(``tests/identity/test_principal_as_java.py`` compares them), because the clusters' ACLs are written for it; a
rule that Java reads in another way than Python is refused at the start.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: As in Kafka: one rule, up to the comma or the end.
_RULE = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))"
    r"\s*(?:,|$)",
    re.ASCII,
)
_REFERENCE = re.compile(r"\$(\d+)", re.ASCII)

#: An escape, or a set, as far as its first end.
_ESCAPE = re.compile(r"\\(?:\d+|.)", re.DOTALL | re.ASCII)
_ESCAPE_OR_SET = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])*\]", re.DOTALL)

#: What Java's patterns read as something else than Python's or refuse, without an error of Python's. (Names
#: with line ends, about which ``.`` and ``$`` disagree, are nobody's.) Escapes: vertical white space,
#: boundaries of words (by Unicode up to Java 18, then by ASCII), code points and characters by name, octal
#: numbers, and numbers of groups with several digits.
_ESCAPES_READ_DIFFERENTLY = re.compile(r"\\(?:[vbBNU]|0\d*|\d\d+)", re.ASCII)
#: Sets inside of sets and their intersection, and a set that begins with its own end.
_SETS_READ_DIFFERENTLY = re.compile(r"(?<!\\)(?:\\\\)*(\[\^?\]|\[(?:\\.|[^\]\\])*(?:\[|&&))")
#: Outside of both: groups other than these (``(?P<n>…)``, ``(?#…)``, ``(?(1)…)``, ``(?u)``, ``(?x)``,
#: ``(?a)``), a brace that is no repetition (``{,3}``), and what gives nothing back (``(?>…)``, ``a*+``),
#: which Python before 3.11.5 gets wrong.
_READ_DIFFERENTLY = re.compile(
    r"\(\?(?!:|=|!|<=|<!|[ims]*(?:-[ims]+)?[:)]).?|\{(?!\d+(?:,\d*)?\})|(?:[*+?]|\{\d+(?:,\d*)?\})\+",
    re.ASCII,
)

#: Java's line terminators. No AppID has one in it.
_LINE_ENDS = re.compile("[\n\r\u0085\u2028\u2029]")


class BadRules(ValueError):
    """The rules cannot be read. The message says where."""


class NoRule(ValueError):
    """No rule matches a distinguished name."""


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    #: Texts, and the numbers of groups.
    replacement: tuple[str | int, ...]
    case: str

    def apply(self, name: str) -> str | None:
        if self.pattern.fullmatch(name) is None:
            return None
        found = self._replaced(name)
        return {"L": found.lower, "U": found.upper}.get(self.case, lambda: found)()

    def _replaced(self, name: str) -> str:
        """Java's ``replaceAll``: the whole name matches, but a pattern that is satisfied with less is
        replaced where it is.
        """
        done: list[str] = []
        at = copied = 0
        while at <= len(name) and (match := self.pattern.search(name, at)) is not None:
            done.append(name[copied : match.start()])
            done += [(match[part] or "") if isinstance(part, int) else part for part in self.replacement]
            copied = match.end()
            at = copied + (match.start() == copied)  # behind an empty match by one
        return "".join(done) + name[copied:]


@dataclass(frozen=True, slots=True)
class PrincipalMapper:
    """Rules in their order.

    >>> PrincipalMapper.read("RULE:^CN=(.*?),OU=Apps.*$/$1/L, DEFAULT").appid("CN=Shop,OU=Apps,O=Acme")
    'shop'
    """

    #: ``None`` is DEFAULT.
    rules: tuple[_Rule | None, ...]

    @classmethod
    def read(cls, text: str) -> PrincipalMapper:
        """:raises BadRules: with the part that is no rule."""
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
        """:raises NoRule: none matches, or the one that does leaves nothing; or the name has a line end in it."""
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
    """:raises BadRules: Java and Python do not both read it, and alike."""
    differs = _read_differently(pattern)
    if differs:
        raise BadRules(
            f"{pattern!r} has {differs} in it, which Kafka's Java reads in another way than a Gateway, or not at all: "
            "write it without."
        )
    try:
        # ASCII: what \w, \d, \s and (?i) mean in Java.
        compiled = re.compile(pattern, re.ASCII)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise BadRules(f"{pattern!r} is no pattern that Java and Python read alike ({error}).") from None
    try:
        return _Rule(compiled, _parts(replacement, compiled.groups), case)
    except ValueError as error:
        raise BadRules(f"{replacement!r} is no replacement ({error}).") from None


def _read_differently(pattern: str) -> str:
    """The first piece that Java reads otherwise than Python, or not at all; empty if there is none."""
    for escape in _ESCAPE.findall(pattern):
        if _ESCAPES_READ_DIFFERENTLY.fullmatch(escape):
            return str(escape)
    found = _SETS_READ_DIFFERENTLY.search(pattern)
    if found is not None:
        return found[1]
    found = _READ_DIFFERENTLY.search(_ESCAPE_OR_SET.sub("x", pattern))
    return found[0] if found is not None else ""


def _parts(replacement: str, groups: int) -> tuple[str | int, ...]:
    """What Java's ``Matcher`` makes of a replacement: texts and groups.

    :raises ValueError: it would refuse it.
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
    """As Kafka does it: ``$4`` with three groups is a text. (Of a pattern without any group it is an error,
    and of several such references only the first is found at its place.)
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
