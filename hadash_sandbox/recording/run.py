"""``python -m hadash_sandbox record``: a demo whose Gateway sees every client of
:mod:`hadash_sandbox.recording.ways`, and the fixture of it.
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

#: Seconds in which a client has to have done what is to be reported of it, and between two looks.
SEEN_SECONDS, LOOK_SECONDS = 30.0, 0.5
#: Seconds between two batches of the Gateway's reports, and from the last client to the end: two samples of
#: every mirror's lag, too.
LAKE_SECONDS, AFTER_SECONDS = 5.0, 25.0
ACL_SECONDS = 30.0
#: Of these all clients run until the snapshot is taken: it has their groups with their members.
STAYING = ("librdkafka", "java-3.9.2", "kafka-python", "aiokafka", "franz-go", "kafkajs")

#: Libraries whose clients run beside each other.
AT_ONCE = 3
#: What their names begin with.
OLD_KAFKA_PYTHON = "kafka-python-"
_JAVA_SOURCE = ROOT / "hadash_sandbox" / "clients" / "java" / "Clients.java"


class RecordingDemo(Demo):
    """With reports every few seconds, and a Gateway that lets transactions pass."""

    def environment(self) -> dict[str, str]:
        gateway = {"HADASH_GATEWAY_LAKE_SECONDS": str(LAKE_SECONDS), "HADASH_GATEWAY_TRANSACTIONS": "relay"}
        return {**super().environment(), **gateway}


def record_demo(out: Path, keep: Path | None = None) -> int:
    """Record all clients into the fixture ``out``; 0 when each was seen to do what it is for.

    :param keep: a data folder that stays; the default is one that goes.
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
    """Let clients run until the Gateway has seen them, those of a few libraries beside each other; what it
    has not seen of them.

    :param files: of a library its jars or its folder. :param staying: the processes that go on.
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
    """:param found: the jars of a Java client, or the folder of an older kafka-python."""
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
        # (Java compiles it, against the jars of this version, and runs it.)
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
    """By AppID what the Gateway has not seen after so long."""
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
            time.sleep(LAKE_SECONDS)  # so that all of it is in a batch
            return missing
        time.sleep(LOOK_SECONDS)


def _allow(demo: Demo) -> None:
    """Everybody may use what is recorded: a right of each AppID would make half of the fixture."""
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
        admin = AdminClient(config)  # it has to outlive what it does
        for created in admin.create_acls(bindings).values():
            created.result(ACL_SECONDS)


def _kafka_python(library: str) -> Path:
    """The folder of an older kafka-python, beside the one that hadash has.

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
    """Where, when and with what the fixture was recorded: of each AppID which client it was."""
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
