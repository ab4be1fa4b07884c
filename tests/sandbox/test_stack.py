"""The real servers: who may do what, what survives, what is left behind (nothing)."""

from __future__ import annotations

import json
import shlex
import socket
import struct
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import httpx
import psutil
import psycopg
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from kazoo.client import KazooClient
from support.waiting import SLOWER

from hadash_sandbox.errors import SandboxError
from hadash_sandbox.kafka import MIRROR, KafkaCluster, plain_jaas
from hadash_sandbox.ports import HOST
from hadash_sandbox.stack import Stack

pytestmark = [pytest.mark.stack, pytest.mark.in_turn]

T = TypeVar("T")
REPOSITORY = Path(__file__).parents[2]
QUIET = {"log_level": 0}  # librdkafka reports refused sign-ins to stderr by itself


@pytest.fixture(params=["east", "west"])
def cluster(stack: Stack, request: pytest.FixtureRequest) -> KafkaCluster:
    return stack.kafka[request.param]


@pytest.fixture
def topic(cluster: KafkaCluster) -> str:
    """A Topic that `shop` may write and read, in group `shop-group`."""
    name = f"orders-{uuid.uuid4().hex[:8]}"
    create_topic(cluster.client_config(), name)
    allow(cluster, "shop", ResourceType.TOPIC, name, AclOperation.WRITE, AclOperation.READ)
    allow(cluster, "shop", ResourceType.GROUP, "shop-group", AclOperation.READ)
    return name


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_app_id_produces_and_consumes(cluster: KafkaCluster, topic: str, mechanism: str) -> None:
    config = cluster.client_config("shop", mechanism)
    produce(config, topic, b"one", b"two")
    assert consume(config, topic, "shop-group", 2) == [b"one", b"two"]


def test_acl_denies_another_app_id(cluster: KafkaCluster, topic: str) -> None:
    with pytest.raises(KafkaException) as caught:
        produce(cluster.client_config("billing"), topic, b"forged")
    assert caught.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_unknown_topic_is_neither_created_nor_shown(cluster: KafkaCluster) -> None:
    with pytest.raises(KafkaException) as caught:
        produce(cluster.client_config("shop"), "no-such-topic", b"lost")
    assert caught.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert "no-such-topic" not in AdminClient(cluster.client_config()).list_topics(timeout=10).topics


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_wrong_password_is_refused(cluster: KafkaCluster, mechanism: str) -> None:
    config = {**cluster.client_config("shop", mechanism), "sasl.password": "wrong", **QUIET}
    errors: list[KafkaError] = []
    client = AdminClient({**config, "error_cb": errors.append})
    with pytest.raises(KafkaException):
        client.list_topics(timeout=2)
    client.poll(0)
    assert KafkaError._AUTHENTICATION in [error.code() for error in errors]


def test_both_clusters_number_their_brokers_from_zero(stack: Stack) -> None:
    for cluster in stack.kafka.values():
        assert list(AdminClient(cluster.client_config()).list_topics(timeout=10).brokers) == [0]


def test_connect_has_mirror_maker(stack: Stack) -> None:
    plugins = httpx.get(f"{stack.connect.url}/connector-plugins", timeout=10).json()
    classes = {plugin["class"] for plugin in plugins}
    assert "org.apache.kafka.connect.mirror.MirrorSourceConnector" in classes


def test_mirror_maker_copies_to_the_other_cluster(stack: Stack) -> None:
    east, west = stack.kafka["east"], stack.kafka["west"]
    name = f"mirrored-{uuid.uuid4().hex[:8]}"
    create_topic(east.client_config(), name)
    produce(east.client_config(), name, b"one", b"two")
    url = f"{stack.connect.url}/connectors/{name}"
    answer = httpx.put(f"{url}/config", json=mirror_config(east, west, name), timeout=30)
    assert answer.status_code == httpx.codes.CREATED, answer.text
    try:
        eventually(lambda: name in AdminClient(west.client_config()).list_topics(timeout=10).topics)
        assert consume(west.client_config(), name, f"check-{name}", 2) == [b"one", b"two"]
    finally:
        httpx.delete(url, timeout=30)


