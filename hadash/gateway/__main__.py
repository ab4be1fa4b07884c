"""``python -m hadash.gateway``: run one Gateway until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from pathlib import Path

import uvicorn
import uvloop
from kazoo.client import KazooClient

from hadash import VERSION
from hadash.bindings import catalogue, layout
from hadash.bindings.client import connect
from hadash.bindings.errors import BindingError, NameTaken, StoreUnavailable, Superseded
from hadash.bindings.member import Member
from hadash.bindings.model import ClusterDescription, PairDescription
from hadash.bindings.store import BindingStore
from hadash.gateway import remembered
from hadash.gateway.admin.http import build_app
from hadash.gateway.brokers.nodes import NodeOutOfRange
from hadash.gateway.listeners.accounts import Accounts, read_accounts
from hadash.gateway.listeners.listener import BadListener
from hadash.gateway.membership import Membership
from hadash.gateway.server import Gateway
from hadash.gateway.settings import GatewaySettings
from hadash.gateway.workers import (
    WRONG_SETTINGS,
    PortTaken,
    as_worker,
    begin_worker,
    run_workers,
    say_ready,
    worker_number,
)
from hadash.lake.store import LakeError
from hadash.telemetry import logs

log = logging.getLogger("hadash.gateway")

#: Thresholds of Python's cycle collector: new objects before it looks at the youngest, and rounds before it looks at
#: older ones. No client is served meanwhile: in a measurement a round that freed 50,000 objects took 70 ms.
#: (Connections that end are freed without the collector.)
GC_THRESHOLDS = (10_000, 10, 50)


#: Seconds that readers of the status pages have to finish when the Gateway stops: no traffic depends on them.
ADMIN_STOP_SECONDS = 2


#: Exit code of a Gateway whose name another process has taken. When it is started again, it waits for that one to end.
SUPERSEDED = 3


class StartError(Exception):
    """The Gateway cannot start. The message says why, and what to do."""


def _read_catalogue(
    client: KazooClient, settings: GatewaySettings
) -> tuple[PairDescription, dict[str, ClusterDescription]]:
    pair = catalogue.read_pair(client, settings.pair)
    if pair is None:
        raise StartError(
            f"ZooKeeper knows no pair {settings.pair!r}. Register it in hadash, or set HADASH_GATEWAY_PAIR."
        )
    clusters = {}
    for name in pair.clusters:
        description = catalogue.read_cluster(client, name)
        if description is None:
            raise StartError(
                f"ZooKeeper knows no cluster {name!r} of pair {pair.name!r}. Register it in hadash."
            )
        clusters[name] = description
    return pair, clusters


async def _run(settings: GatewaySettings, accounts: Accounts, client: KazooClient) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    # A closed terminal is no reason to drop clients. SIGHUP has no effect until there are certificates to read again.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    if settings.state:
        try:
            epoch = await asyncio.to_thread(BindingStore(client).epoch)
            remembered.check(Path(settings.state), epoch)
        except (remembered.Behind, BindingError) as error:
            raise StartError(str(error)) from None
    pair, clusters = await asyncio.to_thread(_read_catalogue, client, settings)
    member = Member(
        client,
        settings.id,
        f"{settings.advertised_host}:{settings.port}",
        settings.admin_url,
        VERSION,
        os.getpid(),
        return_seconds=settings.return_seconds,
        pair=pair.name,
    )
    try:
        gateway = Gateway(settings, pair, clusters, member, accounts)
    except (BadListener, LakeError) as error:
        raise StartError(str(error)) from None

    if not settings.state:
        log.warning(
            "HADASH_GATEWAY_STATE is not set: this Gateway cannot tell a ZooKeeper that was emptied or put back "
            "while it was down."
        )
    loop.add_signal_handler(signal.SIGHUP, gateway.context.certificates.look)

    membership = Membership(client, member, gateway.context, stop.set)
    await membership.read_bindings()
    try:
        family = socket.AF_INET6 if ":" in settings.admin_host else socket.AF_INET
        admin_socket = socket.create_server((settings.admin_host, settings.admin_port), family=family)
    except OSError as error:
        raise StartError(
            f"Port {settings.admin_port} cannot be used ({error}). Choose a free HADASH_GATEWAY_ADMIN_PORT."
        ) from None
    try:
        await membership.join()
    except NameTaken as error:
        raise StartError(str(error)) from None

    membership.follow()
    try:
        await gateway.start()
    except (OSError, NodeOutOfRange) as error:
        membership.follow_no_longer()
        await asyncio.to_thread(member.leave)
        if isinstance(error, NodeOutOfRange):
            raise StartError(str(error)) from None
        raise StartError(f"The Gateway cannot listen ({error}). Choose a free HADASH_GATEWAY_PORT.") from None
    for name in clusters:
        # A watch begins with a read that is repeated until ZooKeeper answers: not where clients are served.
        gateway.context.spawn(asyncio.to_thread(_follow_cluster, client, name, gateway, loop))

    config = uvicorn.Config(
        build_app(gateway.context),
        host=settings.admin_host,
        port=settings.admin_port,
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=ADMIN_STOP_SECONDS,
    )
    admin = uvicorn.Server(config)
    admin.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    serving = asyncio.create_task(admin._serve(sockets=[admin_socket]))
    log.info("Gateway %s serves pair %s on %s:%d", settings.id, pair.name, settings.host, settings.port)
    # Objects created so far live forever, so the collector need not look at them again. And a Gateway creates few
    # cycles but many short-lived objects, which would trigger the default thresholds hundreds of times a second.
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    say_ready()
    await stop.wait()
    gateway.context.health.stopping = True
    membership.follow_no_longer()
    admin.should_exit = True
    if membership.superseded is not None:
        log.error("%s", membership.superseded)
        await membership.give_way(gateway.abort)
        await serving
        raise Superseded(str(membership.superseded))
    await gateway.stop()
    await serving
    await membership.leave()


def _follow_cluster(
    client: KazooClient, name: str, gateway: Gateway, loop: asyncio.AbstractEventLoop
) -> None:
    def changed(data: bytes | None, stat: object) -> None:
        description = ClusterDescription.from_bytes(data or b"")
        if description is not None:
            loop.call_soon_threadsafe(gateway.cluster_changed, description)

    client.DataWatch(layout.cluster(name))(changed)


def main() -> int:
    number = worker_number()
    try:
        logs.begin(prefix=f" [{number}]" if number else "")
        settings = GatewaySettings.from_environment()
        accounts = read_accounts(settings.accounts)
        if number:
            begin_worker()
            settings = as_worker(settings, number)
        elif settings.workers > 1:
            return run_workers(settings)
        client = connect()
    except (ValueError, StoreUnavailable, PortTaken) as error:
        print(error, file=sys.stderr)
        return WRONG_SETTINGS
    try:
        uvloop.run(_run(settings, accounts, client))
    except StartError as error:
        print(error, file=sys.stderr)
        return WRONG_SETTINGS
    except Superseded:
        return SUPERSEDED  # the log has the reason
    finally:
        client.stop()
        client.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
