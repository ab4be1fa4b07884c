"""What a member of a pool does with records in tests: it writes down which ones it has handled."""

from __future__ import annotations

import os
from functools import cache

from confluent_kafka import Message

from hadash_sandbox.traffic.records import number_of

#: The file to which handled records are written; several processes append to it.
NOTES = "HADASH_NOTES"


@cache
def _notes() -> int:
    return os.open(os.environ[NOTES], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def handle(record: Message) -> None:
    """Write the key and the number of a record of the demo's producers, and the member."""
    key, value = record.key(), record.value()
    number = number_of(key, value)
    name = (key or b"").decode(errors="replace")
    os.write(_notes(), f"{name} {number} {os.environ['HADASH_MEMBER_NAME']}\n".encode())