def test_postgres_and_redis_and_zookeeper_answer(stack: Stack) -> None:
    settings = stack.environment()
    with psycopg.connect(settings["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT current_database()").fetchone() == ("hadash",)
    assert redis(settings["REDIS_URL"], "PING") == b"+PONG\r\n"
    client = KazooClient(hosts=settings["ZOOKEEPER_HOSTS"], timeout=1.0)
    client.start(timeout=10)
    try:
        assert {"kafka-east", "kafka-west"} <= set(client.get_children("/"))
        assert client._session_timeout / 1000 <= 1.0  # short sessions are granted
    finally:
        client.stop()
        client.close()


def test_environment_describes_the_clusters(stack: Stack) -> None:
    clusters = json.loads(stack.environment()["HADASH_SANDBOX_CLUSTERS"])
    assert [(c["name"], c["id"]) for c in clusters] == [("east", 1), ("west", 2)]
    for described in clusters:
        for user in ("admin", "mirror"):
            assert AdminClient(client_config(described, user)).list_topics(timeout=10).brokers


@pytest.mark.parametrize("name", ["postgres", "redis", "zookeeper", "connect", "kafka-east"])
def test_a_killed_server_comes_back(stack: Stack, name: str) -> None:
    """Also the broker, whose ephemeral node of the killed session would stop it."""
    services = {service.name: service for floor in stack._floors for service in floor}
    service = services[name]
    before = [process.pid for process in service.processes]
    for process in service.processes:
        process.kill()
    service.start(lambda line: None)
    assert all(process.alive for process in service.processes)
    assert before != [process.pid for process in service.processes]


def test_second_stack_on_the_same_data_is_refused(stack: Stack) -> None:
    with pytest.raises(SandboxError, match=r"A stack is already running on .*\. Stop it"):
        Stack(stack.data_dir).start()
    assert all(process.alive for process in stack.processes)


def test_taken_port_is_told_before_anything_starts(data_dir: Path) -> None:
    folder = data_dir / "taken"
    folder.mkdir()
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        (folder / "ports.json").write_text(json.dumps({"redis": port}))
        stack = Stack(folder)
        with pytest.raises(SandboxError, match=rf"Port {port} \(redis\) is in use by another process \(pid"):
            stack.start(lambda line: None)
    assert stack.processes == []


@pytest.mark.long
def test_data_survives_the_death_of_the_whole_stack(data_dir: Path) -> None:
    """SIGKILL `up`: its servers die with it; the next start recovers and has every record."""
    folder, env_file = data_dir / "killed", data_dir / "killed.env"
    with (data_dir / "up.log").open("w") as log:
        command = [sys.executable, "-m", "hadash_sandbox", "up", "--data", folder, "--env-file", env_file]
        up = subprocess.Popen(command, cwd=REPOSITORY, stdout=log, stderr=log)
    try:
        eventually(env_file.exists, timeout=120)
        servers = psutil.Process(up.pid).children(recursive=True)
        assert len(servers) > 6
        settings = read_exports(env_file)
        admin = client_config(json.loads(settings["HADASH_SANDBOX_CLUSTERS"])[0])
        create_topic(admin, "kept")
        produce(admin, "kept", b"record")
        redis(settings["REDIS_URL"], "RPUSH", "queue", "task")
        with psycopg.connect(settings["DATABASE_URL"]) as connection:
            connection.execute("CREATE TABLE kept (word text)")
            connection.execute("INSERT INTO kept VALUES ('row')")
        time.sleep(1.1)  # Redis syncs its file once a second
    finally:
        up.kill()
        up.wait()
    _, alive = psutil.wait_procs(servers, timeout=15)
    assert alive == []

    with Stack(folder) as stack:
        started = [psutil.Process(process.pid) for process in stack.processes]
        assert consume(stack.kafka["east"].client_config(), "kept", "kept-group", 1) == [b"record"]
        assert redis(stack.redis.url, "LLEN", "queue") == b":1\r\n"
        with psycopg.connect(stack.postgres.url) as connection:
            assert connection.execute("SELECT word FROM kept").fetchone() == ("row",)
    assert not any(process.is_running() for process in started)
    ours = psutil.Process().children(recursive=True)
    assert not [child for child in ours if str(folder) in " ".join(child.cmdline())]


def create_topic(config: dict[str, str], name: str) -> None:
    admin = AdminClient(config)
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(15)


def allow(cluster: KafkaCluster, user: str, kind: ResourceType, name: str, *operations: AclOperation) -> None:
    bindings = [
        AclBinding(
            kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, AclPermissionType.ALLOW
        )
        for operation in operations
    ]
    admin = AdminClient(cluster.client_config())  # must live until the answers are there
    for future in admin.create_acls(bindings).values():
        future.result(15)


def produce(config: dict[str, str], topic: str, *values: bytes) -> None:
    """Send the values; raise the error of the first that the broker refused."""
    errors: list[KafkaError] = []
    producer = Producer({**config, **QUIET, "message.timeout.ms": int(15_000 * SLOWER)})
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, _: errors.append(error) if error else None)
    assert producer.flush(20 * SLOWER) == 0
    if errors:
        raise KafkaException(errors[0])


