"""Java and the download: what is missing is said in one sentence."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hadash_sandbox import downloads, java
from hadash_sandbox.errors import SandboxError

JAVA_17 = 'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment'


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (JAVA_17, 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "22-ea" 2024-03-19', 22),
        ("command not found", None),
    ],
)
def test_version(text: str, version: int | None) -> None:
    assert java.parse_version(text) == version


@pytest.fixture
def old_java(tmp_path: Path) -> Path:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    program.chmod(0o755)
    return program


def test_too_old(old_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(old_java.parents[1]))
    with pytest.raises(
        SandboxError, match=r"Java 17 or newer is needed, but .* is Java 11\. Install it \(`apt"
    ):
        java.find_java()


def test_wrong_java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SandboxError, match=r"JAVA_HOME is .*, but there is no"):
        java.find_java()


def test_none_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match="Java 17 or newer is needed, and none was found"):
        java.find_java()


def test_kafka_home_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "libs").mkdir()
    for name in ("connect-mirror-3.9.1.jar", "kafka_2.13-3.9.1.jar"):
        (tmp_path / "libs" / name).touch()
    monkeypatch.setenv("KAFKA_HOME", str(tmp_path))
    jars = downloads.kafka_jars(java.Java(Path("java"), 17))
    assert [jar.name for jar in jars] == ["connect-mirror-3.9.1.jar", "kafka_2.13-3.9.1.jar"]


def test_kafka_home_without_kafka(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_HOME", str(tmp_path))
    with pytest.raises(SandboxError, match="holds no connect-mirror jar"):
        downloads.kafka_jars(java.Java(Path("java"), 17))


def test_unreachable_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Port 9 of loopback refuses: the same as a network without a way out."""
    monkeypatch.delenv("KAFKA_HOME", raising=False)
    monkeypatch.setenv("HADASH_CACHE", str(tmp_path))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    lines: list[str] = []
    with pytest.raises(SandboxError, match=r"could not be fetched from Maven Central \(.*Connection refused"):
        downloads.kafka_jars(java.find_java(), lines.append)
    assert len(lines) == 1
    assert lines[0].startswith(f"Fetching Kafka {downloads.KAFKA_VERSION} from Maven Central")
    assert not (tmp_path / f"kafka-{downloads.KAFKA_VERSION}" / "libs").exists()


def test_interrupted_download_is_redone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of jars appears whole or not at all."""
    monkeypatch.delenv("KAFKA_HOME", raising=False)
    monkeypatch.setenv("HADASH_CACHE", str(tmp_path))

    def interrupted(what: str, command: list[str], log_path: Path, log: object) -> None:
        target = Path(command[-1]).parent
        target.mkdir()
        (target / "kafka_2.13-3.9.2.jar").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(downloads, "_run_ivy", interrupted)
    with pytest.raises(KeyboardInterrupt):
        downloads.kafka_jars(java.Java(Path("java"), 17), lambda line: None)
    folder = tmp_path / f"kafka-{downloads.KAFKA_VERSION}"
    assert [entry.name for entry in folder.iterdir()] == ["fetch.lock"]


def test_two_stacks_on_a_new_machine_fetch_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ivy's cache bears one user: who comes second says that it waits, and takes what the first has fetched."""
    monkeypatch.delenv("KAFKA_HOME", raising=False)
    monkeypatch.setenv("HADASH_CACHE", str(tmp_path))
    fetched: list[str] = []
    second_waits = threading.Event()

    def fetch(what: str, command: list[str], log_path: Path, log: object) -> None:
        fetched.append(what)
        assert second_waits.wait(30)
        target = Path(command[-1]).parent
        target.mkdir()
        (target / "kafka_2.13-3.9.2.jar").touch()

    def hear(line: str) -> None:
        if line.startswith("Another process is fetching Kafka"):
            second_waits.set()

    monkeypatch.setattr(downloads, "_run_ivy", fetch)
    with ThreadPoolExecutor() as pool:
        both = [pool.submit(downloads.kafka_jars, java.Java(Path("java"), 17), hear) for _ in range(2)]
        names = [[jar.name for jar in one.result(60)] for one in both]
    assert names == [["kafka_2.13-3.9.2.jar"]] * 2
    assert fetched == [f"Kafka {downloads.KAFKA_VERSION}"]
