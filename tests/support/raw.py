"""A Kafka client of bytes: sends exactly what a test wants, right or wrong, and reads what comes back."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import socket
import ssl
import struct
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import TracebackType
from typing import Any

from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode, build, decode_response, encode_request, request_class
from hadash.gateway.protocol.wire import Request, correlation_of, framed
from support.messages import batch, nested, produce
from support.waiting import SLOWER

#: Seconds for an answer; only a test that fails waits this long.
SECONDS = 20.0 * SLOWER


class NotSignedIn(Exception):
    """The other side refused the sign-in."""


class RawClient:
    """One connection."""

    #: What is kept to be sent together; ``None``: everything is sent at once.
    _held: bytearray | None = None

    def __init__(
        self, address: tuple[str, int], client_id: str = "raw", tls: ssl.SSLContext | None = None
    ) -> None:
        self.client_id = client_id
        self._socket = socket.create_connection(address, timeout=SECONDS)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname=address[0])
        self._correlation_id = 0

    def __enter__(self) -> RawClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def end(self) -> None:
        """Say that nothing more will come, and go on listening."""
        self._socket.shutdown(socket.SHUT_WR)

    # -- bytes -----------------------------------------------------------------------------------------------

    def send_bytes(self, data: bytes) -> None:
        if self._held is not None:
            self._held += data
        else:
            self._socket.sendall(data)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """What is sent in the block arrives together: the other side reads all of it before it answers any."""
        self._held = held = bytearray()
        try:
            yield
        finally:
            self._held = None
        self._socket.sendall(held)

    def receive(self) -> bytes | None:
        """The next frame; ``None`` when the other side hung up. Raises TimeoutError when nothing comes."""
        try:
            prefix = self._exactly(4)
            return None if prefix is None else self._exactly(struct.unpack(">i", prefix)[0])
        except ConnectionResetError:
            return None

    def received(self) -> int:
        """How many frames have arrived by now. They are not taken."""
        self._socket.setblocking(False)
        try:
            data = self._socket.recv(1 << 20, socket.MSG_PEEK)
        except BlockingIOError:
            data = b""
        finally:
            self._socket.settimeout(SECONDS)
        count = 0
        while len(data) >= 4 and len(data) >= 4 + int.from_bytes(data[:4], "big"):
            data = data[4 + int.from_bytes(data[:4], "big") :]
            count += 1
        return count

    def _exactly(self, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                return None
            data += piece
        return data

    # -- messages --------------------------------------------------------------------------------------------

    def send(self, kind: ApiKey, version: int, **values: Any) -> int:
        """Send a request without waiting; its correlation id is returned."""
        self._correlation_id += 1
        message = build(request_class(kind, version), **values)
        self.send_bytes(encode_request(kind, version, self._correlation_id, self.client_id, message))
        return self._correlation_id

    def send_request(self, request: Request) -> None:
        """Send a request that was made elsewhere (with that client.id)."""
        self.send_bytes(framed(request.frame))

    def answer(self, kind: ApiKey, version: int) -> Any:
        """The next answer, decoded. The connection must still be there."""
        payload = self.receive()
        assert payload is not None, f"the connection was closed instead of answering {kind.name}"
        return decode_response(kind, version, payload)

    def call(self, kind: ApiKey, version: int, **values: Any) -> Any:
        correlation_id = self.send(kind, version, **values)
        payload = self.receive()
        assert payload is not None, f"the connection was closed instead of answering {kind.name}"
        assert correlation_of(payload) == correlation_id
        return decode_response(kind, version, payload)

    # -- sign-in ---------------------------------------------------------------------------------------------

    def sign_in(self, user: str, password: str, mechanism: str = "PLAIN") -> RawClient:
        """:raises NotSignedIn: with the reason that the other side gave."""
        shaken = self.call(ApiKey.SASL_HANDSHAKE, 1, mechanism=mechanism)
        if shaken.error_code is not ErrorCode.none:
            raise NotSignedIn(shaken.error_code.name)
        if mechanism == "PLAIN":
            self._authenticate(f"\0{user}\0{password}".encode())
        elif mechanism == "OAUTHBEARER":
            if self._authenticate(f"n,,\x01auth=Bearer {password}\x01\x01".encode()):
                self._authenticate(b"\x01")  # to hear the refusal
        else:
            self._sign_in_with_scram(
                user, password, mechanism.removeprefix("SCRAM-").replace("-", "").lower()
            )
        return self

    def sign_in_with_bare_tokens(self, user: str, password: str) -> None:
        """PLAIN as clients did before Kafka 1.0: the token is a frame without a header, and so is the answer.

        :raises NotSignedIn: the other side hung up, which is all that it can say.
        """
        self.call(ApiKey.SASL_HANDSHAKE, 0, mechanism="PLAIN")
        self.send_bytes(framed(f"\0{user}\0{password}".encode()))
        if self.receive() is None:
            raise NotSignedIn("the connection was closed")

    def _authenticate(self, token: bytes) -> bytes:
        response = self.call(ApiKey.SASL_AUTHENTICATE, 2, auth_bytes=token)
        if response.error_code is not ErrorCode.none:
            raise NotSignedIn(response.error_message)
        answer: bytes = response.auth_bytes
        return answer

    def begin_scram(self, user: str, password: str) -> Callable[[], None]:
        """The first half of SCRAM-SHA-256; what is returned sends the second."""
        steps = self._scram(user, password, "sha256")
        next(steps)

        def finish() -> None:
            with contextlib.suppress(StopIteration):
                next(steps)

        return finish

    def _sign_in_with_scram(self, user: str, password: str, digest: str) -> None:
        for _ in self._scram(user, password, digest):
            pass

    def _scram(self, user: str, password: str, digest: str) -> Iterator[None]:
        """RFC 5802, with a break in the middle."""
        bare = f"n={user},r={uuid.uuid4().hex}"
        server_first = self._authenticate(f"n,,{bare}".encode()).decode()
        yield
        fields = dict(part.split("=", 1) for part in server_first.split(","))
        salted = hashlib.pbkdf2_hmac(
            digest, password.encode(), base64.b64decode(fields["s"]), int(fields["i"])
        )
        key = hmac.digest(salted, b"Client Key", digest)
        without_proof = f"c=biws,r={fields['r']}"
        signed = f"{bare},{server_first},{without_proof}".encode()
        signature = hmac.digest(hashlib.new(digest, key).digest(), signed, digest)
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        self._authenticate(f"{without_proof},p={base64.b64encode(proof).decode()}".encode())

    # -- requests that tests often need ----------------------------------------------------------------------

    def send_join(self, group: str, version: int = 2, member_id: str = "") -> None:
        """Ask to become a member, or to stay one, without waiting."""
        protocol = build(
            nested(ApiKey.JOIN_GROUP, version, "JoinGroupRequestProtocol"), name="range", metadata=b"\0"
        )
        self.send(
            ApiKey.JOIN_GROUP,
            version,
            group_id=group,
            session_timeout=timedelta(seconds=10),
            rebalance_timeout=timedelta(seconds=10),
            member_id=member_id,
            protocol_type="consumer",
            protocols=(protocol,),
        )

    def send_produce(
        self, topic: str, *values: bytes, partition: int = 0, acks: int = -1, **batch_values: int
    ) -> None:
        """Send records without waiting."""
        self._correlation_id += 1
        records = {topic: {partition: batch(*values, **batch_values)}}
        self.send_request(
            produce(9, records, acks=acks, client_id=self.client_id, correlation_id=self._correlation_id)
        )

    def send_fetch(self, topic: str, offset: int = 0, max_bytes: int = 1 << 20) -> None:
        """Ask for the records of partition 0, without waiting."""
        partition = nested(ApiKey.FETCH, 4, "FetchPartition")
        topics = nested(ApiKey.FETCH, 4, "FetchTopic")
        asked = build(partition, partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
        self.send(
            ApiKey.FETCH,
            4,
            replica_id=-1,
            max_wait=timedelta(milliseconds=100),
            min_bytes=1,
            max_bytes=max_bytes,
            isolation_level=0,
            topics=(build(topics, topic=topic, partitions=(asked,)),),
        )

    def produce_error(self) -> ErrorCode:
        """The error of the one partition in the next answer, which is a PRODUCE's."""
        (topic,) = self.answer(ApiKey.PRODUCE, 9).responses
        (partition,) = topic.partition_responses
        code: ErrorCode = partition.error_code
        return code
