"""From the first byte to a signed-in connection.

The Gateway answers API_VERSIONS and SASL_HANDSHAKE itself. The first SASL_AUTHENTICATE names the user, and only then is
the client's cluster known. From there on the exchange is relayed: the cluster decides, and the Gateway holds no
password.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Protocol

from hadash.gateway.brokers.nodes import Node
from hadash.gateway.brokers.upstream import Upstream, UpstreamUnavailable, introduce
from hadash.gateway.clients.signed_in import SignedIn
from hadash.gateway.context import GatewayContext
from hadash.gateway.listeners.listener import Listener, Unidentified
from hadash.gateway.protocol import sasl
from hadash.gateway.protocol.api_keys import BEFORE_SIGN_IN, ApiKey
from hadash.gateway.protocol.codec import (
    ErrorCode,
    build,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    request_class,
    respond,
)
from hadash.gateway.protocol.proxy_protocol import Passed
from hadash.gateway.protocol.since import ApiVersions, SaslHandshake
from hadash.gateway.protocol.wire import MalformedFrame, NotServed, Request, framed, parse_request
from hadash.gateway.settings import GatewaySettings
from hadash.identity.client_ids import named_by

log = logging.getLogger(__name__)

#: The number of messages that a client sends until its mechanism is complete.
_ROUNDS = {"PLAIN": 1, "SCRAM-SHA-256": 2, "SCRAM-SHA-512": 2, "OAUTHBEARER": 1}


#: The most characters of a library's name or version that are remembered; real ones have some twenty.
MAX_SOFTWARE = 200


def software_of(request: Request) -> tuple[str, str] | None:
    """Return the name and version of the library in an API_VERSIONS (KIP-511); ``None`` for a version before 3, or one
    that is too new.

    librdkafka names it before it signs in, Java's client only afterwards. Longer names than any real one are ignored,
    because names are remembered.
    """
    if request.version < ApiVersions.SOFTWARE or not request.supported:
        return None
    message = decode_request(request)
    name, version = message.client_software_name, message.client_software_version
    return (name, version) if max(len(name), len(version)) <= MAX_SOFTWARE else None


class SigningIn(Protocol):
    """The parts of a connection that a sign-in needs."""

    @property
    def context(self) -> GatewayContext: ...

    @property
    def node(self) -> Node | None: ...

    @property
    def passed(self) -> Passed: ...

    @property
    def transport(self) -> asyncio.Transport: ...

    async def next_frame(self) -> bytes | None: ...

    def put_back(self, frame: bytes) -> None: ...

    def trust(self) -> None: ...

    def turned_away(self, reason: str, why: str) -> None: ...


class SignInAgain:
    """Re-authentication (KIP-368) on a signed-in connection, only as the same user. The exchange is relayed, so the
    cluster decides.
    """

    def __init__(self, signed: SignedIn, listener: Listener, settings: GatewaySettings) -> None:
        self._signed = signed
        self._listener = listener
        self._claim = settings.oauthbearer_principal_claim
        #: Whether an exchange has begun whose next message names the user.
        self._begun = False
        self._rounds = 0

    def check(self, request: Request, message: Any) -> None:
        """Check a request of the exchange before it is relayed.

        :raises WireError: it would sign in as another user, or with another mechanism.
        """
        if not self._listener.protocol.sasl:
            raise NotServed(f"{request.kind.name} on a listener without SASL")
        if request.kind is ApiKey.SASL_HANDSHAKE:
            if message.mechanism != self._signed.mechanism:
                raise MalformedFrame(f"it signs in again with {message.mechanism[:40]!r}")
            self._begun = True
            self._rounds = 0
        elif self._begun:
            self._begun = False
            try:
                user = sasl.user_name(self._signed.mechanism, message.auth_bytes, self._claim)
            except sasl.UnreadableToken as error:
                raise MalformedFrame(str(error)) from None
            if user != self._signed.appid:
                raise MalformedFrame(f"it signs in again as {user!r}")

    def is_over(self, request: Request, payload: bytes) -> bool:
        """Whether the exchange ends with the cluster's answer ``payload`` to ``request``, successfully or not."""
        answer = decode_response(request.kind, request.version, payload)
        if answer.error_code is not ErrorCode.none:
            return True
        if request.kind is ApiKey.SASL_HANDSHAKE:
            return False
        self._rounds += 1
        return self._rounds >= _ROUNDS[self._signed.mechanism] and not _refused_token(
            self._signed.mechanism, answer
        )


