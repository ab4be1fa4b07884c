"""Compares Kafka's client quotas between the clusters of a pair. Pure.

The quotas in effect for a client, by Kafka's precedence, are compared, and not the entries. Only entries that
name an AppID are copied. Defaults, and entries of a client.id without a user, stay those of the target: they
apply to other clients, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from enum import StrEnum

from hadash.kafka.values import DEFAULT, QuotaEntity, Quotas

#: The quota of an address: new connections per second.
CONNECTION_RATE = "connection_creation_rate"

#: The quotas that do not affect clients which only read.
WRITERS_ONLY = frozenset({"producer_byte_rate", "controller_mutation_rate"})


class Shared(StrEnum):
    """The clients that share a quota, on each broker. The values are the parts of the entity."""

    USER_CLIENT = "user, client-id"
    USER = "user"
    CLIENT = "client-id"


@dataclass(frozen=True, slots=True)
class Quota:
    """The quota in effect for a client: a limit for each broker (``inf``: none), and the clients that share it."""

    value: float
    shared: Shared = Shared.USER_CLIENT

    def at_least(self, other: Quota) -> bool:
        """Return whether no client is worse off with this quota than with ``other``.

        A limit that more clients share is less than the same limit for one, by an unknown amount. The clients
        of a user and those of a client.id are sets of which neither contains the other.
        """
        if self.value == math.inf:
            return True
        return self.value >= other.value and self.shared in (other.shared, Shared.USER_CLIENT)

    def __str__(self) -> str:
        return "∞" if self.value == math.inf else f"{self.value:.15g} ({self.shared})"


UNLIMITED = Quota(math.inf)


@dataclass(frozen=True, slots=True)
class Mover:
    """Clients of an AppID that move: those named, and with ``others`` all unnamed ones, too."""

    appid: str
    client_ids: frozenset[str]
    others: bool

    @property
    def clients(self) -> list[str | None]:
        """The client.ids; ``None`` stands for one that has no quota of its own."""
        return [*([None] if self.others else []), *sorted(self.client_ids)]


@dataclass(frozen=True, slots=True)
class Difference:
    """The quotas of a client before and after. ``client_id``: ``None`` for all clients without a difference of
    their own.
    """

    appid: str
    client_id: str | None
    key: str
    before: Quota
    after: Quota

    @property
    def is_less(self) -> bool:
        return not self.after.at_least(self.before)

    @property
    def who(self) -> str:
        return self.appid if self.client_id is None else f"{self.appid} › {self.client_id}"

    def __str__(self) -> str:
        return f"{self.who}: {self.key} {self.before} → {self.after}"


def in_effect(quotas: Quotas, user: str, client_id: str | None, key: str) -> Quota:
    """Return the quota that Kafka enforces for a client: that of the most specific entity.

    :param client_id: ``None`` for a client that no quota names.

    >>> user, client = QuotaEntity(user="shop"), QuotaEntity(client_id="web")
    >>> both = {user: {"producer_byte_rate": 5.0}, client: {"producer_byte_rate": 9.0}}
    >>> print(in_effect(both, "shop", "web", "producer_byte_rate"))
    5 (user)
    """
    for entity, shared in _precedence(user, client_id):
        value = quotas.get(entity, {}).get(key)
        if value is not None:
            return Quota(value, shared)
    return UNLIMITED


def _precedence(user: str, client_id: str | None) -> Iterator[tuple[QuotaEntity, Shared]]:
    """Yield the entities in the order in which Kafka's ``ClientQuotaManager`` looks for a quota."""
    clients = [DEFAULT] if client_id is None else [client_id, DEFAULT]
    for name in (user, DEFAULT):
        for client in clients:
            yield QuotaEntity(user=name, client_id=client), Shared.USER_CLIENT
        yield QuotaEntity(user=name), Shared.USER
    for client in clients:
        yield QuotaEntity(client_id=client), Shared.CLIENT


def missing(source: Quotas, target: Quotas, movers: Iterable[Mover]) -> dict[QuotaEntity, dict[str, float]]:
    """Return the quotas that name the movers on the source, and whose entity has no such quota on the target."""
    found: dict[QuotaEntity, dict[str, float]] = {}
    for mover in movers:
        for entity, values in source.items():
            if not _belongs_to(entity, mover):
                continue
            there = target.get(entity, {})
            lacking = {key: value for key, value in values.items() if key not in there}
            if lacking:
                found[entity] = lacking
    return found


def _belongs_to(entity: QuotaEntity, mover: Mover) -> bool:
    if entity.user != mover.appid or entity.ip is not None:
        return False
    return mover.others or entity.client_id in (None, DEFAULT, *mover.client_ids)


def with_quotas(quotas: Quotas, more: Quotas) -> Quotas:
    """Return both quotas merged; an entity in both has the keys of both."""
    return {e: {**quotas.get(e, {}), **more.get(e, {})} for e in {**quotas, **more}}


def compared(
    before: Quotas, after: Quotas, movers: Iterable[Mover], without: Set[str] = frozenset()
) -> list[Difference]:
    """Return the differences in the quotas in effect for the movers, each once.

    :param without: keys that do not affect the movers.
    """
    keys = {
        key
        for quotas in (before, after)
        for entity, values in quotas.items()
        if entity.ip is None
        for key in values
    }
    found = []
    for mover in movers:
        for key in sorted(keys - without):
            of_others: tuple[Quota, Quota] | None = None
            for client in mover.clients:
                had, has = (in_effect(quotas, mover.appid, client, key) for quotas in (before, after))
                if client is None:
                    of_others = (had, has)
                elif of_others == (had, has):
                    continue
                if had != has:
                    found.append(Difference(mover.appid, client, key, had, has))
    return found


def named_clients(quotas: Quotas, appid: str) -> set[str]:
    """Return the client.ids that quotas of an AppID name."""
    return {entity.client_id for entity in quotas if entity.user == appid and entity.client_id}


def narrower_addresses(source: Quotas, target: Quotas) -> dict[str, tuple[float, float]]:
    """Return the addresses that may open fewer connections per second to the target than to the source, with
    both rates (source, target). :data:`DEFAULT` stands for addresses without a quota of their own.
    """
    named = {entity.ip for quotas in (source, target) for entity in quotas if entity.ip is not None}
    rates = {ip: (_rate(source, ip), _rate(target, ip)) for ip in sorted(named)}
    return {ip: (before, after) for ip, (before, after) in rates.items() if after < before}


def _rate(quotas: Quotas, ip: str) -> float:
    for entity in (QuotaEntity(ip=ip), QuotaEntity(ip=DEFAULT)):
        value = quotas.get(entity, {}).get(CONNECTION_RATE)
        if value is not None:
            return value
    return math.inf


def as_texts(quotas: Quotas) -> list[str]:
    """Return quotas as texts for users and for the audit log."""
    return sorted(
        f"{entity}: {key} {value:.15g}" for entity, values in quotas.items() for key, value in values.items()
    )


def of_movers(quotas: Quotas, movers: Iterable[Mover], without: Set[str] = frozenset()) -> list[str]:
    """Return the limits of the movers on one cluster, as texts."""
    return [f"{d.who}: {d.key} {d.after}" for d in compared({}, quotas, movers, without)]
