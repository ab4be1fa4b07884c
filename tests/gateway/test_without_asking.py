"""What a client sends that does not ask which versions there are, or does not know that it has moved: the
Gateway answers as a broker does. Raw frames, the same ones to the Gateway and to the broker itself.
"""

from __future__ import annotations

import struct
from datetime import timedelta
from typing import Any

import pytest
from support.gateway import ControlPlane, GatewayProcess
from support.kafka import App, Clusters, produce
from support.messages import nested, request
from support.raw import RawClient
from support.waiting import eventually

from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode, build, decode_response
from hadash.gateway.protocol.wire import Request, parse_request
from hadash.identity.identity import Identity

pytestmark = pytest.mark.stack

CLIENT_ID = "does-not-ask"
#: The virtual node of the only broker of east.
EAST = 10_000


def at_gateway(gateway: GatewayProcess, app: App) -> RawClient:
    return RawClient(gateway.address, CLIENT_ID).sign_in(app.appid, app.password, "SCRAM-SHA-256")


def at_broker(kafka: Clusters, app: App, cluster: str = "east") -> RawClient:
    address = kafka.described[cluster].address
    return RawClient(address, CLIENT_ID).sign_in(app.appid, app.password, "SCRAM-SHA-256")


def answer_to(client: RawClient, sent: Request) -> bytes:
    """The answer's bytes, from the correlation id on."""
    client.send_request(sent)
    payload = client.receive()
    assert payload is not None, f"the connection was closed instead of answering {sent.kind.name}"
    return payload


def find_coordinator(client: RawClient, group: str) -> None:
    """Wait until the cluster says who coordinates ``group``: before its first group it has to make the Topic
    for them.
    """
    eventually(
        lambda: client.call(ApiKey.FIND_COORDINATOR, 2, key=group, key_type=0).error_code is ErrorCode.none,
        "a coordinator",
    )


class TestMetadata:
    @pytest.mark.parametrize("version", [9, 10])
    def test_topics_are_described_as_the_broker_does_with_virtual_nodes(
        self, gateway: GatewayProcess, kafka: Clusters, app: App, version: int
    ) -> None:
        topic, missing = app.topic(partitions=2), f"{app.prefix}missing"
        topics = nested(ApiKey.METADATA, version, "MetadataRequestTopic")
        sent = request(
            ApiKey.METADATA,
            version,
            CLIENT_ID,
            topics=tuple(build(topics, name=name, topic_id=None) for name in (topic, missing)),
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )
        with at_gateway(gateway, app) as through, at_broker(kafka, app) as straight:
            said, own = (
                decode_response(ApiKey.METADATA, version, answer_to(client, sent))
                for client in (through, straight)
            )

        def facts(answer: Any) -> dict[str, Any]:
            return {
                t.name: (t.error_code, t.is_internal, sorted(p.partition_index for p in t.partitions))
                for t in answer.topics
            }

        assert facts(said) == facts(own)
        assert facts(said)[missing][0] is ErrorCode.unknown_topic_or_partition
        partitions = [p for t in said.topics for p in t.partitions]
        assert {(p.leader_id, p.leader_epoch, p.replica_nodes) for p in partitions} == {(EAST, -1, (EAST,))}
        assert {getattr(t, "topic_id", None) for t in said.topics} == {None}
        assert said.cluster_id == "hadash-main"
        assert {b.node_id for b in said.brokers} == {10_000, 20_000}

    @pytest.mark.parametrize("version", [9, 10])
    def test_all_topics_and_none(self, gateway: GatewayProcess, app: App, version: int) -> None:
        own = {app.topic(), app.topic()}
        flags = {
            "allow_auto_topic_creation": False,
            "include_cluster_authorized_operations": False,
            "include_topic_authorized_operations": False,
        }
        with at_gateway(gateway, app) as client:
            every = client.call(ApiKey.METADATA, version, topics=None, **flags)
            nothing = client.call(ApiKey.METADATA, version, topics=(), **flags)
        assert {t.name for t in every.topics} == own
        assert nothing.topics == ()
        assert {b.node_id for b in nothing.brokers} == {10_000, 20_000}


class TestFetch:
    def test_version_11_is_answered_with_the_brokers_own_bytes(
        self, gateway: GatewayProcess, kafka: Clusters, app: App
    ) -> None:
        topic = app.topic()
        produce(app.config(gateway.bootstrap), topic, b"one", b"two")
        partition = build(
            nested(ApiKey.FETCH, 11, "FetchPartition"),
            partition=0,
            fetch_offset=0,
            partition_max_bytes=1 << 20,
        )
        sent = request(
            ApiKey.FETCH,
            11,
            CLIENT_ID,
            max_wait=timedelta(0),
            min_bytes=1,
            isolation_level=0,
            session_id=0,
            session_epoch=-1,
            topics=(build(nested(ApiKey.FETCH, 11, "FetchTopic"), topic=topic, partitions=(partition,)),),
            forgotten_topics_data=(),
            rack_id="eu-1a",
        )
        with at_gateway(gateway, app) as through, at_broker(kafka, app) as straight:
            said = answer_to(through, sent)
            assert said == answer_to(straight, sent)
        (found,) = decode_response(ApiKey.FETCH, 11, said).responses[0].partitions
        assert (found.error_code, found.high_watermark, found.preferred_read_replica) == (
            ErrorCode.none,
            2,
            -1,
        )
        traffic = [c for c in gateway.clients(app.appid) if c["client_id"] == CLIENT_ID]
        assert traffic == []  # it has hung up, and was served until then


