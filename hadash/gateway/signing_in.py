"""Signing in to a cluster with an account of the Gateway's own."""

from __future__ import annotations

from scramp import ScramClient, ScramException

from hadash.gateway.accounts import Account
from hadash.gateway.codec import (
    ErrorCode,
    build,
    decode_response,
    encode_request,
    request_class,
)
from hadash.gateway.kinds import Kind
from hadash.gateway.upstream import Upstream, UpstreamUnavailable

CLIENT_ID = "hadash-gateway"


async def sign_in_to(upstream: Upstream, account: Account, client_id: str = CLIENT_ID) -> None:
    """Sign ``upstream`` in with ``account``.

    :raises UpstreamUnavailable: the cluster refuses it, with its reason.
    """
    payload = await upstream.exchange(
        _request(Kind.SASL_HANDSHAKE, 1, client_id, mechanism=account.mechanism)
    )
    code = decode_response(Kind.SASL_HANDSHAKE, 1, payload).error_code
    if code is not ErrorCode.none:
        raise UpstreamUnavailable(
            f"cluster {upstream.cluster} does not offer SASL mechanism {account.mechanism} ({code.name})"
        )
    if account.mechanism == "PLAIN":
        await _send(upstream, client_id, f"\0{account.username}\0{account.password}".encode())
        return
    scram = ScramClient([account.mechanism], account.username, account.password)
    try:
        first = await _send(upstream, client_id, scram.get_client_first().encode())
        scram.set_server_first(first.decode())
        scram.set_server_final((await _send(upstream, client_id, scram.get_client_final().encode())).decode())
    except (ScramException, UnicodeDecodeError) as error:
        raise UpstreamUnavailable(
            f"cluster {upstream.cluster} broke the sign-in of {account.username} off ({error})"
        ) from None


async def _send(upstream: Upstream, client_id: str, token: bytes) -> bytes:
    payload = await upstream.exchange(_request(Kind.SASL_AUTHENTICATE, 0, client_id, auth_bytes=token))
    response = decode_response(Kind.SASL_AUTHENTICATE, 0, payload)
    if response.error_code is not ErrorCode.none:
        raise UpstreamUnavailable(
            f"cluster {upstream.cluster} refused the sign-in ({response.error_message or response.error_code.name})"
        )
    answer: bytes = response.auth_bytes
    return answer


def _request(kind: Kind, version: int, client_id: str, **values: object) -> bytes:
    return encode_request(kind, version, 0, client_id, build(request_class(kind, version), **values))
