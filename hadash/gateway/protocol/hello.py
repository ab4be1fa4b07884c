"""The begin of a TLS handshake, looked at before it is worked on: the answer to it is the part that costs (a
signature, a millisecond of a processor). Once the event loop has a connection, it answers as soon as all has
come, however many others come in the same round. So it gets one only when its client's hello is there, and it
is its turn.
"""

from __future__ import annotations

import asyncio
import socket

#: Bytes of a client's hello with its framing. Kafka clients send some hundred; two thousand with keys that
#: withstand quantum computers.
MAX_HELLO_BYTES = 16_384

_HANDSHAKE = 22
_RECORD_HEADER_BYTES = 5
_MESSAGE_HEADER_BYTES = 4


class TooLong(Exception):
    """No client's hello is so long."""


def needed(data: bytes) -> int:
    """How many bytes have to be there at least for a whole hello, which may be cut into several records; 0
    when it is whole, or when it is none (TLS refuses that at once).

    >>> needed(b""), needed(b"GET /"), needed(bytes((22, 3, 1, 0, 200, 1, 0, 0, 196)))
    (5, 0, 205)
    """
    at, hello = 0, b""
    while True:
        header = data[at : at + _RECORD_HEADER_BYTES]
        length = int.from_bytes(header[3:], "big")
        if header and header[0] != _HANDSHAKE:
            return 0
        if len(header) < _RECORD_HEADER_BYTES:
            return at + _RECORD_HEADER_BYTES
        if length == 0:
            return 0
        at += _RECORD_HEADER_BYTES + length
        hello += data[at - length : at]
        size = int.from_bytes(hello[1:_MESSAGE_HEADER_BYTES], "big")
        if len(hello) >= _MESSAGE_HEADER_BYTES + size:
            return 0
        if len(data) < at:
            return at


async def comes(loop: asyncio.AbstractEventLoop, accepted: socket.socket) -> None:
    """Wait for a whole hello, or the end of the connection; nothing is taken from it.

    :raises TooLong: it is longer than any. :raises OSError: the connection is broken.
    """
    accepted.setblocking(False)
    wanted = _RECORD_HEADER_BYTES
    try:
        while True:
            # The kernel tells only when so much is there: nothing turns in circles for one that sends bytes one by one.
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, wanted)
            await _readable(loop, accepted)
            data = _peek(accepted)
            if len(data) < wanted:  # no more comes
                return
            wanted = needed(data)
            if wanted == 0:
                return
            if wanted > MAX_HELLO_BYTES:
                raise TooLong
    finally:
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)


def _peek(accepted: socket.socket) -> bytes:
    try:
        return accepted.recv(MAX_HELLO_BYTES, socket.MSG_PEEK)
    except (BlockingIOError, InterruptedError):
        return b""


async def _readable(loop: asyncio.AbstractEventLoop, accepted: socket.socket) -> None:
    readable: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        loop.remove_reader(accepted)
        if not readable.done():
            readable.set_result(None)

    loop.add_reader(accepted, tell)
    try:
        await readable
    finally:
        loop.remove_reader(accepted)