class TestOffsetCommit:
    @staticmethod
    def version_1(topic: str, group: str, offset: int) -> Request:
        """What Sarama before 1.41 sends; here of somebody who is no member."""

        def text(value: str) -> bytes:
            return struct.pack(">h", len(value)) + value.encode()

        body = text(group) + struct.pack(">i", -1) + text("") + struct.pack(">i", 1) + text(topic)
        body += struct.pack(">iiqq", 1, 0, offset, -1) + text("kept")
        head = struct.pack(">hhi", ApiKey.OFFSET_COMMIT, 1, 7) + text(CLIENT_ID)
        return parse_request(head + body)

    def test_version_1_commits_and_is_answered_as_by_the_broker(
        self, gateway: GatewayProcess, kafka: Clusters, app: App
    ) -> None:
        topic, group = app.topic(), app.group()
        sent = self.version_1(topic, group, 5)
        with at_broker(kafka, app) as straight, at_gateway(gateway, app) as through:
            find_coordinator(straight, group)
            own = answer_to(straight, sent)
            assert answer_to(through, self.version_1(topic, group, 7)) == own
        assert kafka.committed("east", group) == {(topic, 0): 7}


class TestMemberOfTheOtherCluster:
    """A client that has moved joins its group with the id that it has from the cluster where it was."""

    @staticmethod
    def join(version: int, group: str, member_id: str, instance: str | None = None) -> Request:
        protocol = nested(ApiKey.JOIN_GROUP, version, "JoinGroupRequestProtocol")
        return request(
            ApiKey.JOIN_GROUP,
            version,
            CLIENT_ID,
            group_id=group,
            session_timeout=timedelta(seconds=10),
            rebalance_timeout=timedelta(seconds=10),
            member_id=member_id,
            group_instance_id=instance,
            protocol_type="consumer",
            protocols=(build(protocol, name="range", metadata=b"\0"),),
        )

    def member_of_east(self, gateway: GatewayProcess, app: App, group: str) -> str:
        """A member id that east has given out, through the Gateway."""
        with at_gateway(gateway, app) as client:
            find_coordinator(client, group)
            payload = answer_to(client, self.join(4, group, ""))
        given = decode_response(ApiKey.JOIN_GROUP, 4, payload)
        assert given.error_code is ErrorCode.member_id_required
        member_id: str = given.member_id
        return member_id

    @pytest.mark.parametrize("version", range(10))
    def test_it_is_answered_as_by_the_broker(
        self, gateway: GatewayProcess, control: ControlPlane, kafka: Clusters, app: App, version: int
    ) -> None:
        """UNKNOWN_MEMBER_ID: the member forgets its id and joins without one. (@platformatic/kafka keeps its
        old id when it is answered MEMBER_ID_REQUIRED, and gives up.)
        """
        group = app.group()
        member_id = self.member_of_east(gateway, app, group)
        control.bind(Identity(app.appid), "west")
        sent = self.join(version, group, member_id)
        with at_broker(kafka, app, "west") as straight, at_gateway(gateway, app) as through:
            find_coordinator(straight, group)
            said = answer_to(through, sent)
            assert said == answer_to(straight, sent)
        assert decode_response(ApiKey.JOIN_GROUP, version, said).error_code is ErrorCode.unknown_member_id

    def test_librdkafka_is_given_a_new_id_at_once(
        self, gateway: GatewayProcess, control: ControlPlane, app: App
    ) -> None:
        """It joins at once with the id that comes with MEMBER_ID_REQUIRED; after UNKNOWN_MEMBER_ID it waits
        for a second.
        """
        group, version = app.group(), 4
        member_id = self.member_of_east(gateway, app, group)
        control.bind(Identity(app.appid), "west")
        with at_gateway(gateway, app) as client:
            software = {"client_software_name": "librdkafka", "client_software_version": "2.13.0"}
            client.call(ApiKey.API_VERSIONS, 3, **software)
            find_coordinator(client, group)
            answer = decode_response(
                ApiKey.JOIN_GROUP, version, answer_to(client, self.join(version, group, member_id))
            )
        assert answer.error_code is ErrorCode.member_id_required
        assert answer.member_id not in ("", member_id)

    def test_a_static_member_takes_its_place_and_is_not_fenced(
        self, gateway: GatewayProcess, control: ControlPlane, kafka: Clusters, app: App
    ) -> None:
        """West knows it from an earlier life, which nobody has ended: the broker itself fences the strange
        id, and that ends any client.
        """
        group, version = app.group(), 5
        member_id = self.member_of_east(gateway, app, group)
        control.bind(Identity(app.appid), "west")
        with at_broker(kafka, app, "west") as straight, at_gateway(gateway, app) as through:
            find_coordinator(straight, group)
            earlier = decode_response(
                ApiKey.JOIN_GROUP, version, answer_to(straight, self.join(version, group, "", "i-1"))
            )
            assert earlier.error_code is ErrorCode.none
            sent = self.join(version, group, member_id, "i-1")
            fenced = decode_response(ApiKey.JOIN_GROUP, version, answer_to(straight, sent))
            assert fenced.error_code is ErrorCode.fenced_instance_id
            joined = decode_response(ApiKey.JOIN_GROUP, version, answer_to(through, sent))
        assert joined.error_code is ErrorCode.none
        assert joined.member_id not in (member_id, earlier.member_id)
