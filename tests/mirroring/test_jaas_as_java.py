"""What Kafka reads of the line that hadash writes for its accounts: the same name and password, whatever is in them."""

from __future__ import annotations

import random

import pytest
from support.java_program import answers

from hadash.kafka.jaas import UnknownMechanism, login

#: What a tokenizer may stumble over, and what people have in passwords.
PIECES = [
    *"\"\\;'=/#$% \t\n\r\f\b\0",
    "//",
    "/*",
    "*/",
    "${file:x}",
    r"\n",
    r"\077",
    "a",
    "Z9",
    "ß",
    "中文",
    "😀",
    "\u2028",
]
LINES = 2000


def text(rng: random.Random) -> str:
    return "".join(rng.choices(PIECES, k=rng.choice((1, 2, 3, 5, 12))))


@pytest.mark.stack  # the stack's jars, and a JVM
def test_kafka_reads_what_was_meant() -> None:
    rng = random.Random(1)
    wanted = [(text(rng), text(rng)) for _ in range(LINES)]
    lines = [login(rng.choice(("PLAIN", "SCRAM-SHA-512")), *each).encode().hex() for each in wanted]
    read = [
        tuple(bytes.fromhex(word).decode() for word in line.split(" ")) if line[:1] != "!" else line
        for line in answers("JaasLines", lines)
    ]
    assert [pair for pair in zip(wanted, read, strict=True) if pair[0] != pair[1]] == []


def test_a_mechanism_that_nobody_can_write_down_is_refused() -> None:
    with pytest.raises(UnknownMechanism):
        login("GSSAPI", "shop", "")