def consume(config: dict[str, str], topic: str, group: str, count: int) -> list[bytes]:
    consumer = Consumer({**config, **QUIET, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    values: list[bytes] = []
    deadline = time.monotonic() + 30
    try:
        while len(values) < count and time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                values.append(message.value())
    finally:
        consumer.close()
    return values


def last_producer_id(cluster: KafkaCluster, topic: str) -> int:
    """From the last record batch on disk: the broker chose this number, no client could."""
    segment = cluster.dir / "broker-0" / f"{topic}-0" / f"{0:020d}.log"
    content, start, producer_id = segment.read_bytes(), 0, -1
    while start < len(content):
        (length,) = struct.unpack_from(">i", content, start + 8)
        (producer_id,) = struct.unpack_from(">q", content, start + 43)
        start += 12 + length
    return producer_id


def mirror_config(source: KafkaCluster, target: KafkaCluster, topic: str) -> dict[str, str]:
    config = {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "source.cluster.alias": source.cluster,
        "target.cluster.alias": target.cluster,
        "producer.override.bootstrap.servers": target.bootstrap_servers,
        "topics": topic,
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "sync.topic.acls.enabled": "false",
    }
    for role, cluster in (("source", source), ("target", target)):
        config |= {
            f"{role}.cluster.bootstrap.servers": cluster.bootstrap_servers,
            f"{role}.cluster.security.protocol": "SASL_PLAINTEXT",
            f"{role}.cluster.sasl.mechanism": "PLAIN",
            f"{role}.cluster.sasl.jaas.config": plain_jaas(MIRROR, cluster.users[MIRROR]),
        }
    return config


def client_config(described: dict[str, str], user: str = "admin") -> dict[str, str]:
    """librdkafka settings from an entry of HADASH_SANDBOX_CLUSTERS."""
    return {
        "bootstrap.servers": described["bootstrap_servers"],
        "security.protocol": described["security_protocol"],
        "sasl.mechanism": described["sasl_mechanism"],
        "sasl.username": described[f"{user}_user"],
        "sasl.password": described[f"{user}_password"],
    }


def read_exports(path: Path) -> dict[str, str]:
    words = shlex.split(path.read_text().replace("export ", ""))
    return dict(word.split("=", 1) for word in words)


def redis(url: str, *words: str) -> bytes:
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=5) as connection:
        connection.sendall(" ".join(words).encode() + b"\r\n")
        return connection.recv(100)


def eventually(look: Callable[[], T], timeout: float = 20.0) -> T:
    deadline = time.monotonic() + timeout
    while True:
        value = look()
        if value:
            return value
        assert time.monotonic() < deadline, f"still {value!r} after {timeout} s"
        time.sleep(0.05)