def _refused_token(mechanism: str, answer: Any) -> bool:
    """Whether the broker refuses a token: it first answers why, and sends the refusal after one more message."""
    return mechanism == "OAUTHBEARER" and bool(answer.auth_bytes)


async def sign_in(connection: SigningIn) -> SignedIn | None:
    """Read requests until the client is signed in; ``None`` when it left or was refused.

    :raises WireError: the bytes are not Kafka's protocol, or a request requires sign-in.
    :raises UpstreamUnavailable: the client's cluster cannot be reached.
    """
    exchange = _Exchange(connection)
    sasl_wanted = connection.context.listener.protocol.sasl
    try:
        result = await (exchange.run() if sasl_wanted else exchange.run_without_sasl())
    except BaseException:
        exchange.close()
        raise
    if result is None:
        exchange.close()
    return result


class _Exchange:
    def __init__(self, connection: SigningIn) -> None:
        self.connection = connection
        self.settings = connection.context.settings
        self.mechanism = ""
        #: The client.id of the first message that names the user.
        self.client_id: str | None = None
        self.appid = ""
        self.library = ""
        self.library_version = ""
        self.upstream: Upstream | None = None
        self.rounds = 0
        self.complete = False
        #: The client.id of a client that sends tokens without a Kafka header, as it does after SASL_HANDSHAKE 0.
        self.bare: str | None = None
        self.welcome = b""

    def close(self) -> None:
        if self.upstream is not None:
            self.upstream.close()

    async def run(self) -> SignedIn | None:
        transport = self.connection.transport
        while True:
            frame = await self.connection.next_frame()
            if frame is None:
                return None
            request = parse_request(frame) if self.bare is None else self._wrapped(frame)
            if request.kind not in BEFORE_SIGN_IN:
                raise NotServed(f"{request.kind.name} before sign-in")
            if request.kind is ApiKey.API_VERSIONS:
                transport.write(self._api_versions(request))
            elif not request.supported:
                raise NotServed(f"{request.kind.name} version {request.version} is not served here")
            elif request.kind is ApiKey.SASL_HANDSHAKE:
                transport.write(self._handshake(request))
            else:
                accepted = await self._authenticate(request)
                if not accepted:
                    return None
                if self.complete:
                    return self._signed_in(request)
            # Otherwise memory of this request would be held, uncounted, while the next one is awaited.
            del frame, request

    async def run_without_sasl(self) -> SignedIn | None:
        """Identify the client by its certificate, or by its client.id alone."""
        while True:
            frame = await self.connection.next_frame()
            if frame is None:
                return None
            request = parse_request(frame)
            if request.kind is ApiKey.API_VERSIONS:
                self.connection.transport.write(self._api_versions(request))
                del frame, request  # as in run()
                continue
            if request.kind in BEFORE_SIGN_IN:
                raise NotServed(f"{request.kind.name} on a listener without SASL")
            context = self.connection.context
            ssl_object = self.connection.transport.get_extra_info("ssl_object")
            try:
                self.appid = context.listener.appid(ssl_object, request.client_id)
                self.upstream = await context.upstreams.open_as(
                    self.appid, request.client_id, self.connection.node, self.connection.passed
                )
                await introduce(self.upstream, request.client_id, self.library, self.library_version)
            except Unidentified as error:
                self.connection.turned_away("identity", str(error))
                return None
            self.mechanism = context.listener.protocol.value
            self.connection.trust()
            self.connection.put_back(frame)
            return self._signed_in(request)

    def _signed_in(self, request: Request) -> SignedIn:
        assert self.upstream is not None
        return SignedIn(
            self.appid,
            request.client_id,
            self.mechanism,
            self.library,
            self.library_version,
            self.upstream,
            self.welcome,
        )

    def _api_versions(self, request: Request) -> bytes:
        if software := software_of(request):
            self.library, self.library_version = software
        return self.connection.context.versions.answer(request)

    def _handshake(self, request: Request) -> bytes:
        asked = decode_request(request).mechanism
        if request.version < SaslHandshake.AUTHENTICATE:
            self.bare = request.client_id
        offered = self.settings.sasl_mechanisms
        error = ErrorCode.none
        if asked in offered and asked in _ROUNDS:
            self.mechanism = asked
        else:
            error = ErrorCode.unsupported_sasl_mechanism
            self.connection.turned_away(
                "mechanism",
                f"asked for SASL mechanism {asked[:40]!r}; this Gateway offers {', '.join(offered)}",
            )
        message = respond(ApiKey.SASL_HANDSHAKE, request.version, error_code=error, mechanisms=offered)
        return encode_response(ApiKey.SASL_HANDSHAKE, request.version, request.correlation_id, message)

    def _wrapped(self, token: bytes) -> Request:
        """Wrap a bare token in the SASL_AUTHENTICATE that brokers accept after SASL_HANDSHAKE 1."""
        message = build(request_class(ApiKey.SASL_AUTHENTICATE, 0), auth_bytes=token)
        return parse_request(encode_request(ApiKey.SASL_AUTHENTICATE, 0, 0, self.bare or "", message)[4:])

    def _framed(self, payload: bytes, response: Any) -> bytes:
        """Frame a broker's answer to SASL_AUTHENTICATE; for a client with bare tokens the token alone. Such a client
        cannot be told an error: its connection closes."""
        if self.bare is None:
            return framed(payload)
        return framed(response.auth_bytes) if response.error_code is ErrorCode.none else b""

    async def _authenticate(self, request: Request) -> bool:
        """Relay one message of the exchange; false when the client is refused (it has been told why)."""
        if not self.mechanism:
            return self._refuse(request, "SASL_HANDSHAKE with an offered mechanism comes first.")
        if self.client_id not in (None, request.client_id):
            raise MalformedFrame(f"the client.id changes to {request.client_id!r} on one connection")
        if self.upstream is None:
            self.client_id = request.client_id
            try:
                self.appid = self._user_name(request)
            except sasl.UnreadableToken as error:
                return self._refuse(request, str(error))
            named = named_by(request.client_id)
            if named is not None and named.appid != self.appid:
                return self._refuse(
                    request,
                    f"The client.id names AppID {named.appid}, but the client signs in as {self.appid}.",
                )
            try:
                self.upstream = await self._open(request)
            except Unidentified as error:
                return self._refuse(request, str(error))
        payload = await self.upstream.exchange(framed(request.frame))
        response = decode_response(ApiKey.SASL_AUTHENTICATE, request.version, payload)
        if response.error_code is ErrorCode.none:
            self.rounds += 1
            refused = _refused_token(self.mechanism, response)
            self.complete = self.rounds == _ROUNDS[self.mechanism] and not refused
        answer = self._framed(payload, response)
        if self.complete:
            self.connection.trust()  # before the client is told, and sends more
            self.welcome = answer
            return True
        self.connection.transport.write(answer)
        if response.error_code is not ErrorCode.none:
            self.connection.turned_away(
                "password", f"{self.upstream.cluster} refused the sign-in of {self.appid}"
            )
            return False
        return True

    def _user_name(self, request: Request) -> str:
        """Return the user that the first message names.

        :raises sasl.UnreadableToken: it names none.
        """
        token = decode_request(request).auth_bytes
        return sasl.user_name(self.mechanism, token, self.settings.oauthbearer_principal_claim)

    async def _open(self, request: Request) -> Upstream:
        """Open a connection to the client's cluster with the agreed mechanism."""
        upstream = await self.connection.context.upstreams.open_upstream(
            self.appid, request.client_id, self.connection.node, self.connection.passed
        )
        try:
            await introduce(upstream, request.client_id, self.library, self.library_version)
            message = build(request_class(ApiKey.SASL_HANDSHAKE, 1), mechanism=self.mechanism)
            payload = await upstream.exchange(
                encode_request(ApiKey.SASL_HANDSHAKE, 1, 0, request.client_id, message)
            )
            error = decode_response(ApiKey.SASL_HANDSHAKE, 1, payload).error_code
            if error is not ErrorCode.none:
                raise UpstreamUnavailable(
                    f"cluster {upstream.cluster} does not offer SASL mechanism {self.mechanism} ({error.name})"
                )
        except BaseException:  # a timeout cancels
            upstream.close()
            raise
        return upstream

    def _refuse(self, request: Request, why: str) -> bool:
        self.connection.turned_away("token", why)
        message = respond(
            ApiKey.SASL_AUTHENTICATE,
            request.version,
            error_code=ErrorCode.sasl_authentication_failed,
            error_message=why,
            auth_bytes=b"",
        )
        encoded = encode_response(ApiKey.SASL_AUTHENTICATE, request.version, request.correlation_id, message)
        self.connection.transport.write(self._framed(encoded[4:], message))
        return False
