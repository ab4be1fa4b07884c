"""Chooses the dialect of a pair: the engine that governs it, hadash's own or DiDi's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from django.conf import settings

from hadash.bindings.dialect import Dialect
from hadash.bindings.didi.dialect import DidiDialect
from hadash.bindings.didi.fleet import Fleet
from hadash.bindings.didi.names import BY_TOPIC
from hadash.bindings.didi.trees import Tree, tree_at
from hadash.bindings.errors import NotConfigured
from hadash.bindings.kept import Documents, kept_documents
from hadash.bindings.native import NativeDialect
from hadash.inventory.gateways import zookeeper
from hadash.inventory.installation import claimed
from hadash.inventory.models import Access, InstanceID, Pair
from hadash.sentences import Sentence, say

#: The name of the Gateway's tree in ``Pair.didi_zookeeper``, beside those of the clusters.
GATEWAY = "gateway"

_HOSTS = re.compile(r"[^\s,:/]+:\d+(,[^\s,:/]+:\d+)*(/[^\s,]+)?")


def dialect_of(pair: Pair) -> Dialect:
    """Return the dialect that holds the bindings of ``pair``.

    :raises StoreUnavailable: hadash's ZooKeeper does not answer, or its chroot belongs to another installation.
        (The ZooKeepers of DiDi's engine are asked when they are needed.)
    :raises NotConfigured: the pair is registered for DiDi's engine without valid addresses of its ZooKeepers.
    """
    native = NativeDialect(claimed(zookeeper()))
    if pair.dialect == Pair.Dialect.NATIVE:
        return native
    servers = pair.didi_zookeeper
    fault = fault_of(pair.dialect, [cluster.name for cluster in pair.clusters], servers)
    if fault is not None:
        raise NotConfigured(fault)
    clusters = tuple((c.name, c.number, servers[c.name]) for c in pair.clusters)
    return _didi(native.client, pair.pk, pair.default.name, clusters, servers[GATEWAY])


def documents_of(pair: Pair) -> Documents:
    """Return all binding documents (also of other pairs), as cached in this process.

    :raises StoreUnavailable, NotConfigured: see :func:`dialect_of`.
    """
    dialect = dialect_of(pair)
    record = dialect.record if isinstance(dialect, DidiDialect) else dialect
    assert isinstance(record, NativeDialect)
    return kept_documents(record.client).all()


def fleet_of(pair: Pair) -> Fleet:
    """Return the ZooKeeper trees of a pair that DiDi's engine governs.

    :raises NotConfigured: another engine governs it, or the addresses of its ZooKeepers are not valid.
    :raises StoreUnavailable: see :func:`dialect_of`.
    """
    dialect = dialect_of(pair)
    if not isinstance(dialect, DidiDialect):
        raise NotConfigured(say("Pair %(pair)s is not governed by DiDi's engine.", pair=pair))
    return dialect.fleet


@lru_cache(maxsize=100)
def _didi(
    client: Any, pair: int, default: str, clusters: tuple[tuple[str, int, str], ...], gateway: str
) -> DidiDialect:
    """Return DiDi's dialect, one for the life of the process: it keeps connections, and the time of each epoch."""
    trees = {name: _tree(name, number, hosts) for name, number, hosts in clusters}
    fleet = Fleet(trees, _tree(GATEWAY, None, gateway))

    def producers(appid: str) -> set[str]:
        registered = InstanceID.objects.filter(appid__pair=pair, appid__name=appid, name__startswith=BY_TOPIC)
        seen = Access.objects.filter(pair=pair, appid=appid, client_id__startswith=BY_TOPIC)
        return {*registered.values_list("name", flat=True), *seen.values_list("client_id", flat=True)}

    return DidiDialect(NativeDialect(client), fleet, default, settings.DIDI_APPLY_SECONDS, producers)


@lru_cache(maxsize=100)
def _tree(name: str, number: int | None, hosts: str) -> Tree:
    return tree_at(name, number, hosts)


def fault_of(dialect: str, clusters: Sequence[str], servers: Any) -> Sentence | None:
    """Return what is wrong with ``Pair.dialect`` and ``Pair.didi_zookeeper``; ``None`` when they are valid.

    >>> fault_of("native", ["east", "west"], {}) is None
    True
    >>> str(fault_of("didi", ["east", "west"], {"east": "z:2181/east"}))
    "DiDi's engine: didi_zookeeper has to say where the ZooKeepers of east, west, gateway are, and no others."
    """
    if dialect not in Pair.Dialect.values:
        return say("Dialect %(dialect)s is none of %(all)s.", dialect=dialect, all=Pair.Dialect.values)
    if dialect == Pair.Dialect.NATIVE:
        return say("didi_zookeeper is for the dialect didi only.") if servers else None
    wanted = [*clusters, GATEWAY]
    if len(set(wanted)) != 3 or not isinstance(servers, Mapping) or set(servers) != set(wanted):
        return say(
            "DiDi's engine: didi_zookeeper has to say where the ZooKeepers of %(names)s are, and no others.",
            names=wanted,
        )
    for name, hosts in servers.items():
        if not isinstance(hosts, str) or not _HOSTS.fullmatch(hosts):
            return say(
                "didi_zookeeper of %(name)s is host:port,host:port/chroot, not %(hosts)s.",
                name=name,
                hosts=hosts,
            )
    if len(set(servers.values())) != 3:
        return say("didi_zookeeper names one ZooKeeper twice: each cluster and the Gateway has its own.")
    return None
