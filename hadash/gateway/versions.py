"""API_VERSIONS: what both clusters and the Gateway can serve."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from hadash.gateway.codec import ErrorCode, build, encode_response, response_module
from hadash.gateway.kinds import HIDDEN, NAMED_LOWEST, OFFERED, OWN, Kind
from hadash.gateway.wire import Request

#: kind → (lowest, highest) version
Ranges = Mapping[int, tuple[int, int]]


def intersection(
    clusters: Iterable[Ranges], without: Container[Kind] = frozenset()
) -> dict[Kind, tuple[int, int]]:
    """What a client may use on either cluster, so that a move changes nothing for it.

    A cluster that has never answered does not take part: its clients could not be served anyway.

    :param without: kinds that are not served here.
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


def answer(request: Request, served: Mapping[Kind, tuple[int, int]]) -> bytes:
    """The framed API_VERSIONS response; a version that is too new is answered in version 0, as brokers do."""
    highest = OFFERED[Kind.API_VERSIONS][1]
    version = request.version if 0 <= request.version <= highest else 0
    error = ErrorCode.none if version == request.version else ErrorCode.unsupported_version
    module: Any = response_module(Kind.API_VERSIONS, version)
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
    return encode_response(Kind.API_VERSIONS, version, request.correlation_id, message)
