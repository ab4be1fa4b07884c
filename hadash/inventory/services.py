"""The only place that changes the inventory: registers clusters, pairs and InstanceIDs, publishes them to the
engines, and looks at clusters. (What clients use is stored by :mod:`~hadash.inventory.access`.)
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from hadash.accounts.roles import REGISTER, may
from hadash.audit.models import record
from hadash.bindings import catalogue
from hadash.bindings.model import Broker, ClusterDescription
from hadash.bindings.store import BindingStore
from hadash.identity.client_ids import named_by
from hadash.identity.names import InvalidName, validated
from hadash.inventory.dialects import fault_of
from hadash.inventory.gateways import zookeeper
from hadash.inventory.installation import claimed
from hadash.inventory.models import MECHANISMS, AppID, Cluster, ClusterSample, InstanceID, Pair
from hadash.kafka.cluster import client_for
from hadash.kafka.errors import ClusterUnavailable, KafkaError
from hadash.kafka.handshake import tls_fault
from hadash.kafka.tls import BadTls, checked
from hadash.sentences import NOTHING, Sentence, say


class NotRegistered(Exception):
    """A registration is not possible. ``sentence`` says why."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


# -- registering -------------------------------------------------------------------------------------------------


def register_cluster(name: str, number: int, **fields: Any) -> Cluster:
    """Create or update a cluster, look at it, and publish it to the engines.

    :raises NotRegistered: a field is not valid, ``number`` belongs to another cluster, or it would change:
        clients remember node ids that are made from it.
    """
    if not isinstance(number, int):
        raise NotRegistered(
            say("Cluster %(name)s is not valid. %(faults)s", name=name, faults="number: 1, 2, …")
        )
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is not None and cluster.number != number:
        raise NotRegistered(
            say(
                "Cluster %(name)s has number %(number)s, which clients remember: it cannot become %(wanted)s.",
                name=name,
                number=cluster.number,
                wanted=number,
            )
        )
    taken = Cluster.objects.filter(number=number).exclude(name=name).first()
    if taken is not None:
        raise NotRegistered(
            say("Number %(number)s is cluster %(taken)s's. Choose another.", number=number, taken=taken)
        )
    cluster = cluster or Cluster(name=name, number=number)
    former = cluster.tls.subject
    for field, value in fields.items():
        setattr(cluster, field, value)
    _check_access(cluster, former)
    _validate(cluster)
    cluster.save()
    look_at_cluster(cluster)
    return cluster


def _check_access(cluster: Cluster, former: str) -> None:
    """Check that a cluster's fields suffice to sign in and fit each other; set the names of its principals
    where they are not given.

    :param former: the subject of the certificate that it had before.
    :raises NotRegistered: they do not.
    """
    protocol = str(cluster.security_protocol)
    if not protocol.endswith("SSL"):
        if cluster.tls_ca or cluster.tls_certificate or cluster.tls_key:
            fault = say(
                "It has tls_ca, tls_certificate or tls_key, but no TLS: security_protocol is %(protocol)s.",
                protocol=protocol,
            )
            raise _not_valid(cluster, fault)
    else:
        try:
            tls = checked(cluster.tls, timezone.now())
        except BadTls as error:
            raise _not_valid(cluster, error.sentence) from None
        cluster.tls_ca, cluster.tls_certificate, cluster.tls_key = tls.ca, tls.certificate, tls.key
    if not protocol.startswith("SASL"):
        name_principals(cluster, former)
        return
    for field in ("admin_username", "admin_password", "mirror_username", "mirror_password"):
        if not getattr(cluster, field):
            raise _not_valid(
                cluster, say("%(field)s is missing: hadash signs in to this cluster with SASL.", field=field)
            )
    if cluster.sasl_mechanism not in MECHANISMS:
        fault = say(
            "sasl_mechanism is %(mechanism)s; hadash's own accounts sign in with %(known)s.",
            mechanism=cluster.sasl_mechanism,
            known=MECHANISMS,
        )
        raise _not_valid(cluster, fault)


