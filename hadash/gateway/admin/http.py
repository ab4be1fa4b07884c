"""A Gateway's HTTP side: the bindings in effect, the connected clients, the traffic. Reads only."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Set
from typing import TYPE_CHECKING, Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from hadash import VERSION
from hadash.gateway import process
from hadash.gateway.admin.metrics import GatewayCollector
from hadash.gateway.reporting.traffic import AccessFact, AccessKey

if TYPE_CHECKING:
    from hadash.gateway.context import GatewayContext
    from hadash.gateway.session.client import Client

#: Entries of a long answer that are made without a pause, in which no client is served: a millisecond or two.
ENTRIES_AT_ONCE = 50


def build_app(gateway: GatewayContext) -> Starlette:
    """Return the ASGI application; every answer except ``/metrics`` is JSON."""
    answers = _Answers(gateway)
    return Starlette(
        routes=[
            Route("/status", answers.status),
            Route("/clients", answers.clients),
            Route("/connected", answers.connected),
            Route("/members", answers.members),
            Route("/readers", answers.readers),
            Route("/positions", answers.positions),
            Route("/traffic", answers.traffic),
            Route("/pauses", answers.pauses),
            Route("/access", answers.access),
            Route("/healthz", answers.healthz),
            Route("/readyz", answers.readyz),
            Route("/metrics", answers.metrics),
        ]
    )


class _Answers:
    """A method for each path."""

    def __init__(self, gateway: GatewayContext) -> None:
        self._gateway = gateway
        self._started = time.time()
        self._registry = CollectorRegistry()
        self._registry.register(GatewayCollector(gateway))

    def _connections(self, request: Request) -> list[Client]:
        """Return the clients of ``?appid=`` and ``?instance=``, each optional."""
        appid, instance = request.query_params.get("appid"), request.query_params.get("instance")
        return [
            client
            for client in (self._gateway.clients if appid is None else self._gateway.clients.of(appid))
            if instance is None or client.signed.client_id == instance
        ]

    async def status(self, request: Request) -> Response:
        """The Gateway's state, and its counts since ``started``.

        ``requests`` are [kind, cluster, requests, bytes in, bytes out]. ``cpu_seconds`` and ``memory_bytes`` are those
        of its process (null where the system does not report them). ``reached``: whether each cluster answered the last
        time it was asked; a cluster that was never asked is missing.
        """
        purgatory, traffic = self._gateway.purgatory, self._gateway.traffic
        by_cluster = dict.fromkeys(self._gateway.pair.clusters, 0)
        for client in self._gateway.clients:
            by_cluster[client.relay.cluster] += 1
        return JSONResponse(
            {
                "id": self._gateway.settings.id,
                "pair": self._gateway.pair.name,
                "applied": self._gateway.binding_applier.applied.value,
                "connections": len(self._gateway.clients),
                "connections_by_cluster": by_cluster,
                "reached": self._gateway.health.reached,
                "parked": purgatory.count,
                "parked_bytes": purgatory.bytes,
                "expired": purgatory.expired_total,
                "overflowed": purgatory.overflowed_total,
                "refused": traffic.refused,
                "sign_ins": traffic.sign_ins,
                "requests": [
                    [*key, counter.requests, counter.bytes_in, counter.bytes_out]
                    for key, counter in sorted(traffic.requests.items())
                ],
                "zookeeper": bool(self._gateway.health.zookeeper_connected),
                "cpu_seconds": process.cpu_seconds(),
                "memory_bytes": process.memory_bytes(),
                "started": self._started,
                "time": time.time(),
            }
        )

    async def clients(self, request: Request) -> Response:
        """One entry for each connection."""
        return JSONResponse({"clients": [_client(connection) for connection in self._connections(request)]})

    async def connected(self, request: Request) -> Response:
        """One entry for each client on each cluster: ``[AppID, client.id, cluster, its connections, of these
        parked]``. That is all that counts need, however many connections there are.
        """
        found: dict[tuple[str, str, str], list[int]] = {}
        for each in self._connections(request):
            signed = each.signed
            counts = found.setdefault((signed.appid, signed.client_id, signed.upstream.cluster), [0, 0])
            counts[0] += 1
            counts[1] += bool(each.parked)
        return JSONResponse({"connected": [[*who, *counts] for who, counts in found.items()]})

    async def members(self, request: Request) -> Response:
        """One entry for each group member, independent of the connection that it used: parked, joining, held or active.

        ``assignors`` is null when its JOIN_GROUP did not pass through here; ``connected`` says whether it has a
        connection.
        """
        appid, instance = request.query_params.get("appid"), request.query_params.get("instance")
        found = [
            {
                "appid": member.appid,
                "group": member.group,
                "member_id": member.member_id,
                "state": member.state,
                "join_seconds": member.join_seconds,
                "assignors": member.assignors,
                "client_id": member.client_id,
                "cluster": member.cluster,
                "host": member.host,
                "connected": member.connected,
            }
            for member in self._gateway.group_members.all(appid)
            if instance is None or member.client_id == instance
        ]
        return JSONResponse({"members": found})

    async def readers(self, request: Request) -> Response:
        """One entry for each connection on which a client reads, with the Topics that it has requested, whether or not
        records came, and their partitions (null when there are too many to record). Most libraries have one connection
        to each broker, kafka-go has one for each partition.
        """
        found = [
            {
                "appid": connection.signed.appid,
                "client_id": connection.signed.client_id,
                "host": connection.host,
                "cluster": connection.relay.cluster,
                "broker": connection.node.broker_id if connection.node else None,
                "topics": sorted(connection.relay.positions.topics),
                "partitions": connection.relay.positions.partitions(),
            }
            for connection in self._connections(request)
            if connection.relay.positions.topics
        ]
        return JSONResponse({"readers": found})

    async def positions(self, request: Request) -> Response:
        """One entry for each connection on which a client reads: the lowest offset that it has requested of each
        partition, as ``[topic, partition, offset]``.
        """
        found = [
            {
                "appid": connection.signed.appid,
                "client_id": connection.signed.client_id,
                "host": connection.host,
                "cluster": connection.relay.cluster,
                "offsets": [
                    [*partition, offset] for partition, offset in connection.relay.positions.first.items()
                ],
            }
            for connection in self._connections(request)
            if connection.relay.positions.first
        ]
        return JSONResponse({"positions": found})

    async def traffic(self, request: Request) -> Response:
        """Samples after ``?since=`` (seconds since 1970), of one ``?appid=`` and ``?instance=`` or of all. Those of an
        instance go back less far when many clients are active.
        """
        appid, instance = request.query_params.get("appid"), request.query_params.get("instance")
        try:
            since = float(request.query_params.get("since", "0"))
        except ValueError:
            return JSONResponse({"error": "since is not a number of seconds"}, status_code=400)

        samples = list(self._gateway.traffic.samples_since(since, appid, instance))
        return JSONResponse({"seconds": self._gateway.settings.traffic_seconds, "samples": samples})

    async def pauses(self, request: Request) -> Response:
        """For each client of an ``?appid=`` (or of all) that was stopped lately: the time without a record around the
        moment when its bindings forwarded again (seconds since 1970).
        """
        return JSONResponse(
            {"pauses": self._gateway.traffic.pauses.entries(request.query_params.get("appid"))}
        )

    async def access(self, request: Request) -> Response:
        """All access observed since the Gateway started, of one ``?appid=`` and ``?instance=`` or of all; see
        :func:`access_entries`.
        """
        appid, instance = request.query_params.get("appid"), request.query_params.get("instance")
        now = time.time()

        def of(appid: str) -> list[dict[str, Any]]:
            connected: dict[tuple[str, str], set[str]] = {}
            for each in self._gateway.clients.of(appid):
                if each.resolver.belongs_here:
                    connected.setdefault((appid, each.signed.client_id), set()).add(
                        each.signed.upstream.cluster
                    )
            return access_entries(
                self._gateway.traffic.latest_access(appid, instance).values(), connected, now
            )

        appids = self._gateway.traffic.appids() if appid is None else [appid]
        return StreamingResponse(in_pieces("access", map(of, appids)), media_type="application/json")

    async def healthz(self, request: Request) -> Response:
        """Answers while the loop runs. It asks no server: a restart would drop all clients and repair nothing."""
        return JSONResponse({"status": "ok", "process": "gateway", "version": VERSION})

    async def readyz(self, request: Request) -> Response:
        """Whether clients may be sent here: not once it hangs up. Through other faults it keeps serving."""
        wrong = faults(self._gateway)
        status = "not ready" if self._gateway.health.stopping else "degraded" if wrong else "ok"
        told = {"status": status, "process": "gateway", "version": VERSION, "id": self._gateway.settings.id}
        found = {**told, "applied": self._gateway.binding_applier.applied.value, "faults": wrong}
        return JSONResponse(found, status_code=503 if self._gateway.health.stopping else 200)

    async def metrics(self, request: Request) -> Response:
        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)


async def in_pieces(name: str, parts: Iterable[list[dict[str, Any]]]) -> AsyncIterator[bytes]:
    """Yield the JSON object ``{name: entries}`` in pieces, between which the loop serves clients: all clients of a busy
    Gateway at once would keep it for tenths of a second, several times a minute.

    :param parts: the entries in parts; each is made when its turn comes.
    """
    yield f"{{{json.dumps(name)}: [".encode()
    separator, piece = "", []
    for entries in parts:
        piece += entries
        if len(piece) >= ENTRIES_AT_ONCE:
            yield f"{separator}{json.dumps(piece)[1:-1]}".encode()
            separator, piece = ", ", []
            await asyncio.sleep(0)
    yield f"{separator if piece else ''}{json.dumps(piece)[1:-1]}]}}".encode()


def faults(gateway: GatewayContext) -> list[str]:
    """Return the Gateway's current faults, as sentences; it serves clients nevertheless."""
    found = []
    if not gateway.health.zookeeper_connected:
        found.append("ZooKeeper does not answer: traffic goes on, and bindings stay as they are.")
    if (last := gateway.binding_applier.zookeeper_lost_after) is not None:
        found.append(
            f"ZooKeeper has forgotten changes of bindings: its last epoch is {last}, and "
            f"{gateway.binding_applier.applied.latest} is in effect here. Restore its newest backup with "
            "hadash-manage restore_zookeeper."
        )
    found += [
        f"Cluster {name} did not answer when it was asked last."
        for name in gateway.pair.clusters
        if not gateway.health.reached.get(name, False)
    ]
    found += [
        f"Nobody listens on port {port}, to which clients are sent for broker {node.broker_id} of {node.cluster}: it "
        "is taken, or too many files are open. It is tried again."
        for port, node in sorted(gateway.health.unheard.items())
    ]
    unusable = gateway.certificates.unusable()
    found += [
        f"What lies in {path} cannot be used; what was there before is in effect."
        for path, is_faulty in sorted(unusable.items())
        if is_faulty
    ]
    return found


