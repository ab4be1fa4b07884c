"""Client quotas of one cluster, through kafka-python's admin client. librdkafka's has no requests for them, and
kafka-python's has no public methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest

from hadash.kafka.errors import KafkaError
from hadash.kafka.group_admin import Admin, raise_refusal
from hadash.kafka.values import DEFAULT, QuotaEntity, Quotas
from hadash.sentences import say

#: Kafka's names of the kinds of entities, by the field of :class:`QuotaEntity`.
_KINDS = {"user": "user", "client_id": "client-id", "ip": "ip"}
_FIELDS = {kind: field for field, kind in _KINDS.items()}

#: Brokers before 3.0 may have a default in their properties, which they do not report with their quotas. It
#: applies where Kafka's default client-id has no quota.
STATIC_DEFAULTS = {
    "quota.producer.default": "producer_byte_rate",
    "quota.consumer.default": "consumer_byte_rate",
}

#: The value of these when they are not set: no limit.
_UNLIMITED = str(2**63 - 1)

#: The config of a class that decides about quotas instead of Kafka.
CALLBACK = "client.quota.callback.class"


def described(admin: Admin) -> dict[QuotaEntity, dict[str, float]]:
    """Return all quotas of the cluster.

    :raises KafkaError: it has quotas for a kind of entity that hadash does not know.
    """
    response = admin.ask(DescribeClientQuotasRequest(components=[], strict=False))
    raise_refusal(response)
    found: dict[QuotaEntity, dict[str, float]] = {}
    for entry in response.entries or ():
        found[_entity(entry.entity)] = {each.key: float(each.value) for each in entry.values}
    return found


def set_quotas(wanted: Quotas, admin: Admin) -> None:
    """Set some quotas. Other quotas of these entities are kept."""
    entry, part, op = (
        AlterClientQuotasRequest.EntryData,
        AlterClientQuotasRequest.EntryData.EntityData,
        AlterClientQuotasRequest.EntryData.OpData,
    )
    entries = [
        entry(
            entity=[part(entity_type=kind, entity_name=name) for kind, name in _parts(entity)],
            ops=[op(key=key, value=value, remove=False) for key, value in values.items()],
        )
        for entity, values in wanted.items()
    ]
    for each in admin.ask(AlterClientQuotasRequest(entries=entries, validate_only=False)).entries:
        raise_refusal(each)


def with_static_defaults(quotas: Quotas, configs: Mapping[int, Mapping[str, str]]) -> Quotas:
    """Return the quotas with the defaults from the brokers' properties.

    :param configs: the configs of the brokers by id.
    :raises KafkaError: a class of the brokers decides about quotas (:data:`CALLBACK`).

    >>> with_static_defaults({}, {1: {"quota.producer.default": "1048576"}})
    {QuotaEntity(user=None, client_id='', ip=None): {'producer_byte_rate': 1048576.0}}
    """
    if any(config.get(CALLBACK) for config in configs.values()):
        raise KafkaError(say("its brokers decide by themselves (%(callback)s)", callback=CALLBACK))
    static: dict[str, float] = {}
    for name, key in STATIC_DEFAULTS.items():
        set_to = {config[name] for config in configs.values() if config.get(name, _UNLIMITED) != _UNLIMITED}
        if set_to:
            static[key] = min(map(float, set_to))
    if not static:
        return quotas
    default = QuotaEntity(client_id=DEFAULT)
    return {**quotas, default: {**static, **quotas.get(default, {})}}


def _entity(parts: Any) -> QuotaEntity:
    unknown = sorted({part.entity_type for part in parts} - _FIELDS.keys())
    if unknown:
        raise KafkaError(
            say(
                "it has quotas for a kind of entity that hadash does not know (%(kinds)s)",
                kinds=", ".join(unknown),
            )
        )
    return QuotaEntity(
        **{
            _FIELDS[part.entity_type]: DEFAULT if part.entity_name is None else part.entity_name
            for part in parts
        }
    )


def _parts(entity: QuotaEntity) -> list[tuple[str, str | None]]:
    """Return the parts of an entity as Kafka's (kind, name); the name of a default is ``None``."""
    named = {kind: getattr(entity, field) for field, kind in _KINDS.items()}
    return [(kind, name or None) for kind, name in named.items() if name is not None]
