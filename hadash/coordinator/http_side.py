"""What members and coordinators say of themselves over HTTP: to each other and to hadash, who show the pools' token,
and to health checks, which need none.
"""

from __future__ import annotations

import hmac
import logging
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

log = logging.getLogger(__name__)

#: Seconds that open requests have to end when the process stops.
STOP_SECONDS = 1


def is_allowed(request: Request, token: str) -> bool:
    """Whether a request shows the token."""
    shown = request.headers.get("authorization", "").removeprefix("Bearer ")
    return hmac.compare_digest(shown.encode(), token.encode())


def build_app(
    token: str, status: Callable[[], Mapping[str, Any]], is_well: Callable[[], bool], *more: Route
) -> Starlette:
    """Return the application: ``/status`` as JSON; for health checks ``/health`` and ``/readyz`` (whether all is well),
    and ``/healthz`` (whether the process answers).

    :param status: what is said now. :param is_well: whether a discovery should list it.
    """

    async def answer_status(request: Request) -> Response:
        if not is_allowed(request, token):
            return JSONResponse({"error": "Show the pools' token: Authorization: Bearer …"}, status_code=401)
        return JSONResponse(status())

    async def answer_health(request: Request) -> Response:
        well = is_well()
        return JSONResponse({"well": well}, status_code=200 if well else 503)

    async def answer_alive(request: Request) -> Response:
        return JSONResponse({"alive": True})

    own = [
        Route("/status", answer_status),
        Route("/health", answer_health),
        Route("/readyz", answer_health),
        Route("/healthz", answer_alive),
    ]
    return Starlette(routes=[*own, *more])


class HttpSide:
    """Serves an application from a thread of its own.

    :raises OSError: the address cannot be listened on.
    """

    def __init__(self, app: Starlette, host: str, port: int) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=STOP_SECONDS,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="http", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(STOP_SECONDS + 1)
        self._socket.close()
