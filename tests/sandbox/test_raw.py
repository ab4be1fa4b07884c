"""What the sandbox's own clients send, byte by byte."""

from __future__ import annotations

import struct
import time

from hadash_sandbox.bench.raw import _batch


def test_a_record_is_of_now() -> None:
    """One of 1970 would be in a segment that its broker deletes as soon as it has begun another one: acknowledged, and
    on no cluster.
    """
    before = time.time_ns() // 1_000_000
    first, last = struct.unpack_from(">qq", _batch(b"value", b"key", []), offset=27)
    assert before <= first == last <= time.time_ns() // 1_000_000
