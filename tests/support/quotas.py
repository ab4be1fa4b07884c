"""Client quotas of a cluster, taken away again after a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka.protocol.admin import AlterClientQuotasRequest

from hadash.kafka.cluster import ClusterClient
from hadash.kafka.group_admin import config_of, connect
from hadash.kafka.tls import NO_TLS, Tls
from hadash.kafka.values import ClusterAccess, QuotaEntity
from support.environment import Cluster

_KINDS = {"user": "user", "client_id": "client-id", "ip": "ip"}


def access_of(cluster: Cluster, user: str = "", password: str = "") -> ClusterAccess:
    """As hadash reaches a cluster; with the admin's account without a user."""
    config = cluster.client_config(user, password, "SCRAM-SHA-256" if user else "PLAIN")
    return ClusterAccess(
        name=cluster.name,
        bootstrap_servers=config["bootstrap.servers"],
        security_protocol=config["security.protocol"],
        sasl_mechanism=config["sasl.mechanism"],
        username=config["sasl.username"],
        password=config["sasl.password"],
        tls=Tls(Path(cluster.authority).read_text()) if cluster.authority else NO_TLS,
    )


class Quotas:
    """What a test sets on one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.client = ClusterClient(access_of(cluster))
        self._config = config_of(access_of(cluster))

    def set(self, entity: QuotaEntity, **rates: float) -> None:
        self.client.set_quotas({entity: rates})

    def of(self, entity: QuotaEntity) -> dict[str, float]:
        return dict(self.client.quotas().get(entity, {}))

    def remove(self, before: set[QuotaEntity]) -> None:
        """Those that were not there before."""
        entry = AlterClientQuotasRequest.EntryData
        entries = [
            entry(
                entity=[
                    entry.EntityData(entity_type=kind, entity_name=getattr(entity, field) or None)
                    for field, kind in _KINDS.items()
                    if getattr(entity, field) is not None
                ],
                ops=[entry.OpData(key=key, value=0.0, remove=True) for key in values],
            )
            for entity, values in self.client.quotas().items()
            if entity not in before
        ]
        admin = connect(self._config)
        try:
            for each in admin.ask(AlterClientQuotasRequest(entries=entries, validate_only=False)).entries:
                assert each.error_code == 0, each
        finally:
            admin.close()


@contextmanager
def quotas_of(cluster: Cluster) -> Iterator[Quotas]:
    """Whatever quotas are made meanwhile, also by hadash, go away again."""
    quotas = Quotas(cluster)
    before = set(quotas.client.quotas())
    yield quotas
    quotas.remove(before)
    quotas.client.close()
