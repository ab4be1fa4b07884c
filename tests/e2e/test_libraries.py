"""A client of each kind of library goes there and back: librdkafka's own tests are the other ones of this folder.

All versions of Kafka's own clients do that among the long tests.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hadash_sandbox.bench.records import explain
from hadash_sandbox.demo import Demo
from hadash_sandbox.downloads import CLIENT_VERSIONS, tool_jars
from hadash_sandbox.ending import finish
from hadash_sandbox.java import find_java
from hadash_sandbox.trial import Trial
from hadash_sandbox.world import ClientSpec

from .conftest import apart, missed

pytestmark = pytest.mark.stack

LIBRARIES = ("kafka-python", "aiokafka", f"java-{CLIENT_VERSIONS[-1]}")
APPID, INSTANCE = "audit", "audit-libraries"


def clients_of(library: str) -> tuple[ClientSpec, ClientSpec]:
    topic = f"{APPID}.{library}"
    return (
        ClientSpec(f"{library}-writer", "produce", APPID, (topic,), INSTANCE, library=library),
        ClientSpec(
            f"{library}-reader", "consume", APPID, (topic,), INSTANCE, f"{topic}.group", library=library
        ),
    )


CLIENTS = [spec for library in LIBRARIES for spec in clients_of(library)]


@pytest.fixture
def libraries(demo: Demo, trial: Trial) -> Iterator[Trial]:
    """A trial of these clients, which have Topics and a mirror of their own, and one InstanceID."""
    tool_jars(CLIENT_VERSIONS[-1], find_java())
    yield from apart(demo, trial, "libraries", CLIENTS)


def test_clients_of_each_kind_of_library_move_there_and_back(libraries: Trial) -> None:
    for target in ("west", "east"):
        measured = libraries.switch(APPID, INSTANCE, target)
        assert measured.status == "succeeded", measured.outcome
    verdict = finish(libraries)
    assert missed(verdict) == [], "\n".join(explain(verdict))
    assert all(group["acked"] > 0 for group in verdict["groups"])