def name_principals(cluster: Cluster, former: str) -> None:
    """Set the names of hadash's principals, where they are not given or are those of the ``former``
    certificate, to the subject of its current certificate.
    """
    subject = cluster.tls.subject
    for field in ("admin_username", "mirror_username"):
        if getattr(cluster, field) in ("", former):
            setattr(cluster, field, subject)


def _not_valid(cluster: Cluster, fault: Sentence) -> NotRegistered:
    return NotRegistered(say("Cluster %(name)s is not valid. %(faults)s", name=cluster.name, faults=fault))


def _validate(cluster: Cluster) -> None:
    found_by_looking = ["brokers", "looked_at"]
    try:
        cluster.full_clean(exclude=found_by_looking)
    except ValidationError as error:
        faults = [f"{field}: {' '.join(map(str, texts))}" for field, texts in error.message_dict.items()]
        raise NotRegistered(
            say("Cluster %(name)s is not valid. %(faults)s", name=cluster.name, faults=faults)
        ) from None


def register_pair(
    name: str,
    first: Cluster,
    second: Cluster,
    default: Cluster,
    dialect: str | None = None,
    didi_zookeeper: dict[str, str] | None = None,
) -> Pair:
    """Create or update a pair and publish it to the engines.

    :param dialect: a :class:`Pair.Dialect`; ``None`` keeps the current one (native for a new pair).
    :param didi_zookeeper: as in :class:`Pair`; ``None`` keeps the current value.
    :raises NotRegistered: a cluster is in another pair already, the default would change, the addresses for
        DiDi's engine are not valid, or AppIDs are bound already and the engine would change.
    """
    for other in Pair.objects.exclude(name=name).select_related("first", "second"):
        for cluster in (first, second):
            if cluster in other.clusters:
                raise NotRegistered(
                    say("Cluster %(cluster)s is in pair %(pair)s already.", cluster=cluster, pair=other)
                )
    held = Pair.objects.filter(name=name).select_related("default").first()
    if held is not None and held.default != default:
        raise NotRegistered(
            say(
                "Clients without a binding are on %(cluster)s, the default of pair %(pair)s: it cannot be changed. "
                "Move them by switches.",
                cluster=held.default,
                pair=held,
            )
        )
    engine = _engine(held, first, second, dialect, didi_zookeeper)
    pair, _ = Pair.objects.update_or_create(
        name=name, defaults={"first": first, "second": second, "default": default, **engine}
    )
    catalogue.publish_pair(claimed(zookeeper()), pair.describe())
    return pair


def _engine(
    held: Pair | None,
    first: Cluster,
    second: Cluster,
    dialect: str | None,
    didi_zookeeper: dict[str, str] | None,
) -> dict[str, Any]:
    """Return the two fields that say which engine governs the pair.

    :raises NotRegistered: they are not valid, or the engine would change while AppIDs are bound.
    """
    before = held.dialect if held is not None else Pair.Dialect.NATIVE.value
    wanted = before if dialect is None else dialect
    servers = didi_zookeeper
    if servers is None:
        servers = held.didi_zookeeper if held is not None and wanted == before else {}
    fault = fault_of(wanted, [first.name, second.name], servers)
    if fault is not None:
        raise NotRegistered(fault)
    if held is not None and wanted != before:
        own = set(AppID.objects.filter(pair=held).values_list("name", flat=True))
        bound = sorted(own & set(BindingStore(zookeeper()).all_documents()))
        if bound:
            raise NotRegistered(
                say(
                    "AppIDs of pair %(pair)s are bound already (%(appids)s): another engine would not know "
                    "where they are.",
                    pair=held,
                    appids=bound[:5],
                )
            )
    return {"dialect": wanted, "didi_zookeeper": servers}


def register_instance(
    actor: Any, appid: AppID, name: str, note: str = "", address: str | None = None
) -> InstanceID:
    """Register an InstanceID under an AppID.

    :param actor: a user; ``None`` for a person at the command line.
    :raises PermissionDenied: ``actor`` may not register.
    :raises NotRegistered: the name is not a valid client.id, names another AppID, or is registered already.
    """
    (instance,) = register_instances(actor, appid, [name], note, address)
    return instance


