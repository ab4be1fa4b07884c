"""Access rules (ACLs) of one cluster, through kafka-python's admin client.

librdkafka's client is not used: its DescribeAcls drops the broker's error, so that a cluster which refuses to
answer looks like one without rules, and with more than 100,000 resources it ends the whole process
(confluent-kafka-python#1859, #2031; librdkafka 2.16). As there, requests go to the controller, which has
already applied earlier changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from kafka import errors
from kafka.admin import ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourceType
from kafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest

from hadash.kafka.errors import KafkaError
from hadash.kafka.group_admin import Admin, raise_refusal
from hadash.kafka.values import Acl
from hadash.sentences import say


@dataclass(frozen=True, slots=True)
class Which:
    """A filter for rules; ``None``: any.

    :param topic: rules that cover this Topic, whatever their pattern.
    :param principal: rules of this principal, such as ``User:shop``.
    """

    topic: str | None = None
    principal: str | None = None

    def __str__(self) -> str:
        """Return the filter in words, for errors.

        >>> str(Which(topic="orders")), str(Which(principal="User:shop")), str(Which())
        ('about Topic orders', 'of User:shop', 'of everybody')
        """
        if self.topic is not None:
            return f"about Topic {self.topic}"
        return f"of {self.principal or 'everybody'}"


def rules(which: Which, admin: Admin) -> set[Acl]:
    """Return the rules of the cluster that match.

    :raises kafka.errors.KafkaError: it refuses to answer; SecurityDisabledError: it has no authorizer.
    """
    about_topic = which.topic is not None
    answer = admin.ask_controller(
        _question(
            ResourceType.TOPIC if about_topic else ResourceType.ANY,
            ACLResourcePatternType.MATCH if about_topic else ACLResourcePatternType.ANY,
            which,
        )
    )
    raise_refusal(answer)
    return _rules_in(answer)


def heard_by(broker: int, principal: str, admin: Admin) -> set[Acl]:
    """Return a principal's rules about Topics that have reached ``broker`` itself; none without an authorizer."""
    question = _question(ResourceType.TOPIC, ACLResourcePatternType.ANY, Which(principal=principal))
    answer = admin.ask_broker(broker, question)
    if errors.for_code(answer.error_code) is errors.SecurityDisabledError:
        return set()
    raise_refusal(answer)
    return _rules_in(answer)


def _question(kind: ResourceType, pattern: ACLResourcePatternType, which: Which) -> DescribeAclsRequest:
    return DescribeAclsRequest(
        resource_type_filter=kind,
        resource_name_filter=which.topic,
        pattern_type_filter=pattern,
        principal_filter=which.principal,
        host_filter=None,
        operation=ACLOperation.ANY,
        permission_type=ACLPermissionType.ANY,
    )


def _rules_in(answer: Any) -> set[Acl]:
    return {
        Acl(
            _name(ResourceType, resource.resource_type),
            resource.resource_name,
            _name(ACLResourcePatternType, resource.pattern_type),
            rule.principal,
            rule.host,
            _name(ACLOperation, rule.operation),
            _name(ACLPermissionType, rule.permission_type),
        )
        for resource in answer.resources
        for rule in resource.acls
    }


def create(wanted: Sequence[Acl], admin: Admin) -> None:
    """Create rules. Existing ones are not an error.

    :raises KafkaError: the cluster or hadash does not know such a rule.
    """
    creation = CreateAclsRequest.AclCreation
    asked = CreateAclsRequest(
        creations=[
            creation(
                resource_type=_number(ResourceType, acl.resource_type, acl),
                resource_name=acl.resource,
                resource_pattern_type=_number(ACLResourcePatternType, acl.pattern, acl),
                principal=acl.principal,
                host=acl.host,
                operation=_number(ACLOperation, acl.operation, acl),
                permission_type=_number(ACLPermissionType, acl.permission, acl),
            )
            for acl in wanted
        ]
    )
    for acl, result in zip(wanted, admin.ask_controller(asked).results, strict=True):
        error = errors.for_code(result.error_code)
        if error is not errors.NoError:
            raise error(f"{acl}: {result.error_message or error.__name__}")


def delete(unwanted: Iterable[Acl], admin: Admin) -> None:
    """Delete exactly these rules. Missing ones are not an error."""
    exactly = DeleteAclsRequest.DeleteAclsFilter
    asked = DeleteAclsRequest(
        filters=[
            exactly(
                resource_type_filter=_number(ResourceType, acl.resource_type, acl),
                resource_name_filter=acl.resource,
                pattern_type_filter=_number(ACLResourcePatternType, acl.pattern, acl),
                principal_filter=acl.principal,
                host_filter=acl.host,
                operation=_number(ACLOperation, acl.operation, acl),
                permission_type=_number(ACLPermissionType, acl.permission, acl),
            )
            for acl in unwanted
        ]
    )
    for result in admin.ask_controller(asked).filter_results:
        raise_refusal(result)
        for deleted in result.matching_acls:
            raise_refusal(deleted)


def _name(kind: type[IntEnum], number: int) -> str:
    """Return Kafka's name of a number; for one that only a newer Kafka knows, the number as text.

    >>> _name(ResourceType, 4), _name(ACLOperation, 99)
    ('CLUSTER', '99')
    """
    try:
        return kind(number).name
    except ValueError:
        return str(number)


def _number(kind: type[IntEnum], name: str, acl: Acl) -> int:
    """Return the number of one of Kafka's names. :raises KafkaError: there is no such name."""
    if name.isdecimal():
        return int(name)
    try:
        return kind[name]
    except KeyError:
        raise KafkaError(say("there is no such rule: %(acl)s", acl=acl)) from None
