"""Where a client's TLS hello ends."""

from __future__ import annotations

import ssl

from hadash.gateway.protocol.hello import needed


def hello() -> bytes:
    """What a client sends first: one record."""
    sent = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return sent.read()


def in_records(record: bytes, size: int) -> bytes:
    """The same message, in records of ``size``."""
    message = record[5:]
    parts = [message[at : at + size] for at in range(0, len(message), size)]
    return b"".join(record[:3] + len(part).to_bytes(2, "big") + part for part in parts)


def test_a_hello_is_whole_with_its_last_byte() -> None:
    whole = hello()
    assert needed(whole) == 0
    assert [needed(whole[:length]) for length in range(5)] == [5] * 5
    assert {needed(whole[:length]) for length in range(5, len(whole))} == {len(whole)}


def test_one_in_several_records_is_whole_with_the_last() -> None:
    for size in (1, 3, 100):
        cut = in_records(hello(), size)
        assert needed(cut) == 0
        assert all(needed(cut[:length]) > length for length in range(len(cut)))


def test_what_is_no_handshake_needs_nothing_more() -> None:
    for data in (
        b"\0\0\0\x0e",
        b"\x15\x03\x01\0\x02",
        bytes((22, 3, 1, 0, 0)),
        in_records(hello(), 9)[:14] + b"\x17",
    ):
        assert needed(data) == 0
