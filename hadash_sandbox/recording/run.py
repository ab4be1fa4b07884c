"""``python -m hadash_sandbox record``: records the clients of :mod:`hadash_sandbox.recording.ways` as a fixture.

They run against the Gateway of a demo of their own, whose access reports are recorded.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from hadash.lake.store import Store
from hadash_sandbox.clients import installing
from hadash_sandbox.demo import ROOT, Demo
from hadash_sandbox.downloads import KAFKA_VERSION, Jars, cache_dir, fetched
from hadash_sandbox.java import Java, find_java
from hadash_sandbox.processes import Process, run
from hadash_sandbox.recording.ways import PREFIX, TOPIC, Way, ways
from hadash_sandbox.stack import say, stop_together
from hadash_sandbox.world import ClientSpec
from spark.fleet.recorded.recording import record

#: Seconds within which the Gateway has to see what is expected of a client, and seconds between two looks.
SEEN_SECONDS, LOOK_SECONDS = 30.0, 0.5
#: Seconds between two batches of the Gateway's reports, and from the last client to the end, which is also enough for
#: two samples of every mirror's lag.
LAKE_SECONDS, AFTER_SECONDS = 5.0, 25.0
ACL_SECONDS = 30.0
#: Libraries whose clients run until the snapshot is taken, so that it has their groups with their members.
STAYING = ("librdkafka", "java-3.9.2", "kafka-python", "aiokafka", "franz-go", "kafkajs")

#: Number of libraries whose clients run at the same time.
AT_ONCE = 3
#: Prefix of the names of older versions of kafka-python.
OLD_KAFKA_PYTHON = "kafka-python-"
_JAVA_SOURCE = ROOT / "hadash_sandbox" / "clients" / "java" / "Clients.java"


class RecordingDemo(Demo):
    """A demo whose Gateway reports every few seconds and relays transactions."""

    def environment(self) -> dict[str, str]:
        gateway = {"HADASH_GATEWAY_LAKE_SECONDS": str(LAKE_SECONDS), "HADASH_GATEWAY_TRANSACTIONS": "relay"}
        return {**super().environment(), **gateway}


def record_demo(out: Path, keep: Path | None = None) -> int:
    """Record all clients into the fixture ``out``; return 0 when the Gateway saw what is expected of each of them.

    :param keep: a data folder to use and keep; the default is a temporary one.
    :raises SandboxError: Go or Node is missing, or the demo does not come up.
    """
    known = ways()
    libraries = {way.library for way in known}
    installing.install(sorted(libraries), say)
    java = find_java()
    jars = {
        each: fetched(_clients(each.removeprefix("java-")), java, say)
        for each in libraries
        if each.startswith("java-")
    }
    packages = {each: _kafka_python(each) for each in libraries if each.startswith(OLD_KAFKA_PYTHON)}
    folder = keep or Path(tempfile.mkdtemp(prefix="hadash-record-"))
    try:
        with RecordingDemo(folder, world="recording", web=False, log=say) as demo:
            _allow(demo)
            staying: list[Process] = []
            missing = _run_all(
                demo, known, java, jars | {name: [path] for name, path in packages.items()}, staying
            )
            time.sleep(AFTER_SECONDS)
            lake = folder / "lake"
            run(
                "snapshot",
                [sys.executable, "-m", "hadash_sandbox.recording.snapshot", str(lake)],
                log_path=folder / "logs" / "snapshot.log",
                env=demo.environment(),
            )
            stop_together(staying)
        rows = record(Store(str(lake)), out, about(known, missing))
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    say(f"Written to {out}: {json.dumps(rows)}")
    for appid, kinds in sorted(missing.items()):
        say(f"not seen: {appid}: {', '.join(kinds)}")
    return 1 if missing else 0


def _run_all(
    demo: Demo, known: Iterable[Way], java: Java, files: Mapping[str, Sequence[Path]], staying: list[Process]
) -> dict[str, list[str]]:
    """Run the clients until the Gateway has seen them, those of :data:`AT_ONCE` libraries at a time.

    :param files: by library, its jars or its folder.
    :param staying: receives the processes that are still running afterwards.
    :return: by AppID, the kinds of use that the Gateway has not seen.
    """
    missing: dict[str, list[str]] = {}
    libraries = [(library, list(group)) for library, group in groupby(known, key=lambda way: way.library)]
    for at in range(0, len(libraries), AT_ONCE):
        together = libraries[at : at + AT_ONCE]
        ending: list[Process] = []
        for library, group in together:
            started = _start(demo, library, group, java, files.get(library, ()))
            (staying if library in STAYING else ending).extend(started)
        clients = [way for _, group in together for way in group]
        unseen = _await_seen(demo, clients)
        names = ", ".join(library for library, _ in together)
        say(f"{names}: {len(clients) - len(unseen)} of {len(clients)} clients seen")
        missing |= unseen
        stop_together(ending)
    return missing


def _start(
    demo: Demo, library: str, group: Sequence[Way], java: Java, found: Sequence[Path]
) -> list[Process]:
    """Start the clients of one library.

    :param found: the jars of a Java client, or the folder of an older kafka-python.
    """
    if library == "librdkafka":
        command, line, path = (
            [sys.executable, "-m", "hadash_sandbox.recording.librdkafka"],
            _librdkafka_line,
            [ROOT],
        )
    elif library.startswith(OLD_KAFKA_PYTHON):
        command, line = [sys.executable, "-m", "hadash_sandbox.recording.kafka_python"], _kafka_python_line
        path = [*found, ROOT]
    elif library.startswith("java-"):
        # (Java compiles the source against the jars of this version, and runs it.)
        classpath = os.pathsep.join(map(str, found))
        command = [str(java.path), "-Xmx160m", "-XX:+UseSerialGC", "-cp", classpath, str(_JAVA_SOURCE)]
        line, path = _java_line, []
    else:
        return [demo.start_client(_spec(way)) for way in group]
    told = demo.data_dir / f"{library}.clients"
    told.touch(mode=0o600)
    told.write_text("".join(line(way) for way in group))
    process = Process(
        f"clients {library}",
        [*command, demo.bootstrap, told],
        log_path=demo.data_dir / "logs" / f"clients-{library}.log",
        env={"PYTHONPATH": os.pathsep.join(map(str, path))},
        cwd=demo.data_dir if found else ROOT,
    )
    demo.stack.add(process)
    return [process]


def _java_line(way: Way) -> str:
    login = "org.apache.kafka.common.security.plain.PlainLoginModule"
    jaas = f'{login} required username="{way.appid}" password="{way.password}";'
    return _line(way, "client.id", f"{PREFIX}.*".replace(".", r"\.", 1), {"sasl.jaas.config": jaas})


def _librdkafka_line(way: Way) -> str:
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    login |= {"sasl.username": way.appid, "sasl.password": way.password}
    return _line(way, "client.id", f"^{PREFIX}.*".replace(".", r"\.", 1), login)


def _kafka_python_line(way: Way) -> str:
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"}
    login |= {"sasl_plain_username": way.appid, "sasl_plain_password": way.password}
    return _line(way, "client_id", TOPIC, login)


def _line(way: Way, client_id: str, pattern: str, login: Mapping[str, str]) -> str:
    settings = {**way.settings, **login, **({client_id: way.client_id} if way.client_id else {})}
    topic = pattern if way.role == "pattern" else TOPIC
    return "\t".join([way.role, topic, way.group_name, *(f"{k}={v}" for k, v in settings.items())]) + "\n"


def _spec(way: Way) -> ClientSpec:
    config = tuple(f"{name}={value}" for name, value in way.settings.items())
    return ClientSpec(
        way.appid,
        way.role,
        way.appid,
        (TOPIC,),
        way.client_id,
        way.group_name,
        config=config,
        library=way.library,
    )


def _await_seen(demo: Demo, group: Iterable[Way]) -> dict[str, list[str]]:
    """Wait for the Gateway to see the clients; by AppID, the kinds of use that it has not seen in time."""
    deadline = time.monotonic() + SEEN_SECONDS
    while True:
        seen: dict[str, set[str]] = {}
        with urllib.request.urlopen(f"http://127.0.0.1:{demo.admin_ports[0]}/access", timeout=10) as response:
            for fact in json.load(response)["access"]:
                seen.setdefault(fact["appid"], set()).add(fact["kind"])
        missing = {
            way.appid: sorted(rest) for way in group if (rest := way.kinds - seen.get(way.appid, set()))
        }
        if not missing or time.monotonic() > deadline:
            time.sleep(LAKE_SECONDS)  # so that a batch of reports has all of it
            return missing
        time.sleep(LOOK_SECONDS)


def _allow(demo: Demo) -> None:
    """Allow all users to use what is recorded: rules for each AppID would be half of the fixture."""
    allowed = (
        (ResourceType.TOPIC, (AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE)),
        (ResourceType.GROUP, (AclOperation.READ,)),
        (ResourceType.TRANSACTIONAL_ID, (AclOperation.WRITE, AclOperation.DESCRIBE)),
    )
    prefixed, allow = ResourcePatternType.PREFIXED, AclPermissionType.ALLOW
    bindings = [
        AclBinding(kind, PREFIX, prefixed, "User:*", "*", operation, allow)
        for kind, operations in allowed
        for operation in operations
    ]
    for cluster in demo.stack.kafka:
        config: dict[str, Any] = {**demo.admin_config(cluster)}
        admin = AdminClient(config)  # in a variable: the client has to outlive its futures
        for created in admin.create_acls(bindings).values():
            created.result(ACL_SECONDS)


def _kafka_python(library: str) -> Path:
    """The folder of an older kafka-python, apart from the installed one; fetched if need be.

    :raises SandboxError: it cannot be fetched.
    """
    version = library.removeprefix(OLD_KAFKA_PYTHON)
    folder = cache_dir() / library
    if not folder.is_dir():
        say(f"Fetching kafka-python {version} ...")
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = folder.parent / f".{library}.part"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(part)]
        run(
            "kafka-python",
            [*pip, f"kafka-python=={version}"],
            log_path=folder.parent / f"{library}.log",
            env={},
        )
        part.rename(folder)
    return folder


def _clients(version: str) -> Jars:
    return Jars(
        f"kafka-clients-{version}",
        f"Kafka's own client {version}",
        (("org.apache.kafka", "kafka-clients", version),),
        "about 15 MB, once",
    )


def about(known: Iterable[Way], missing: dict[str, list[str]]) -> dict[str, Any]:
    """Where, when and with which versions the fixture was recorded, and the client of each AppID.

    :param missing: by AppID, what was not seen.
    """
    return {
        "recorded_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "where": "python -m hadash_sandbox record: the demo's own servers and clients, and those below, "
        "behind its Gateway",
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "commit": _commit(),
        "brokers": f"Apache Kafka {KAFKA_VERSION}",
        "packages": {name: version(name) for name in ("confluent-kafka", "kafka-python", "aiokafka")},
        "go": _lines(ROOT / "hadash_sandbox/clients/go/go.mod", ("franz-go ", "sarama ", "kafka-go ")),
        "node": json.loads((ROOT / "hadash_sandbox/clients/node/package.json").read_text())["dependencies"],
        "clients": [
            {
                "appid": way.appid,
                "library": way.library,
                "role": way.role,
                "named": way.named,
                "group": way.group,
                "settings": dict(way.settings),
            }
            for way in known
            if way.appid not in missing
        ],
        "not_seen": missing,
    }


def _commit() -> str:
    said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return said.stdout.strip() or "unknown"


def _lines(path: Path, names: Sequence[str]) -> list[str]:
    return [
        line.split("//")[0].strip()
        for line in path.read_text().splitlines()
        if any(name in line for name in names)
    ]
