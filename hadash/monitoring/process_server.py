"""The HTTP server for processes that have none of their own: workers and beat (``HADASH_HEALTH_ADDRESS``)."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hadash.monitoring.health import Health
from hadash.monitoring.metrics import of_process

log = logging.getLogger(__name__)

#: Seconds until the server tries again to listen at an address in use: a worker that is ending holds its
#: address until it has ended.
AGAIN_SECONDS = 5.0
#: Seconds that open requests may still take when the process ends.
STOP_SECONDS = 1


def parse_address(text: str) -> tuple[str, int]:
    """Parse ``host:port``; an IPv6 address is in brackets.

    :raises ValueError: the text is no such address; the message says so.

    >>> parse_address("127.0.0.1:9101"), parse_address("[::1]:9101")
    (('127.0.0.1', 9101), ('::1', 9101))
    """
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"HADASH_HEALTH_ADDRESS={text!r} is not host:port, such as 127.0.0.1:9101.")
    return host.removeprefix("[").removesuffix("]"), int(port)


class ProcessServer:
    """An HTTP server that serves in a thread until it is stopped.

    :param healthz: whether the process should be restarted.
    :param readyz: whether the process can do its work now.
    """

    def __init__(self, address: str, healthz: Callable[[], Health], readyz: Callable[[], Health]) -> None:
        self._host, self._port = parse_address(address)
        self._app = _app(healthz, readyz)
        self._ended = threading.Event()
        self._server: uvicorn.Server | None = None
        self._thread = threading.Thread(target=self._serve, name="health", daemon=True)

    def start(self) -> None:
        """Begin to serve in a thread. If the address is in use, it is tried again until :meth:`stop`."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving, and wait for the thread for a moment."""
        self._ended.set()
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(timeout=2 * STOP_SECONDS)

    def _serve(self) -> None:
        while not self._ended.is_set():
            try:
                family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
                listening = socket.create_server((self._host, self._port), family=family)
            except OSError as error:
                log.error(
                    "no health page at %s:%d (%s); tried again in %g s",
                    self._host,
                    self._port,
                    error,
                    AGAIN_SECONDS,
                )
                self._ended.wait(AGAIN_SECONDS)
                continue
            config = uvicorn.Config(
                self._app,
                log_config=None,
                access_log=False,
                lifespan="off",
                timeout_graceful_shutdown=STOP_SECONDS,
            )
            self._server = uvicorn.Server(config)
            self._server.run(sockets=[listening])
            return


def _app(healthz: Callable[[], Health], readyz: Callable[[], Health]) -> Starlette:
    def said(ask: Callable[[], Health]) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            health = ask()
            return JSONResponse(health.to_json(), status_code=health.http_status)

        return answer

    def metrics(request: Request) -> Response:
        return Response(of_process(), media_type=CONTENT_TYPE_LATEST)

    return Starlette(
        routes=[Route("/healthz", said(healthz)), Route("/readyz", said(readyz)), Route("/metrics", metrics)]
    )
