"""Signs in to a cluster with an account of the Gateway's own, and again before the session ends (KIP-368)."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine
from typing import Any

from hadash.gateway.brokers.upstream import Upstream, UpstreamUnavailable
from hadash.gateway.listeners.accounts import Account
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import (
    ErrorCode,
    build,
    decode_response,
    encode_request,
    request_class,
)
from hadash.gateway.protocol.scram import BadExchange, Exchange
from hadash.gateway.protocol.wire import WireError

log = logging.getLogger(__name__)

CLIENT_ID = "hadash-gateway"

#: The part of a session after which it is renewed, chosen at random as Java's clients do, so that sessions that began
#: together are not renewed together.
RENEWED_AT = (0.85, 0.95)

#: The least seconds between two sign-ins: a broker refuses one that follows sooner (KIP-368).
LEAST_SESSION_SECONDS = 1.1


async def sign_in_to(upstream: Upstream, account: Account, client_id: str = CLIENT_ID) -> float:
    """Sign ``upstream`` in with ``account``; return the seconds after which the broker ends the session, 0 for never.

    :raises UpstreamUnavailable: the cluster refuses the account. The message has the reason.
    """
    whose = f"account {account.username} ({account.mechanism})"
    payload = await upstream.exchange(
        _request(ApiKey.SASL_HANDSHAKE, 1, client_id, mechanism=account.mechanism)
    )
    answer = decode_response(ApiKey.SASL_HANDSHAKE, 1, payload)
    if answer.error_code is not ErrorCode.none:
        offered = ", ".join(answer.mechanisms) or "none"
        raise UpstreamUnavailable(
            f"cluster {upstream.cluster} does not offer the SASL mechanism of {whose}; it offers {offered} "
            f"({answer.error_code.name})"
        )

    async def send(token: bytes) -> Any:
        payload = await upstream.exchange(_request(ApiKey.SASL_AUTHENTICATE, 1, client_id, auth_bytes=token))
        response = decode_response(ApiKey.SASL_AUTHENTICATE, 1, payload)
        if response.error_code is not ErrorCode.none:
            said = response.error_message or response.error_code.name
            raise UpstreamUnavailable(f"cluster {upstream.cluster} refused {whose}: {said}")
        return response

    if account.mechanism == "PLAIN":
        last = await send(f"\0{account.username}\0{account.password}".encode())
    else:
        exchange = Exchange(account.mechanism, account.username, account.password)
        try:
            first = await send(exchange.first())
            last = await send(exchange.final(first.auth_bytes))
            exchange.verify(last.auth_bytes)
        except BadExchange as error:
            raise UpstreamUnavailable(
                f"cluster {upstream.cluster} broke the sign-in of {whose} off: {error}"
            ) from None
    return float(last.session_lifetime.total_seconds())


def _request(kind: ApiKey, version: int, client_id: str, **values: object) -> bytes:
    return encode_request(kind, version, 0, client_id, build(request_class(kind, version), **values))


class OwnSession:
    """An account that is signed in on one connection, for as long as the connection lasts.

    Re-authentication is in line: requests sent before are answered first, and those sent meanwhile wait for it, because
    a broker accepts nothing else between handshake and answer. It takes three exchanges, which are milliseconds.
    """

    def __init__(
        self,
        upstream: Upstream,
        account: Account,
        client_id: str,
        seconds: float,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
        renewed: Callable[[], None],
    ) -> None:
        """
        :param seconds: how long a renewal may take.
        :param spawn: runs a renewal in the background.
        :param renewed: called after each renewal.
        """
        self._upstream = upstream
        self._account = account
        self._client_id = client_id
        self._seconds = seconds
        self._spawn = spawn
        self._renewed = renewed
        self._timer: asyncio.TimerHandle | None = None
        upstream.on_end = self._ended

    async def begin(self) -> None:
        """Sign in, and keep the session renewed.

        :raises UpstreamUnavailable: see :func:`sign_in_to`.
        """
        self._renew_after(await sign_in_to(self._upstream, self._account, self._client_id))

    def _renew_after(self, lifetime: float) -> None:
        if lifetime > 0 and not self._upstream.transport.is_closing():
            delay = max(lifetime * random.uniform(*RENEWED_AT), LEAST_SESSION_SECONDS)
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(delay, lambda: self._spawn(self._renew()))

    async def _renew(self) -> None:
        upstream = self._upstream
        if upstream.transport.is_closing():
            return
        upstream.hold()
        # The renewal's time begins when its turn comes: requests sent before may take longer by themselves.
        await upstream.answered()
        if upstream.transport.is_closing():
            return
        try:
            lifetime = await asyncio.wait_for(
                sign_in_to(upstream, self._account, self._client_id), self._seconds
            )
        except (UpstreamUnavailable, WireError, TimeoutError) as error:
            # The broker would end the connection itself when the session is over, in the middle of a request.
            why = f"its session could not be renewed ({error or type(error).__name__})"
            log.error("a connection to cluster %s ends: %s", upstream.cluster, why)
            upstream.ended_by = why
            upstream.abort()
            return
        upstream.release()
        self._renewed()
        self._renew_after(lifetime)

    def _ended(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
