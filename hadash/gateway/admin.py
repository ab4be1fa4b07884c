"""A Gateway's HTTP side: what it has in effect, who is connected, what passes. Reads only."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from hadash.gateway.traffic import Stream

if TYPE_CHECKING:
    from hadash.gateway.connection import ClientConnection
    from hadash.gateway.server import Gateway


def build_app(gateway: Gateway) -> Starlette:
    """The ASGI application; every answer is JSON but ``/metrics``."""

    def connections(request: Request) -> list[ClientConnection]:
        """Those of ``?appid=`` and ``?instance=``, each optional."""
        appid, instance = request.query_params.get("appid"), request.query_params.get("instance")
        return [
            connection
            for name, group in gateway.connections.items()
            if appid is None or name == appid
            for connection in group
            if instance is None or connection.signed.client_id == instance
        ]

    async def status(request: Request) -> Response:
        return JSONResponse(
            {
                "id": gateway.settings.id,
                "pair": gateway.pair.name,
                "applied": gateway.applied.value,
                "connections": sum(len(group) for group in gateway.connections.values()),
                "parked": gateway.parked,
                "time": time.time(),
            }
        )

    async def clients(request: Request) -> Response:
        """One entry a connection."""
        return JSONResponse({"clients": [_client(connection) for connection in connections(request)]})

    async def members(request: Request) -> Response:
        """One entry a group member: active, held, parked or joining."""
        found = [
            {
                "group": member.group,
                "member_id": member.member_id,
                "state": member.state,
                "join_seconds": member.join_seconds,
                "client_id": connection.signed.client_id,
                "cluster": connection.relay.cluster,
            }
            for connection in connections(request)
            for member in connection.members.all()
        ]
        return JSONResponse({"members": found})

    async def traffic(request: Request) -> Response:
        """Samples after ``?since=`` (seconds since 1970), of one ``?appid=`` and ``?instance=`` or of all."""
        appid, instance = request.query_params.get("appid"), request.query_params.get("instance")
        try:
            since = float(request.query_params.get("since", "0"))
        except ValueError:
            return JSONResponse({"error": "since is not a number of seconds"}, status_code=400)

        def wanted(stream: Stream) -> bool:
            return (appid is None or stream.appid == appid) and (
                instance is None or stream.client_id == instance
            )

        samples = list(gateway.traffic.samples_since(since, wanted))
        return JSONResponse({"seconds": gateway.settings.traffic_seconds, "samples": samples})

    async def access(request: Request) -> Response:
        """Everything observed since the Gateway started, of one ``?appid=`` and ``?instance=`` or of all.

        What a client that is connected has ever used, it uses now: a quiet one sends nothing that would say so.
        ``idle`` is the seconds since records moved, ``null`` when none ever did.
        """
        appid, instance = request.query_params.get("appid"), request.query_params.get("instance")
        now = time.time()
        connected = {(c.signed.appid, c.signed.client_id) for c in connections(request)}
        facts = [
            {
                **key._asdict(),
                "first_seen": fact.first_seen,
                "last_seen": now if (key.appid, key.client_id) in connected else fact.last_seen,
                "host": fact.host,
                "library": fact.library,
                "version": fact.version,
                "idle": round(now - fact.moved, 3) if fact.moved else None,
                "records": fact.records,
                "details": fact.details,
            }
            for key, fact in gateway.traffic.access.items()
            if (appid is None or key.appid == appid) and (instance is None or key.client_id == instance)
        ]
        return JSONResponse({"access": facts})

    async def metrics(request: Request) -> Response:
        return PlainTextResponse(_metrics(gateway), media_type="text/plain; version=0.0.4")

    return Starlette(
        routes=[
            Route("/status", status),
            Route("/clients", clients),
            Route("/members", members),
            Route("/traffic", traffic),
            Route("/access", access),
            Route("/metrics", metrics),
        ]
    )


def _client(connection: ClientConnection) -> dict[str, Any]:
    signed = connection.signed
    return {
        "appid": signed.appid,
        "client_id": signed.client_id,
        "cluster": signed.upstream.cluster,
        "node": connection.node.cluster if connection.node else None,
        "host": connection.host,
        "mechanism": signed.mechanism,
        "library": signed.library,
        "version": signed.library_version,
        "parked": connection.parked,
        "state": connection.state.value,
    }


def _escape(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _metrics(gateway: Gateway) -> str:
    """Prometheus text format."""
    lines = [
        "# TYPE hadash_gateway_applied_epoch gauge",
        f"hadash_gateway_applied_epoch {gateway.applied.value}",
        "# TYPE hadash_gateway_parked gauge",
        f"hadash_gateway_parked {gateway.parked}",
        "# TYPE hadash_gateway_connections gauge",
        f"hadash_gateway_connections {sum(len(group) for group in gateway.connections.values())}",
        "# TYPE hadash_gateway_requests_total counter",
    ]
    for (kind, cluster), count in sorted(gateway.traffic.requests.items()):
        lines.append(f'hadash_gateway_requests_total{{kind="{kind}",cluster="{_escape(cluster)}"}} {count}')
    lines.append("# TYPE hadash_gateway_refused_total counter")
    for reason, count in sorted(gateway.traffic.refused.items()):
        lines.append(f'hadash_gateway_refused_total{{reason="{_escape(reason)}"}} {count}')
    return "\n".join(lines) + "\n"
