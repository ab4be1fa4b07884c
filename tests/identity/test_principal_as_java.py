"""Names and mapping rules beside Java's own: whatever a certificate says, a Gateway and the brokers behind it
name the same principal.

One JVM answers for all names and rules, which are made from a seed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from support.java_program import answers

from hadash.identity.distinguished_name import KEYWORDS, BadName, name_of
from hadash.identity.principal import BadRules, NoRule, PrincipalMapper

pytestmark = pytest.mark.stack  # the stack's jars, and a JVM

NAMES = 4000

#: Attribute types, with those that Java does not write by name: emailAddress, serialNumber, title, and one
#: that nobody knows.
TYPES = [
    *KEYWORDS,
    "1.2.840.113549.1.9.1",
    "2.5.4.5",
    "2.5.4.12",
    "1.3.6.1.4.1.99999.2147483648.7",
    "2.999.1",
]
UTF8, PRINTABLE, T61, IA5, BMP, UNIVERSAL, NUMERIC, VISIBLE, INTEGER = 12, 19, 20, 22, 30, 28, 18, 26, 2
STRINGS = [UTF8, PRINTABLE, T61, IA5, BMP, UNIVERSAL, NUMERIC, VISIBLE, INTEGER]
PIECES = [
    *' ,=+<>#;"\\/\r\n\t\0',
    "CN=",
    ",CN=victim",
    "shop",
    "a",
    "Z9",
    "é",
    "ß",
    "İ",
    "中文",
    "😀",
    "\u0301",
    "  ",
]

RULES = [
    "DEFAULT",
    # Those of Kafka's documentation.
    r"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,DEFAULT",
    r"RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,DEFAULT",
    r"RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L,DEFAULT",
    r"RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U , DEFAULT",
    # No anchors: what replaceAll does with a pattern that is satisfied with less.
    r"RULE:.*/x/",
    r"RULE:(.*)/$1/U",
    r"RULE:CN=(.*?)/$1/L, RULE:(?:.*)CN=(\w+).*/$1/,DEFAULT",
    r"RULE:(.+?)/[$1]/",
    r"RULE:([A-Z]*)(=?)(.*)/$3$2$1/",
    r"RULE:(?i)cn=([^,+]+).*/$1/,DEFAULT",
    r"RULE:.*\\.*/backslash/,RULE:.*\/.*/slash\/\$\\/,DEFAULT",
    r"RULE:^(C)(N)(=)(.*)$/$4$5-$0/,DEFAULT",
    r"RULE:(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.*)/$11.$10.$12.$110/,DEFAULT",
    r"RULE:(.*)/$1$2$3/",
    r"RULE:(.+)/$9/L",
    r"RULE:\w\w=\d*\s*\S(.*)/$1/,RULE:(?:.*\W)?shop(?:\W.*)?/shop/,DEFAULT",
    r"RULE:CN=a/a/",
]


def element(tag: int, content: bytes) -> bytes:
    """In DER."""
    if len(content) < 128:
        return bytes((tag, len(content))) + content
    length = len(content).to_bytes(2, "big").lstrip(b"\0")
    return bytes((tag, 0x80 | len(length))) + length + content


def identifier(dotted: str) -> bytes:
    first, second, *others = map(int, dotted.split("."))
    octets = bytearray()
    for number in (40 * first + second, *others):
        groups = [number >> shift & 0x7F for shift in range(0, max(number.bit_length(), 1), 7)]
        octets += bytes([group | 0x80 for group in groups[:0:-1]] + [groups[0]])
    return element(6, bytes(octets))


def value(rng: random.Random) -> bytes:
    text = "".join(rng.choices(PIECES, k=rng.choice((0, 1, 1, 2, 3, 5))))
    tag = rng.choice(STRINGS) if rng.random() < 0.6 else UTF8
    if tag == INTEGER:
        return element(INTEGER, bytes((rng.randrange(1, 128),)))
    if rng.random() < 0.05:
        return element(tag, rng.randbytes(4))  # of no encoding at all
    encoding = {BMP: "utf-16-be", UNIVERSAL: "utf-32-be", T61: "latin-1", PRINTABLE: "latin-1"}.get(
        tag, "utf-8"
    )
    return element(tag, text.encode(encoding, "replace"))


def distinguished_name(rng: random.Random) -> bytes:
    """A DER name; few of them are ones that an authority would issue."""
    rdns = []
    for _ in range(rng.choice((0, 1, 1, 2, 3, 4, 6))):
        attributes = [
            element(0x30, identifier(rng.choice(TYPES)) + value(rng))
            for _ in range(rng.choice((1, 1, 1, 2, 3)))
        ]
        rdns.append(element(0x31, b"".join(attributes)))
    return element(0x30, b"".join(rdns))


def java(lines: Sequence[str]) -> list[str]:
    """What Java says to each line."""
    return answers("Principals", lines)


def own_name(der: bytes) -> str | None:
    try:
        return name_of(der)
    except BadName:
        return None


def own_principal(rules: str, name: str) -> str | None:
    try:
        return PrincipalMapper.read(rules).appid(name)
    except (NoRule, BadRules):
        return None


def said(line: str) -> str | None:
    """What Java has answered; ``None``: it refuses."""
    return bytes.fromhex(line[2:]).decode() if line.startswith("= ") else None


def test_names_and_principals_are_those_of_java() -> None:
    rng = random.Random(15)
    ders = [distinguished_name(rng) for _ in range(NAMES)]
    names = [own_name(der) for der in ders]
    mapped = [(rng.choice(RULES), name) for name in names if name is not None]
    answers = java(
        [f"name {der.hex()}" for der in ders]
        + [f"map {rules.encode().hex()} {name.encode().hex()}" for rules, name in mapped]
    )
    assert len(answers) == len(ders) + len(mapped)

    different = [
        (der.hex(), name, answer)
        for der, name, answer in zip(ders, names, map(said, answers), strict=False)
        if name != answer
    ]
    assert different[:5] == []

    principals = list(zip(mapped, map(said, answers[len(ders) :]), strict=True))
    different = [
        (rules, name, own_principal(rules, name), answer)
        for (rules, name), answer in principals
        # Stricter than Kafka on purpose: a name with a line end, and an empty one, are nobody's.
        if own_principal(rules, name) != (answer or None) and not set(name) & set("\n\r\u0085\u2028\u2029")
    ]
    assert different[:5] == []
    assert sum(answer is not None for _, answer in principals) > NAMES / 2
