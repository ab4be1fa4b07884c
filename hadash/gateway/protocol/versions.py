"""API_VERSIONS: the versions that both clusters and the Gateway can serve."""

from __future__ import annotations

import struct
from collections.abc import Container, Iterable, Mapping
from typing import Any

from hadash.gateway.protocol.api_keys import HIDDEN, NAMED_LOWEST, OFFERED, OWN, ApiKey
from hadash.gateway.protocol.codec import ErrorCode, build, encode_response, response_module
from hadash.gateway.protocol.wire import Request

#: kind → (lowest, highest) version
Ranges = Mapping[int, tuple[int, int]]


def intersection(
    clusters: Iterable[Ranges], without: Container[ApiKey] = frozenset()
) -> dict[ApiKey, tuple[int, int]]:
    """Return the versions that a client may use on either cluster, so that a move changes nothing for it.

    A cluster that has never answered is left out: its clients could not be served anyway.

    :param without: kinds that this Gateway does not serve.
    """
    served = {kind: versions for kind, versions in OFFERED.items() if kind not in without}
    for ranges in clusters:
        for kind in list(served):
            if kind in OWN:
                continue
            if kind not in ranges:
                del served[kind]
                continue
            low = max(served[kind][0], ranges[kind][0])
            high = min(served[kind][1], ranges[kind][1])
            if low > high:
                del served[kind]
            else:
                served[kind] = (low, high)
    return served


def answer(request: Request, served: Mapping[ApiKey, tuple[int, int]]) -> bytes:
    """Return the framed API_VERSIONS response; a version that is too new is answered in version 0, as brokers do."""
    highest = OFFERED[ApiKey.API_VERSIONS][1]
    version = request.version if 0 <= request.version <= highest else 0
    error = ErrorCode.none if version == request.version else ErrorCode.unsupported_version
    module: Any = response_module(ApiKey.API_VERSIONS, version)
    keys = tuple(
        build(
            module.ApiVersion,
            api_key=int(kind),
            min_version=NAMED_LOWEST.get(kind, low),
            max_version=high,
        )
        for kind, (low, high) in sorted(served.items())
        if kind not in HIDDEN
    )
    message = build(module.ApiVersionsResponse, error_code=error, api_keys=keys)
    return encode_response(ApiKey.API_VERSIONS, version, request.correlation_id, message)


class CachedAnswers:
    """API_VERSIONS answers, encoded once for each version: they differ only in the correlation id.

    Each connection needs one or two of them, and a stranger may request any number.
    """

    _CORRELATION = struct.Struct(">i")
    #: An answer is its length, the correlation id, and a rest that depends on neither.
    _BEFORE, _AFTER = 4, 8
    #: The key for all versions that are too new: they have the same answer.
    _TOO_NEW = -1

    def __init__(self, served: Mapping[ApiKey, tuple[int, int]]) -> None:
        self._served = dict(served)
        self._encoded: dict[int, tuple[bytes, bytes]] = {}

    def serve(self, served: Mapping[ApiKey, tuple[int, int]]) -> None:
        """Answer with ``served`` from now on."""
        if served != self._served:
            self._served = dict(served)
            self._encoded.clear()

    def answer(self, request: Request) -> bytes:
        """Return the same bytes as the function :func:`answer`."""
        version = (
            request.version if 0 <= request.version <= OFFERED[ApiKey.API_VERSIONS][1] else self._TOO_NEW
        )
        encoded = self._encoded.get(version)
        if encoded is None:
            whole = answer(request, self._served)
            encoded = self._encoded[version] = whole[: self._BEFORE], whole[self._AFTER :]
        return encoded[0] + self._CORRELATION.pack(request.correlation_id) + encoded[1]
