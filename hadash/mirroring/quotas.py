"""What clients may use of a cluster (Kafka's client quotas), compared between the clusters of a pair. Pure.

Compared is what is in effect for a client, by Kafka's precedence, and not what is written. Copied is what is written
for an AppID and its clients by name. Defaults, and quotas of a client.id whoever its user is, are the target's own:
they are for others too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from enum import StrEnum

from hadash.kafka.values import DEFAULT, QuotaEntity, Quotas

#: The quota of an address: new connections a second.
CONNECTION_RATE = "connection_creation_rate"

#: What somebody who only reads does not meet.
WRITERS_ONLY = frozenset({"producer_byte_rate", "controller_mutation_rate"})


class Shared(StrEnum):
    """Who uses up a quota together, on each broker. Written as the entity's parts are."""

    USER_CLIENT = "user, client-id"
    USER = "user"
    CLIENT = "client-id"


@dataclass(frozen=True, slots=True)
class Quota:
    """What is in effect for a client: a limit for each broker, and who shares it. ``inf`` where nothing limits."""

    value: float
    shared: Shared = Shared.USER_CLIENT

    def at_least(self, other: Quota) -> bool:
        """Whether nobody who had ``other`` can be worse off.

        A limit that more clients share is less than the same limit for one, by how much nobody knows. And of those of a
        user and of those of a client.id neither holds the other.
        """
        if self.value == math.inf:
            return True
        return self.value >= other.value and self.shared in (other.shared, Shared.USER_CLIENT)

    def __str__(self) -> str:
        return "∞" if self.value == math.inf else f"{self.value:.15g} ({self.shared})"


UNLIMITED = Quota(math.inf)


@dataclass(frozen=True, slots=True)
class Mover:
    """Clients of an AppID that move: those named, and with ``others`` also any that nobody knows by name."""

    appid: str
    client_ids: frozenset[str]
    others: bool

    @property
    def clients(self) -> list[str | None]:
        """``None`` stands for a client.id that has no quota of its own."""
        return [*([None] if self.others else []), *sorted(self.client_ids)]


@dataclass(frozen=True, slots=True)
class Difference:
    """What is in effect for a client before and after. ``client_id``: ``None`` for all that are not named beside it."""

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
    """What Kafka enforces for a client, the most specific first.

    :param client_id: ``None`` for one that no quota names.

    >>> both = {QuotaEntity(user="shop"): {"producer_byte_rate": 5.0}, QuotaEntity(client_id="web"): {"producer_byte_rate": 9.0}}
    >>> print(in_effect(both, "shop", "web", "producer_byte_rate"))
    5 (user)
    """
    for entity, shared in _precedence(user, client_id):
        value = quotas.get(entity, {}).get(key)
        if value is not None:
            return Quota(value, shared)
    return UNLIMITED


def _precedence(user: str, client_id: str | None) -> Iterator[tuple[QuotaEntity, Shared]]:
    """As ``ClientQuotaManager`` of Kafka looks for it."""
    clients = [DEFAULT] if client_id is None else [client_id, DEFAULT]
    for name in (user, DEFAULT):
        for client in clients:
            yield QuotaEntity(user=name, client_id=client), Shared.USER_CLIENT
        yield QuotaEntity(user=name), Shared.USER
    for client in clients:
        yield QuotaEntity(client_id=client), Shared.CLIENT


def missing(source: Quotas, target: Quotas, movers: Iterable[Mover]) -> dict[QuotaEntity, dict[str, float]]:
    """The quotas that the movers have on the source by their names, and that the target has nothing in the place of."""
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
    """Both; of one entity the keys of both."""
    return {e: {**quotas.get(e, {}), **more.get(e, {})} for e in {**quotas, **more}}


def compared(
    before: Quotas, after: Quotas, movers: Iterable[Mover], without: Set[str] = frozenset()
) -> list[Difference]:
    """Where something else is in effect for a mover after than before; each told once.

    :param without: keys that do not concern the movers.
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
    """The client.ids for which there are quotas of an AppID."""
    return {entity.client_id for entity in quotas if entity.user == appid and entity.client_id}


def narrower_addresses(source: Quotas, target: Quotas) -> dict[str, tuple[float, float]]:
    """The addresses (:data:`DEFAULT` for all that have no quota of their own) from which fewer connections a second may
    be made to the target than to the source: what may be made to the source, and to the target."""
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
    """For people and for the audit log."""
    return sorted(
        f"{entity}: {key} {value:.15g}" for entity, values in quotas.items() for key, value in values.items()
    )


def of_movers(quotas: Quotas, movers: Iterable[Mover], without: Set[str] = frozenset()) -> list[str]:
    """What limits the movers on one cluster, as texts."""
    return [f"{d.who}: {d.key} {d.after}" for d in compared({}, quotas, movers, without)]