def ensure_instance(
    actor: Any, appid: AppID, name: str, note: str = "", address: str | None = None
) -> tuple[InstanceID, bool]:
    """Register an InstanceID unless this AppID has it already. Return it, and whether it is new.

    :raises PermissionDenied: ``actor`` may not register.
    :raises NotRegistered: the name is not a valid client.id, or names another AppID.
    """
    _check_may_register(actor, appid)
    held = InstanceID.objects.filter(appid=appid, name=name).first()
    if held is not None:
        return held, False
    try:
        return register_instance(actor, appid, name, note, address), True
    except NotRegistered:
        # Another request may have registered it at the same moment.
        held = InstanceID.objects.filter(appid=appid, name=name).first()
        if held is None:
            raise
        return held, False


def register_instances(
    actor: Any, appid: AppID, names: Iterable[str], note: str = "", address: str | None = None
) -> list[InstanceID]:
    """Register several InstanceIDs, all or none. Raises like :func:`register_instance`."""
    names = list(names)
    if names:
        _check_may_register(actor, appid)
    with transaction.atomic():
        made = [_new_instance(appid, name, note) for name in names]
        # After the last row: recording waits for the lock of the log's chain, and while it waits it must not
        # hold rows that others need before they release that lock.
        for instance in made:
            record(actor, "register", f"InstanceID {instance}", address)
    return made


def _check_may_register(actor: Any, appid: AppID) -> None:
    """:raises PermissionDenied: the user may not register InstanceIDs in the AppID's pair."""
    if actor is not None and not may(actor, REGISTER, appid.pair):
        raise PermissionDenied("You may not register InstanceIDs.")


def _new_instance(appid: AppID, name: str, note: str) -> InstanceID:
    """Create the row. :raises NotRegistered: see :func:`register_instance`."""
    try:
        name = validated(name, "InstanceID")
    except InvalidName as error:
        raise NotRegistered(error.sentence) from None
    named = named_by(name)
    if named is not None and named.appid != appid.name:
        raise NotRegistered(
            say(
                "%(name)s names AppID %(other)s: a Gateway refuses it from %(appid)s. Register it under %(other)s.",
                name=name,
                other=named.appid,
                appid=appid,
            )
        )
    try:
        with transaction.atomic():
            return InstanceID.objects.create(appid=appid, name=name, note=note.strip())
    except IntegrityError:
        raise NotRegistered(
            say(
                "%(name)s is registered under %(appid)s already: an InstanceID names one client.",
                name=name,
                appid=appid,
            )
        ) from None


# -- clusters ----------------------------------------------------------------------------------------------------


def look_at_cluster(cluster: Cluster) -> None:
    """Store a cluster's brokers, or why it does not answer, with a sample, and publish it to the engines."""
    client = client_for(cluster.access)
    milliseconds = None
    began = time.monotonic()
    try:
        found = client.brokers()
        milliseconds = 1000 * (time.monotonic() - began)
        cluster.kafka_cluster_id = client.cluster_id()
        cluster.brokers = [{"id": id_, "host": host, "port": port} for id_, host, port in found]
        cluster.fault = NOTHING
    except ClusterUnavailable as error:
        brokers = [(broker["host"], broker["port"]) for broker in cluster.brokers]
        cluster.fault = tls_fault(cluster.access, brokers) or error.sentence
    except KafkaError as error:
        cluster.fault = error.sentence
    cluster.looked_at = timezone.now()
    cluster.save(update_fields=["kafka_cluster_id", "brokers", "fault", "looked_at"])
    ClusterSample.objects.create(
        cluster=cluster,
        at=cluster.looked_at,
        milliseconds=None if cluster.fault else milliseconds,
        brokers=None if cluster.fault else len(cluster.brokers),
    )
    catalogue.publish_cluster(
        claimed(zookeeper()),
        ClusterDescription(
            cluster.name,
            cluster.number,
            cluster.bootstrap_servers,
            cluster.security_protocol,
            tuple(Broker(b["id"], b["host"], b["port"]) for b in cluster.brokers),
        ),
    )
