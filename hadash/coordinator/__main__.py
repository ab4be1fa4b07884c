"""``python -m hadash.coordinator``: run one coordinator until SIGTERM or SIGINT. Several may run: one decides, the
others take over when it is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from kazoo.client import KazooClient

from hadash.bindings.client import connect
from hadash.coordinator.discovery.ephemeral import EphemeralDiscovery
from hadash.coordinator.discovery.http import KINDS, HttpDiscovery
from hadash.coordinator.discovery.listing import Discovery
from hadash.coordinator.discovery.static import StaticDiscovery
from hadash.coordinator.http_side import HttpSide, build_app
from hadash.coordinator.http_status import metrics, status
from hadash.coordinator.partitions import PartitionCounter
from hadash.coordinator.process import Coordinator, MakeDiscovery
from hadash.coordinator.process_settings import CoordinatorSettings, read_object, read_token
from hadash.coordinator.startup import exit_codes, stop_on_signals
from hadash.telemetry import logs

log = logging.getLogger("hadash.coordinator")


def discoveries(settings: CoordinatorSettings, client: KazooClient) -> MakeDiscovery:
    """Return what makes the discovery of a pool. :raises ValueError: a variable cannot be used."""
    if settings.discovery == "zookeeper":
        return lambda pool, on_change: EphemeralDiscovery(client, pool, on_change)
    if settings.discovery == "static":
        if not settings.discovery_file:
            raise ValueError("HADASH_COORDINATOR_DISCOVERY=static needs HADASH_COORDINATOR_DISCOVERY_FILE.")
        return lambda pool, _: StaticDiscovery(Path(settings.discovery_file), pool)
    if settings.discovery not in KINDS:
        raise ValueError(
            f"HADASH_COORDINATOR_DISCOVERY={settings.discovery!r} is none of zookeeper, static, {', '.join(KINDS)}."
        )
    if "{pool}" not in settings.discovery_url:
        raise ValueError(
            f"HADASH_COORDINATOR_DISCOVERY={settings.discovery} needs HADASH_COORDINATOR_DISCOVERY_URL, with "
            "{pool} where the name of the service is."
        )
    headers = read_object(settings.discovery_headers_file, "HADASH_COORDINATOR_DISCOVERY_HEADERS_FILE")

    def over_http(pool: str, _on_change: Callable[[object], None]) -> Discovery:
        url = settings.discovery_url.replace("{pool}", pool)
        return HttpDiscovery(url, KINDS[settings.discovery], headers)

    return over_http


def main() -> None:
    with exit_codes(log):
        logs.begin()
        settings = CoordinatorSettings.from_environment()
        token = read_token(settings.token_file, "HADASH_COORDINATOR_TOKEN_FILE")
        secrets = read_object(settings.consumer_file, "HADASH_COORDINATOR_CONSUMER_FILE")
        client = connect(bounded=True)
    try:
        with exit_codes(log):
            counter = PartitionCounter(secrets, settings.kafka_seconds)
            coordinator = Coordinator(client, settings, token, discoveries(settings, client), counter.count)
            app = build_app(
                token, lambda: status(coordinator, settings.name), lambda: True, metrics(coordinator)
            )
            http = HttpSide(app, settings.http_host, settings.http_port)
        stop_on_signals(coordinator.stop)
        http.start()
        log.info("Coordinator %s stands for election", settings.name)
        try:
            coordinator.run()
        finally:
            http.stop()
    finally:
        client.stop()
        client.close()


if __name__ == "__main__":
    main()