def access_entries(
    facts: Iterable[tuple[AccessKey, AccessFact]], connected: Mapping[tuple[str, str], Set[str]], now: float
) -> list[dict[str, Any]]:
    """Return what clients use, and since when.

    A connected client counts as using now everything that it has ever used, on the clusters that it is connected to: a
    quiet client sends nothing that would show it. ``used_at`` is the time of the last real use on that cluster (0 for
    never: the client has moved there and was quiet since). ``idle`` is the seconds since records moved, ``null`` when
    none ever did.

    :param connected: the clusters by AppID and client.id, of connections that are not away: a connection that a client
        has left open on its cluster from before a switch does not count as use.
    """
    entries: list[dict[str, Any]] = []
    elsewhere: dict[tuple[str, ...], tuple[AccessKey, AccessFact]] = {}
    here: set[tuple[str, ...]] = set()
    for key, fact in facts:
        clusters = connected.get((key.appid, key.client_id), frozenset())
        use: tuple[str, ...] = (key.appid, key.client_id, key.kind, key.resource)
        if key.cluster in clusters:
            here.add(use)
        elif clusters and (use not in elsewhere or elsewhere[use][1].last_seen < fact.last_seen):
            elsewhere[use] = key, fact
        entries.append(
            {
                **_use(key),
                "first_seen": fact.first_seen,
                "last_seen": now if key.cluster in clusters else fact.last_seen,
                "used_at": fact.last_seen,
                "idle": round(now - fact.moved, 3) if fact.moved else None,
                "requests": fact.requests,
                "records": fact.records,
                "bytes": fact.bytes,
            }
        )
    for moved, (key, _) in elsewhere.items():
        if moved not in here:
            cluster = min(connected[key.appid, key.client_id])
            counts = dict.fromkeys(("requests", "records", "bytes"), 0)
            times = {"first_seen": now, "last_seen": now, "used_at": 0.0, "idle": None}
            entries.append({**_use(key), "cluster": cluster, **times, **counts})
    return entries


def _use(key: AccessKey) -> dict[str, Any]:
    names = ("appid", "client_id", "kind", "resource", "cluster", "host", "library", "version")
    return {name: getattr(key, name) for name in names} | {"details": key.circumstances.known()}


def _client(connection: Client) -> dict[str, Any]:
    """Return the entry of a connection.

    ``away``: whether it leads to a cluster that no longer serves the client, which has moved and left it open.
    """
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
        "mutations": connection.relay.mutations.count,
        "slow": connection.connection.slow,
        "gone": connection.connection.gone,
        "held_up_by": connection.held_up_by,
        "state": connection.resolver.binding.state.value,
        "away": not connection.resolver.belongs_here,
    }
