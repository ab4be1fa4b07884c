"""A real web server that answers what a test asks for, with or without TLS."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .certificates import Issued


@dataclass
class Posted:
    path: str
    headers: Message
    body: bytes


#: (status, headers, body); ``None``: the connection ends without an answer.
Says = Callable[[Posted], tuple[int, dict[str, str], bytes] | None]


def fine(_: Posted) -> tuple[int, dict[str, str], bytes]:
    return 200, {}, b"ok"


@dataclass
class WebServer:
    port: int
    says: Says = fine
    got: list[Posted] = field(default_factory=list)


@contextmanager
def web_server(says: Says = fine, certificate: Issued | None = None) -> Iterator[WebServer]:
    there = WebServer(0, says)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            posted = Posted(self.path, self.headers, body)
            there.got.append(posted)
            said = there.says(posted)
            if said is None:
                self.close_connection = True
                return
            status, headers, answer = said
            self.send_response_only(status)  # (without a Date of its own: a test says one)
            for name, value in {"content-length": str(len(answer)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.certificate, certificate.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    there.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield there
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
