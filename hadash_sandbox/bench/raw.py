"""A minimal Kafka client on an event loop, for many connections, and for latencies without those of a library."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import os
import struct
import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, cast

from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import (
    ErrorCode,
    build,
    decode_response,
    encode_request,
    nested_class,
    request_class,
)
from hadash.gateway.protocol.wire import FrameSplitter
from hadash_sandbox.errors import SandboxError

_MAX_FRAME = 1 << 30


class Refused(Exception):
    """The server did not sign the client in."""


class RawConnection(asyncio.Protocol):
    """One connection; the answers have to come in the order of the requests."""

    def __init__(self, client_id: str = "bench") -> None:
        self.client_id = client_id
        self._frames = FrameSplitter(_MAX_FRAME)
        self._waiting: deque[asyncio.Future[bytes]] = deque()
        self._transport: asyncio.Transport | None = None
        self.lost = False

    @classmethod
    async def open(cls, address: tuple[str, int], client_id: str = "bench") -> RawConnection:
        """Open a connection.

        :raises OSError: it cannot be opened.
        """
        made = cls(client_id)
        await asyncio.get_running_loop().create_connection(lambda: made, *address)
        return made

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        for payload, _ in self._frames.feed(data):
            answered = self._waiting.popleft()
            if not answered.done():
                answered.set_result(payload)

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True
        for answered in self._waiting:
            if not answered.done():
                answered.set_exception(ConnectionResetError("the other side hung up"))

    def send(self, data: bytes) -> asyncio.Future[bytes]:
        """Send a framed request; return a future of the answer's payload.

        The future raises ConnectionResetError when the connection ends before the answer.
        """
        assert self._transport is not None
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.append(answered)
        self._transport.write(data)
        return answered

    async def call(self, kind: ApiKey, version: int, **values: Any) -> Any:
        """Send a request with these fields; return its decoded response."""
        message = build(request_class(kind, version), **values)
        payload = await self.send(encode_request(kind, version, 1, self.client_id, message))
        return decode_response(kind, version, payload)

    async def sign_in(self, user: str, password: str, mechanism: str = "PLAIN") -> RawConnection:
        """Sign in with PLAIN or SCRAM; return the connection itself.

        :raises Refused: the server refuses it; the message is its reason.
        """
        await self.call(ApiKey.SASL_HANDSHAKE, 1, mechanism=mechanism)
        if mechanism == "PLAIN":
            await self._authenticate(f"\0{user}\0{password}".encode())
        else:
            await self._scram(user, password, mechanism.removeprefix("SCRAM-").replace("-", "").lower())
        return self

    async def _authenticate(self, token: bytes) -> bytes:
        response = await self.call(ApiKey.SASL_AUTHENTICATE, 1, auth_bytes=token)
        if response.error_code is not ErrorCode.none:
            raise Refused(response.error_message or response.error_code.name)
        answer: bytes = response.auth_bytes
        return answer

    async def _scram(self, user: str, password: str, digest: str) -> None:
        """Sign in with SCRAM (RFC 5802).

        It is implemented here because a library would derive the key each time, which must not be measured.
        """
        bare = f"n={user},r={os.urandom(12).hex()}"
        first = (await self._authenticate(f"n,,{bare}".encode())).decode()
        fields = dict(part.split("=", 1) for part in first.split(","))
        salted = _salted(digest, password, fields["s"], int(fields["i"]))
        key = hmac.digest(salted, b"Client Key", digest)
        without_proof = f"c=biws,r={fields['r']}"
        signed = f"{bare},{first},{without_proof}".encode()
        signature = hmac.digest(hashlib.new(digest, key).digest(), signed, digest)
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        await self._authenticate(f"{without_proof},p={base64.b64encode(proof).decode()}".encode())

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


_derived: dict[tuple[str, str, str, int], bytes] = {}


def _salted(digest: str, password: str, salt: str, rounds: int) -> bytes:
    """The salted password, derived only once for each user: clients need not derive it at each connection."""
    key = digest, password, salt, rounds
    if key not in _derived:
        _derived[key] = hashlib.pbkdf2_hmac(digest, password.encode(), base64.b64decode(salt), rounds)
    return _derived[key]


def produce_request(
    topic: str,
    value: bytes,
    client_id: str = "bench",
    version: int = 7,
    *,
    key: bytes | None = None,
    headers: Sequence[tuple[str, bytes]] = (),
    acks: int = 1,
) -> bytes:
    """A framed PRODUCE of one record to partition 0."""
    request = request_class(ApiKey.PRODUCE, version)
    partition = build(
        nested_class(request, "PartitionProduceData"), index=0, records=_batch(value, key, headers)
    )
    data = build(nested_class(request, "TopicProduceData"), name=topic, partition_data=(partition,))
    message = build(
        request, transactional_id=None, acks=acks, timeout=timedelta(seconds=30), topic_data=(data,)
    )
    return encode_request(ApiKey.PRODUCE, version, 1, client_id, message)


def produce_error(payload: bytes, version: int = 7) -> ErrorCode:
    """The error code of the one partition in the answer to a :func:`produce_request`."""
    answer = decode_response(ApiKey.PRODUCE, version, payload)
    found: ErrorCode = answer.responses[0].partition_responses[0].error_code
    return found


def check_written(answers: Iterable[bytes]) -> None:
    """Check the answers of PRODUCE requests.

    :raises SandboxError: a request was refused, so that its latency is not that of a write.
    """
    refused = Counter(code.name for code in map(produce_error, answers) if code is not ErrorCode.none)
    if refused:
        raise SandboxError(f"PRODUCE was refused, so that no latency was measured: {dict(refused)}.")


def metadata_request(client_id: str = "bench", version: int = 8) -> bytes:
    """A framed METADATA for all Topics."""
    message = build(
        request_class(ApiKey.METADATA, version),
        topics=None,
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )
    return encode_request(ApiKey.METADATA, version, 1, client_id, message)


def _batch(value: bytes, key: bytes | None, headers: Sequence[tuple[str, bytes]]) -> bytes:
    """A record batch (magic 2) that holds one record, of now: a broker deletes one of 1970 as soon as a later one has
    begun another segment.
    """
    now = time.time_ns() // 1_000_000
    keyed = _varint(-1) if key is None else _varint(len(key)) + key
    named = b"".join(
        _varint(len(name)) + name.encode() + _varint(len(content)) + content for name, content in headers
    )
    record = b"\0\0\0" + keyed + _varint(len(value)) + value + _varint(len(headers)) + named
    record = _varint(len(record)) + record
    body = struct.pack(">hiqqqhii", 0, 0, now, now, -1, -1, -1, 1) + record
    head = struct.pack(">qiib", 0, 4 + 1 + 4 + len(body), -1, 2)
    return head + struct.pack(">I", _crc32c(body)) + body


def _varint(number: int) -> bytes:
    number = (number << 1) ^ (number >> 63)  # zigzag: -1 becomes 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
