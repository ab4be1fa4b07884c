"""One cluster, through librdkafka's admin client (its groups through another one, see
:mod:`hadash.kafka.groups`). Every call is bulk where Kafka has a bulk request.

A client is opened once a process and cluster (:func:`client_for`): a switch cannot afford connections in the
seconds that writes are blocked.
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
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from hadash.kafka.acls import Which
from hadash.kafka.configs import ConfigsClient
from hadash.kafka.errors import ClusterUnavailable, KafkaError, NotOffered
from hadash.kafka.groups import AGAIN_SECONDS, REQUEST_SECONDS, GroupsClient, nobody_else
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

#: Seconds for which a leader that has just been elected is asked again for its offsets: its followers tell it
#: within one.
ELECTED_SECONDS = 3.0

#: Rounds of a SCRAM password's hash: Kafka's own default, and the least that RFC 7677 allows. Each sign-in costs the
#: client as many.
SCRAM_ITERATIONS = 4096

#: So many Topics are asked for one by one; more of them with one request for all that the cluster has.
FEW_TOPICS = 4

#: Topics, or principals, whose rules are asked for one by one: a cluster looks through all of its rules for
#: each. Of more, all rules are read.
ASKED_BY_NAME = 30


class ClusterClient:
    """Reads and steers one cluster. Methods raise :class:`KafkaError`; ``ClusterUnavailable`` if none answers."""

    def __init__(self, access: ClusterAccess) -> None:
        self.access = access
        config: dict[str, Any] = {
            **access.config(),
            "client.id": "hadash",
            "log_level": 0,
            "socket.timeout.ms": int(REQUEST_SECONDS * 1000),
            "error_cb": self._heard,
        }
        #: What was last said when a broker refused a sign-in or TLS. The library's answers do not tell:
        #: nobody answers, they say.
        self._refusal = ""
        self._admin = AdminClient(config)
        self._configs = ConfigsClient(self._admin, self._result)
        self._groups = GroupsClient(access)
        #: Of its own: an answer with very many rules takes seconds to read, and a switch cannot wait for its groups meanwhile.
        self._rules = GroupsClient(access)
        self._tail = TailReader(self.name, config)
        self._config = config
        self._looks: TailReader | None = None
        self._making_looks = threading.Lock()

    @property
    def name(self) -> str:
        return self.access.name

    def warm_up(self, topics: Iterable[str]) -> None:
        """Open the connections that reading the records of ``topics`` needs: the first fetch of a consumer takes a
        second or two. One partition for each broker is enough."""
        leaders: dict[int, Partition] = {}
        for name, info in self.topics(topics).items():
            leaders |= {leader: Partition(name, index) for index, leader in enumerate(info.leaders)}
        ends = self.end_offsets(leaders.values())
        self.tail(ends, self.start_offsets(ends), 1)

    # -- Topics ------------------------------------------------------------------------------------------------

    def brokers(self) -> list[tuple[int, str, int]]:
        """(id, host, port) of the live brokers, by id."""
        metadata = self._metadata(None)
        return sorted((b.id, b.host, b.port) for b in metadata.brokers.values())

    def cluster_id(self) -> str:
        return str(self._metadata(None).cluster_id)

    def topics(self, names: Iterable[str] | None = None) -> dict[str, TopicInfo]:
        """Topics by name, all (without Kafka's internal ones) or those of ``names`` that exist."""
        wanted = None if names is None else set(names)
        if wanted is not None and len(wanted) <= FEW_TOPICS:
            # Not everything that a large cluster has, for these.
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
        """Every partition of every Topic, Kafka's internal ones among them."""
        return [
            PartitionInfo(Partition(name, index), p.leader, tuple(p.replicas), tuple(p.isrs))
            for name, topic in sorted(self._metadata(None).topics.items())
            if topic.error is None
            for index, p in sorted(topic.partitions.items())
        ]

    def nodes(self) -> tuple[list[BrokerInfo], int | None]:
        """The live brokers, by id, and which of them is the controller. (A cluster with KRaft names any broker instead:
        :meth:`GroupsClient.quorum` knows.)"""
        found = self._result(
            self._admin.describe_cluster(request_timeout=REQUEST_SECONDS), "could not be described"
        )
        nodes = [BrokerInfo(n.id, n.host, n.port, n.rack or "") for n in found.nodes]
        return sorted(nodes, key=lambda n: n.id), None if found.controller is None else found.controller.id

    def broker_configs(self, brokers: Iterable[int]) -> dict[int, dict[str, str]]:
        """The configs of brokers as they are in effect, without what is secret."""
        return self._configs.of_brokers(brokers)

    def _metadata(self, topic: str | None) -> Any:
        try:
            found = self._admin.list_topics(topic, timeout=REQUEST_SECONDS)
        except KafkaException as error:
            raise self._failure("does not answer", error.args[0]) from None
        self._answered()
        return found

    def create_topics(self, topics: Mapping[str, tuple[int, int, Mapping[str, str]]]) -> None:
        """Create Topics, name to (partitions, replication factor, configs); one that exists is left as it is."""
        new = [
            NewTopic(name, partitions, replicas, config=dict(config))
            for name, (partitions, replicas, config) in topics.items()
        ]
        if not new:
            return
        for name, future in self._admin.create_topics(new, request_timeout=REQUEST_SECONDS).items():
            self._result(future, f"could not create Topic {name}", ignore=(ClientError.TOPIC_ALREADY_EXISTS,))

    def delete_topics(self, names: Iterable[str]) -> None:
        """Delete Topics with all their records; one that does not exist is no error. They are gone a little later."""
        wanted = sorted(names)
        if not wanted:
            return
        for name, future in self._admin.delete_topics(wanted, request_timeout=REQUEST_SECONDS).items():
            self._result(
                future, f"could not delete Topic {name}", ignore=(ClientError.UNKNOWN_TOPIC_OR_PART,)
            )

    def topic_configs(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """The configs of Topics that differ from the broker's defaults."""
        return self._configs.set_on_topics(names)

    def topic_settings(self, names: Iterable[str], keys: Iterable[str]) -> dict[str, dict[str, str]]:
        """What is in effect for Topics: their own configs, else the broker's defaults."""
        return self._configs.in_effect(names, keys)

    def set_topic_configs(self, wanted: Mapping[str, Mapping[str, str]]) -> None:
        """Set some configs of Topics; their others stay as they are."""
        self._configs.set(wanted)

    # -- offsets -----------------------------------------------------------------------------------------------

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The offset after the last record of each partition, in one request a broker."""
        return self._offsets(partitions, OffsetSpec.latest())

    def start_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The first offset that each partition still holds."""
        return self._offsets(partitions, OffsetSpec.earliest())

    def _offsets(self, partitions: Iterable[Partition], spec: OffsetSpec) -> dict[Partition, int]:
        """A leader that has just been elected does not know its end yet, which it soon does: librdkafka says
        -1001 then, and no error.
        """
        wanted = set(partitions)
        found: dict[Partition, int] = {}
        deadline = time.monotonic() + ELECTED_SECONDS
        while missing := wanted - found.keys():
            asked = {TopicPartition(p.topic, p.partition): spec for p in missing}
            futures = self._admin.list_offsets(asked, request_timeout=REQUEST_SECONDS)
            for key, future in futures.items():
                partition = Partition(key.topic, key.partition)
                offset = int(self._result(future, f"could not read the offsets of {partition}").offset)
                if offset >= 0:
                    found[partition] = offset
            unknown = wanted - found.keys()
            if unknown and time.monotonic() > deadline:
                raise KafkaError(f"Cluster {self.name} does not know the offsets of {min(unknown)} yet.")
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
        """The last ``count`` records (fewer where there are not so many) before ``ends``, by partition."""
        return self._tail.read(ends, starts, count, seconds)

    def records(
        self, spans: Mapping[Partition, tuple[int, int]], seconds: float = TAIL_SECONDS, max_bytes: int = 0
    ) -> dict[Partition, list[Record]]:
        """The records from the first offset of each span up to its end; see :meth:`TailReader.read_spans`.

        Through a consumer of its own: looks read for seconds, and a switch whose clients are blocked must not wait
        for them.
        """
        with self._making_looks:
            if self._looks is None:
                self._looks = TailReader(self.name, self._config)
        return self._looks.read_spans(spans, seconds, max_bytes)

    # -- consumer groups ---------------------------------------------------------------------------------------

    def groups(self, names: Iterable[str]) -> dict[str, GroupInfo]:
        """Groups with their members and coordinator."""
        return self._groups.describe(names)

    def group_names(self) -> list[str]:
        """The groups of all brokers."""
        return self._groups.names()

    def engine(self) -> Engine:
        """What Kafka it is."""
        return self._groups.engine()

    def group_offsets(self, names: Iterable[str]) -> dict[str, dict[Partition, int]]:
        """Committed offsets by group. One that cannot be read is an error, not an offset that is missing."""
        return self._groups.offsets(names)

    def group_commits(self, names: Iterable[str]) -> dict[str, dict[Partition, Committed]]:
        """As :meth:`group_offsets`, with the metadata of each commit."""
        return self._groups.commits(names)

    def set_group_offsets(
        self, offsets: Mapping[str, Mapping[Partition, Committed]], fence: Callable[[], None] = nobody_else
    ) -> None:
        """Write committed offsets with their metadata, exactly. A group with members on this cluster refuses.

        :param fence: called before each try; raises when somebody else does this by now.
        """
        self._groups.set_offsets(offsets, fence)

    def remove_group_offsets(
        self, partitions: Mapping[str, Iterable[Partition]], fence: Callable[[], None] = nobody_else
    ) -> None:
        """Remove committed offsets, and no others. Refused while the group's members on this cluster are
        subscribed to them.
        """
        self._groups.remove_offsets(partitions, fence)

    def delete_groups(self, names: Iterable[str]) -> None:
        """Delete groups with all their offsets. One with members on this cluster refuses, as does one that
        does not exist.
        """
        self._groups.delete(names)

    def close(self) -> None:
        """End the connections about groups. (The others' library ends its own when nobody holds it any more.)"""
        self._groups.close()
        self._rules.close()

    # -- ACLs and users ----------------------------------------------------------------------------------------

    def acls(self) -> set[Acl]:
        """Every access rule of the cluster; a cluster without an authorizer has none.

        Needs DESCRIBE on the cluster: one that refuses to tell is an error, not one without rules.
        """
        return self.acls_if_any() or set()

    def acls_if_any(self) -> set[Acl] | None:
        """As :meth:`acls`; ``None``: the cluster has no authorizer, so nobody is denied anything."""
        return self._acls([Which()])

    def acls_about(self, topics: Collection[str]) -> set[Acl]:
        """The rules that cover these Topics: those of their names, of what these begin with, and of all Topics."""
        if len(topics) > ASKED_BY_NAME:
            return {acl for acl in self.acls() if acl.resource_type == "TOPIC"}
        return self._acls([Which(topic=name) for name in topics]) or set()

    def acls_of(self, principals: Collection[str]) -> set[Acl]:
        """The rules of these principals (``User:shop``)."""
        if len(principals) > ASKED_BY_NAME:
            return {acl for acl in self.acls() if acl.principal in principals}
        return self._acls([Which(principal=principal) for principal in principals]) or set()

    def _acls(self, wanted: Sequence[Which]) -> set[Acl] | None:
        try:
            return self._rules.rules(wanted)
        except NotOffered:
            return None

    def topic_rules(self, brokers: Iterable[int], principals: Iterable[str]) -> dict[int, set[Acl]]:
        """By broker, the principals' rules about Topics as that broker has heard of them."""
        return self._rules.topic_rules(brokers, principals)

    def create_acls(self, wanted: Iterable[Acl]) -> None:
        self._rules.create_rules(list(wanted))

    def delete_acls(self, unwanted: Iterable[Acl]) -> None:
        """Delete exactly these; one that does not exist is no error."""
        self._rules.delete_rules(list(unwanted))

    def scram_users(self) -> dict[str, set[str]]:
        """SCRAM mechanisms by user that has a password here. PLAIN users stand in files and cannot be listed."""
        future = self._admin.describe_user_scram_credentials(request_timeout=REQUEST_SECONDS)
        found = self._result(future, "could not read the SCRAM users")
        return {
            name: {info.mechanism.name.replace("_", "-") for info in described.scram_credential_infos}
            for name, described in found.items()
        }

    def set_scram_password(self, user: str, mechanisms: Iterable[str], password: str) -> None:
        """Create the user's SCRAM credentials, or replace them. One request each: KRaft takes one of a user at a
        time."""
        for mechanism in mechanisms:
            info = ScramCredentialInfo(ScramMechanism[mechanism.replace("-", "_")], SCRAM_ITERATIONS)
            wanted = UserScramCredentialUpsertion(user, info, password.encode())
            futures = self._admin.alter_user_scram_credentials([wanted], request_timeout=REQUEST_SECONDS)
            self._result(futures[user], f"could not set the password of {user} ({mechanism})")

    # -- quotas ------------------------------------------------------------------------------------------------

    def quotas(self) -> Quotas:
        """All client quotas of the cluster, with the defaults that stand in its brokers' properties.

        :raises NotOffered: it is older than 2.6. :raises KafkaError: hadash's account may not read them (it needs
            DESCRIBE_CONFIGS on the cluster), or only the brokers know what a client may.
        """
        found = self._groups.quotas()
        configs = self.broker_configs(broker for broker, _, _ in self.brokers())
        try:
            return with_static_defaults(found, configs)
        except KafkaError as error:
            raise KafkaError(f"Cluster {self.name} could not say its quotas: {error}.") from None

    def set_quotas(self, quotas: Quotas) -> None:
        """Set some client quotas; the entities' others stay as they are. Needs ALTER_CONFIGS on the cluster."""
        self._groups.set_quotas(quotas)

    # -- failures ----------------------------------------------------------------------------------------------

    def _heard(self, error: ClientError) -> None:
        """Called by the library's threads."""
        if error.code() == ClientError._AUTHENTICATION:
            access = self.access
            self._refusal = f"it refuses account {access.username} ({access.sasl_mechanism}): {_after_broker(error.str())}"
        elif error.code() == ClientError._SSL:
            self._refusal = f"no TLS: {_after_broker(error.str())}"

    def _answered(self) -> None:
        """The cluster has answered: what it refused before is no cause of what fails from now on. The library
        keeps what it has to tell until it is polled, however old it is by then.
        """
        self._admin.poll(0)
        self._refusal = ""

    def _result(self, future: Any, what: str, ignore: tuple[int, ...] = ()) -> Any:
        try:
            value = future.result(timeout=REQUEST_SECONDS + 1)
            self._answered()
            return value
        except KafkaException as error:
            if error.args[0].code() in ignore:
                self._answered()
                return None
            raise self._failure(what, error.args[0]) from None
        except TimeoutError:
            raise ClusterUnavailable(
                f"Cluster {self.name} did not answer within {REQUEST_SECONDS:.0f} s: {what}."
            ) from None

    def _failure(self, what: str, cause: ClientError) -> KafkaError:
        unavailable = cause.code() in (
            ClientError._TRANSPORT,
            ClientError._ALL_BROKERS_DOWN,
            ClientError._TIMED_OUT,
            ClientError._RESOLVE,
        )
        not_offered = cause.code() in (
            ClientError.SECURITY_DISABLED,
            ClientError.UNSUPPORTED_VERSION,
            ClientError._UNSUPPORTED_FEATURE,
        )
        kind = ClusterUnavailable if unavailable else NotOffered if not_offered else KafkaError
        said = cause.str()
        if unavailable:
            self._admin.poll(0)  # tells what is waiting to be told
            said, self._refusal = self._refusal or said, ""
        elif cause.code() > 0:  # a broker's own; below are the library's
            self._answered()
        return kind(f"Cluster {self.name} {what}: {said.rstrip('.')}.")


def _after_broker(said: str) -> str:
    """Without the address in front (``sasl_ssl://e1:9092/bootstrap: ``) and how long it took.

    >>> _after_broker("sasl_ssl://e1:9092/1: SASL authentication error: Authentication failed (after 12ms in state AUTH_REQ)")
    'SASL authentication error: Authentication failed'
    """
    text = said.split(": ", 1)[1] if "://" in said.split(": ", 1)[0] else said
    return text.rsplit(" (after ", 1)[0]


_clients: dict[str, ClusterClient] = {}
_making = threading.Lock()


def client_for(access: ClusterAccess) -> ClusterClient:
    """The one client of this process for a cluster. Not to be used over a fork.

    Reached in another way than before (its password was changed), the cluster gets another one, and the old
    one is closed: it would go on signing in with what it knows.

    :raises ClusterUnavailable: there is no such cluster, it is generated.
    """
    if access.generated:
        raise ClusterUnavailable(f"Cluster {access.name} is generated: there are no servers behind it.")
    with _making:
        client = _clients.get(access.name)
        if client is None or client.access != access:
            if client is not None:
                client.close()
            client = _clients[access.name] = ClusterClient(access)
        return client
