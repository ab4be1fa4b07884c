"""Looks at the beginning of a TLS handshake before it is answered.

The answer is the expensive part (a signature, a millisecond of a processor). Once the event loop has a connection, it
answers as soon as the whole hello has arrived, however many others arrive in the same round. So the loop gets a
connection only when its client's hello is there and its turn has come.
"""

from __future__ import annotations

import asyncio
import socket

#: The most bytes of a client's hello with its framing. Kafka clients send some hundred; two thousand with keys that
#: withstand quantum computers.
MAX_HELLO_BYTES = 16_384

_HANDSHAKE = 22
_RECORD_HEADER_BYTES = 5
_MESSAGE_HEADER_BYTES = 4


class TooLong(Exception):
    """The hello is longer than that of any client."""


def needed(data: bytes) -> int:
    """Return how many bytes a whole hello needs at least; 0 when it is whole, or is not a hello.

    A hello may be cut into several records. TLS itself refuses at once what is not a hello.

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
    """Wait for a whole hello, or the end of the connection, without consuming any bytes.

    :raises TooLong: the hello is longer than :data:`MAX_HELLO_BYTES`.
    :raises OSError: the connection is broken.
    """
    accepted.setblocking(False)
    wanted = _RECORD_HEADER_BYTES
    try:
        while True:
            # The kernel reports only when this many bytes are there: a client that sends single bytes causes no
            # wake-ups.
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, wanted)
            await _readable(loop, accepted)
            data = _peek(accepted)
            if len(data) < wanted:  # no more will come
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
