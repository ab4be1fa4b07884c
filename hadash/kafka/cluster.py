"""A client of one cluster, through librdkafka's admin client (groups through another one, see
:mod:`hadash.kafka.kafka_python_client`). Calls use bulk requests where Kafka has them.

There is one client for each process and cluster (:func:`client_for`): a switch cannot afford to connect in the
seconds while writes are blocked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    OffsetSpec,
)

from hadash.kafka.acls import Which
from hadash.kafka.calls import AGAIN_SECONDS, nobody_else
from hadash.kafka.configs import ConfigsClient
from hadash.kafka.errors import ClusterUnavailable, KafkaError, NotOffered
from hadash.kafka.group_admin import REQUEST_SECONDS
from hadash.kafka.kafka_python_client import KafkaPythonClient
from hadash.kafka.librdkafka_answers import Answers
from hadash.kafka.quotas import with_static_defaults
from hadash.kafka.tail import TAIL_SECONDS, TailReader
from hadash.kafka.values import (
    Acl,
    BrokerInfo,
    ClusterAccess,
    Committed,
    Engine,
    GroupInfo,
    Partition,
    PartitionInfo,
    Quotas,
    Record,
    TopicInfo,
)
from hadash.sentences import say

#: Seconds for which a newly elected leader is asked again for its offsets: it learns them from its followers
#: within one second.
ELECTED_SECONDS = 3.0

#: Up to so many Topics are requested one by one; for more, all Topics of the cluster are requested at once.
FEW_TOPICS = 4

#: Up to so many Topics, or principals, have their rules requested one by one: the cluster searches all its
#: rules for each. For more, all rules are read.
ASKED_BY_NAME = 30


class ClusterClient:
    """Reads and controls one cluster. Methods raise :class:`KafkaError`; ``ClusterUnavailable`` if no broker
    answers.
    """

    def __init__(self, access: ClusterAccess) -> None:
        self.access = access
        self._answers = Answers(access, lambda: self._admin.poll(0))
        config: dict[str, Any] = {
            **access.config(),
            "client.id": "hadash",
            "log_level": 0,
            "socket.timeout.ms": int(REQUEST_SECONDS * 1000),
            "error_cb": self._answers.heard,
        }
        self._admin = AdminClient(config)
        self._configs = ConfigsClient(self._admin, self._answers.result)
        self._groups = KafkaPythonClient(access)
        #: A separate client: reading very many rules takes seconds, and meanwhile a switch must be able to read
        #: groups.
        self._rules = KafkaPythonClient(access)
        self._tail = TailReader(self.name, config)
        self._config = config
        self._looks: TailReader | None = None
        self._making_looks = threading.Lock()

    @property
    def name(self) -> str:
        return self.access.name

    def warm_up(self, topics: Iterable[str]) -> None:
        """Open the connections that reading the records of ``topics`` needs, because the first fetch of a
        consumer takes a second or two. Reads one partition of each broker.
        """
        leaders: dict[int, Partition] = {}
        for name, info in self.topics(topics).items():
            leaders |= {leader: Partition(name, index) for index, leader in enumerate(info.leaders)}
        ends = self.end_offsets(leaders.values())
        self.tail(ends, self.start_offsets(ends), 1)

    # -- Topics ------------------------------------------------------------------------------------------------

    def brokers(self) -> list[tuple[int, str, int]]:
        """Return (id, host, port) of the live brokers, by id."""
        metadata = self._metadata(None)
        return sorted((b.id, b.host, b.port) for b in metadata.brokers.values())

    def cluster_id(self) -> str:
        return str(self._metadata(None).cluster_id)

    def topics(self, names: Iterable[str] | None = None) -> dict[str, TopicInfo]:
        """Return Topics by name: all without Kafka's internal ones, or those of ``names`` that exist."""
        wanted = None if names is None else set(names)
        if wanted is not None and len(wanted) <= FEW_TOPICS:
            # Avoids requesting all Topics of a large cluster.
            described = {name: self._metadata(name).topics[name] for name in wanted}
        else:
            described = self._metadata(None).topics
        found = {}
        for name, topic in described.items():
            if topic.error is not None or (
                name not in wanted if wanted is not None else name.startswith("__")
            ):
                continue
            leaders = tuple(topic.partitions[index].leader for index in sorted(topic.partitions))
            replicas = min((len(p.replicas) for p in topic.partitions.values()), default=0)
            found[name] = TopicInfo(name, leaders, replicas)
        return found

    def partitions(self) -> list[PartitionInfo]:
        """Return all partitions of all Topics, including Kafka's internal ones."""
        return [
            PartitionInfo(Partition(name, index), p.leader, tuple(p.replicas), tuple(p.isrs))
            for name, topic in sorted(self._metadata(None).topics.items())
            if topic.error is None
            for index, p in sorted(topic.partitions.items())
        ]

    def nodes(self) -> tuple[list[BrokerInfo], int | None]:
        """Return the live brokers, by id, and the id of the controller. (A cluster with KRaft names any broker
        instead; :meth:`engine` has its controller.)

        Not by librdkafka's DescribeCluster, which ends the process (docs/adr/0011-two-admin-clients.md).
        """
        return self._groups.nodes()

    def broker_configs(self, brokers: Iterable[int]) -> dict[int, dict[str, str]]:
        """Return the configs of brokers that are in effect, without secrets."""
        return self._configs.of_brokers(brokers)

    def _metadata(self, topic: str | None) -> Any:
        try:
            found = self._admin.list_topics(topic, timeout=REQUEST_SECONDS)
        except KafkaException as error:
            raise self._answers.failure(say("does not answer"), error.args[0]) from None
        self._answers.answered()
        return found

    def create_topics(self, topics: Mapping[str, tuple[int, int, Mapping[str, str]]]) -> None:
        """Create Topics from name to (partitions, replication factor, configs). Existing ones are not changed."""
        new = [
            NewTopic(name, partitions, replicas, config=dict(config))
            for name, (partitions, replicas, config) in topics.items()
        ]
        if not new:
            return
        for name, future in self._admin.create_topics(new, request_timeout=REQUEST_SECONDS).items():
            self._answers.result(
                future,
                say("could not create Topic %(topic)s", topic=name),
                ignore=(ClientError.TOPIC_ALREADY_EXISTS,),
            )

    def delete_topics(self, names: Iterable[str]) -> None:
        """Delete Topics with all their records. Missing ones are not an error. They disappear a little later."""
        wanted = sorted(names)
        if not wanted:
            return
        for name, future in self._admin.delete_topics(wanted, request_timeout=REQUEST_SECONDS).items():
            self._answers.result(
                future,
                say("could not delete Topic %(topic)s", topic=name),
                ignore=(ClientError.UNKNOWN_TOPIC_OR_PART,),
            )

    def topic_configs(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the configs that are set on the Topics themselves."""
        return self._configs.set_on_topics(names)

    def topic_settings(self, names: Iterable[str], keys: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the configs ``keys`` that are in effect for Topics: their own, else the broker's defaults."""
        return self._configs.in_effect(names, keys)

    def set_topic_configs(self, wanted: Mapping[str, Mapping[str, str]]) -> None:
        """Set some configs of Topics. Their other configs are kept."""
        self._configs.set(wanted)

    # -- offsets -----------------------------------------------------------------------------------------------

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Return the offset after the last record of each partition, with one request to each broker."""
        return self._offsets(partitions, OffsetSpec.latest())

    def start_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Return the first offset that each partition still holds."""
        return self._offsets(partitions, OffsetSpec.earliest())

    def _offsets(self, partitions: Iterable[Partition], spec: OffsetSpec) -> dict[Partition, int]:
        """Return offsets of partitions. A newly elected leader does not know its end for a moment: librdkafka
        returns -1001 then without an error, and it is asked again.
        """
        wanted = set(partitions)
        found: dict[Partition, int] = {}
        deadline = time.monotonic() + ELECTED_SECONDS
        while missing := wanted - found.keys():
            asked = {TopicPartition(p.topic, p.partition): spec for p in missing}
            futures = self._admin.list_offsets(asked, request_timeout=REQUEST_SECONDS)
            for key, future in futures.items():
                partition = Partition(key.topic, key.partition)
                offset = int(
                    self._answers.result(
                        future, say("could not read the offsets of %(partition)s", partition=partition)
                    ).offset
                )
                if offset >= 0:
                    found[partition] = offset
            unknown = wanted - found.keys()
            if unknown and time.monotonic() > deadline:
                raise KafkaError(
                    say(
                        "Cluster %(cluster)s does not know the offsets of %(partition)s yet.",
                        cluster=self.name,
                        partition=min(unknown),
                    )
                )
            if unknown:
                time.sleep(AGAIN_SECONDS)
        return found

    def tail(
        self,
        ends: Mapping[Partition, int],
        starts: Mapping[Partition, int],
        count: int,
        seconds: float = TAIL_SECONDS,
    ) -> dict[Partition, list[Record]]:
        """Return the last ``count`` records before ``ends`` (or as many as there are), by partition."""
        return self._tail.read(ends, starts, count, seconds)

    def records(
        self, spans: Mapping[Partition, tuple[int, int]], seconds: float = TAIL_SECONDS, max_bytes: int = 0
    ) -> dict[Partition, list[Record]]:
        """Return the records from the first offset of each span up to its end; see
        :meth:`TailReader.read_spans`.

        Uses a separate consumer: periodic looks read for seconds, and a switch whose clients are blocked must
        not wait for them.
        """
        with self._making_looks:
            if self._looks is None:
                self._looks = TailReader(self.name, self._config)
        return self._looks.read_spans(spans, seconds, max_bytes)

    # -- consumer groups ---------------------------------------------------------------------------------------

    def groups(self, names: Iterable[str]) -> dict[str, GroupInfo]:
        """Return groups with their members and coordinator."""
        return self._groups.describe(names)

    def group_names(self) -> list[str]:
        """Return the names of all groups, sorted."""
        return self._groups.names()

    def engine(self) -> Engine:
        """Return the version of Kafka that it runs, with the leader of KRaft's quorum if it has one."""
        return self._groups.engine()

    def group_offsets(self, names: Iterable[str]) -> dict[str, dict[Partition, int]]:
        """Return committed offsets by group. An offset that cannot be read is an error, not a missing one."""
        return self._groups.offsets(names)

    def group_commits(self, names: Iterable[str]) -> dict[str, dict[Partition, Committed]]:
        """Return committed offsets like :meth:`group_offsets`, with the metadata of each commit."""
        return self._groups.commits(names)

    def set_group_offsets(
        self, offsets: Mapping[str, Mapping[Partition, Committed]], fence: Callable[[], None] = nobody_else
    ) -> None:
        """Write exactly these committed offsets with their metadata. Refused for a group with members on this
        cluster.

        :param fence: called before each attempt; raises when another process has taken over.
        """
        self._groups.set_offsets(offsets, fence)

    def remove_group_offsets(
        self, partitions: Mapping[str, Iterable[Partition]], fence: Callable[[], None] = nobody_else
    ) -> None:
        """Remove exactly these committed offsets. Refused while the group's members on this cluster are
        subscribed to their Topics.
        """
        self._groups.remove_offsets(partitions, fence)

    def delete_groups(self, names: Iterable[str]) -> None:
        """Delete groups with all their offsets. Refused for a group that has members on this cluster or does
        not exist.
        """
        self._groups.delete(names)

    def close(self) -> None:
        """Close kafka-python's connections. (librdkafka closes its own when the client is garbage collected.)"""
        self._groups.close()
        self._rules.close()

    # -- ACLs and users ----------------------------------------------------------------------------------------

    def acls(self) -> set[Acl]:
        """Return every access rule of the cluster; none for a cluster without an authorizer.

        Needs DESCRIBE on the cluster; a refusal is an error, not an empty result.
        """
        return self.acls_if_any() or set()

    def acls_if_any(self) -> set[Acl] | None:
        """Return the rules like :meth:`acls`; ``None``: the cluster has no authorizer and denies nothing."""
        return self._acls([Which()])

    def acls_about(self, topics: Collection[str]) -> set[Acl]:
        """Return the rules that cover these Topics: by their names, by prefixes of these, and for all Topics."""
        if len(topics) > ASKED_BY_NAME:
            return {acl for acl in self.acls() if acl.resource_type == "TOPIC"}
        return self._acls([Which(topic=name) for name in topics]) or set()

    def acls_of(self, principals: Collection[str]) -> set[Acl]:
        """Return the rules of these principals (``User:shop``)."""
        if len(principals) > ASKED_BY_NAME:
            return {acl for acl in self.acls() if acl.principal in principals}
        return self._acls([Which(principal=principal) for principal in principals]) or set()

    def _acls(self, wanted: Sequence[Which]) -> set[Acl] | None:
        try:
            return self._rules.rules(wanted)
        except NotOffered:
            return None

    def topic_rules(self, brokers: Iterable[int], principals: Iterable[str]) -> dict[int, set[Acl]]:
        """Return, by broker, the principals' rules about Topics that have reached that broker."""
        return self._rules.topic_rules(brokers, principals)

    def create_acls(self, wanted: Iterable[Acl]) -> None:
        """Create access rules. Existing ones are not an error."""
        self._rules.create_rules(list(wanted))

    def delete_acls(self, unwanted: Iterable[Acl]) -> None:
        """Delete exactly these access rules. Missing ones are not an error."""
        self._rules.delete_rules(list(unwanted))

    def scram_users(self) -> dict[str, set[str]]:
        """Return the SCRAM mechanisms of each user with a password here. PLAIN users are in files and cannot be
        listed.
        """
        return self._groups.scram_users()

    def set_scram_password(self, user: str, mechanisms: Iterable[str], password: str) -> None:
        """Create or replace the user's SCRAM credentials. One request for each mechanism: KRaft accepts one
        credential of a user at a time.
        """
        for mechanism in mechanisms:
            self._groups.set_scram_password(user, mechanism, password)

    # -- quotas ------------------------------------------------------------------------------------------------

    def quotas(self) -> Quotas:
        """Return all client quotas of the cluster, with the defaults from its brokers' properties.

        :raises NotOffered: it is older than 2.6.
        :raises KafkaError: hadash's account may not read them (it needs DESCRIBE_CONFIGS on the cluster), or a
            class of the brokers decides about quotas.
        """
        found = self._groups.quotas()
        configs = self.broker_configs(broker for broker, _, _ in self.brokers())
        try:
            return with_static_defaults(found, configs)
        except KafkaError as error:
            raise KafkaError(
                say(
                    "Cluster %(cluster)s could not say its quotas: %(error)s.", cluster=self.name, error=error
                )
            ) from None

    def set_quotas(self, quotas: Quotas) -> None:
        """Set some client quotas. Other quotas of these entities are kept. Needs ALTER_CONFIGS on the cluster."""
        self._groups.set_quotas(quotas)


_clients: dict[str, ClusterClient] = {}
_making = threading.Lock()


def client_for(access: ClusterAccess) -> ClusterClient:
    """Return the one client of this process for a cluster. It must not be shared across a fork.

    When the access has changed (such as the password), a new client replaces the old one, which is closed: it
    would keep signing in with the old credentials.

    :raises ClusterUnavailable: the cluster is generated.
    """
    if access.generated:
        raise ClusterUnavailable(
            say("Cluster %(cluster)s is generated: there are no servers behind it.", cluster=access.name)
        )
    with _making:
        client = _clients.get(access.name)
        if client is None or client.access != access:
            if client is not None:
                client.close()
            client = _clients[access.name] = ClusterClient(access)
        return client
