"""A broker that has been started again: it answers, and knows no brokers yet, not even itself.

A real one is in this state for some milliseconds, which a test cannot make last.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hadash.gateway.protocol import versions
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import encode_response, respond, response_module
from hadash.gateway.protocol.wire import FrameSplitter, Request, parse_request

#: What it serves.
_SERVED = {ApiKey.API_VERSIONS: (0, 3), ApiKey.METADATA: (0, 8)}


class NewBroker:
    """Serves without a sign-in; it is the controller."""

    def __init__(self, listening: socket.socket) -> None:
        self.port: int = listening.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        #: Whether it knows itself.
        self.knows = True
        threading.Thread(target=self._accept, args=(listening,), daemon=True).start()

    def _accept(self, listening: socket.socket) -> None:
        with suppress(OSError):  # (it is closed)
            while True:
                threading.Thread(target=self._serve, args=(listening.accept()[0],), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        frames = FrameSplitter(1 << 20)
        with client, suppress(ConnectionError):
            while data := client.recv(65_536):
                for frame, _ in frames.feed(data):
                    client.sendall(self._answer(parse_request(frame)))

    def _answer(self, request: Request) -> bytes:
        if request.kind is ApiKey.API_VERSIONS:
            return versions.answer(request, _SERVED)
        module = response_module(ApiKey.METADATA, request.version)
        itself = module.MetadataResponseBroker(node_id=0, host="127.0.0.1", port=self.port, rack=None)
        told = respond(
            ApiKey.METADATA,
            request.version,
            brokers=(itself,) if self.knows else (),
            cluster_id="west",
            controller_id=0 if self.knows else -1,
            topics=(),
        )
        return encode_response(ApiKey.METADATA, request.version, request.correlation_id, told)


@contextmanager
def new_broker() -> Iterator[NewBroker]:
    """One that serves until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield NewBroker(listening)
