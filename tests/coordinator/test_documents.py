"""The documents in ZooKeeper are as the seed has them; what cannot be read says what to do."""

from __future__ import annotations

import json
import re

import pytest

from hadash.coordinator.documents import AssignmentDocument, DocumentError, StateDocument
from hadash.coordinator.partitions import PartitionCounter, TopicUnknown
from hadash.coordinator.states import State

PATH = "/consumers/audit/assignments/orders"


class TestAssignments:
    def test_they_are_kept_with_all_settings_of_the_consumer(self) -> None:
        held = {
            "bootstrap.servers": "kafka-1:9092",
            "group.id": "审计",
            "fetch.max.bytes": 1048576,
            "check.crcs": True,
            "assignments": {"45": "xxx", "46": ""},
        }
        found = AssignmentDocument.parse(PATH, json.dumps(held).encode())
        assert (found.members, found.of("xxx"), found.of("yyy")) == ({45: "xxx", 46: ""}, {45}, frozenset())
        assert json.loads(found.to_bytes()) == held

    def test_partitions_stay_when_others_are_to_read_them(self) -> None:
        found = AssignmentDocument({}, {0: "a", 1: ""})
        assert found.assigned({0: "b", 1: "a"}).members == {0: "b", 1: "a"}
        with pytest.raises(ValueError, match=r"\[1\] are in one of both only"):
            found.assigned({0: "b"})

    @pytest.mark.parametrize(
        ("held", "said"),
        [
            (b"", "holds no JSON object"),
            (b"[]", "holds no JSON object"),
            (b'{"group.id": "g"}', "“bootstrap.servers”"),
            (b'{"bootstrap.servers": "k:9092", "group.id": ""}', "“group.id”"),
            (b'{"bootstrap.servers": "k", "group.id": "g", "client.rack": null}', "“client.rack”"),
            (b'{"bootstrap.servers": "k", "group.id": "g", "assignments": ["a"]}', "“assignments”"),
            (b'{"bootstrap.servers": "k", "group.id": "g", "assignments": {"one": "a"}}', "“assignments”"),
            (b'{"bootstrap.servers": "k", "group.id": "g", "assignments": {"-1": "a"}}', "“assignments”"),
            (
                b'{"bootstrap.servers": "k", "group.id": "g", "assignments": {"1": "a", "01": "b"}}',
                "“assignments”",
            ),
            (b'{"bootstrap.servers": "k", "group.id": "g", "assignments": {"1": null}}', "“assignments”"),
        ],
    )
    def test_what_is_wrong_is_named(self, held: bytes, said: str) -> None:
        with pytest.raises(DocumentError) as error:
            AssignmentDocument.parse(PATH, held)
        assert said in str(error.value) and PATH in str(error.value) and "epair it" in str(error.value)


class TestState:
    def test_it_is_kept_as_it_is_written(self) -> None:
        held = {"state": "Closing", "toStart": {"xxx": [1, 3]}, "toClose": {"ooo": [1, 3]}}
        found = StateDocument.parse(PATH, json.dumps(held).encode())
        assert found == StateDocument(State.CLOSING, {"xxx": frozenset({1, 3})}, {"ooo": frozenset({1, 3})})
        assert json.loads(found.to_bytes()) == held

    @pytest.mark.parametrize("held", [b"", b"{}"])
    def test_it_begins_as_initial(self, held: bytes) -> None:
        assert StateDocument.parse(PATH, held) == StateDocument(State.INITIAL)

    @pytest.mark.parametrize(
        ("held", "said"),
        [
            (b'{"state": "stable"}', "“state”"),
            (b'{"state": "Stable", "toStart": []}', "“toStart”"),
            (b'{"state": "Stable", "toClose": {"a": [true]}}', "“toClose”"),
            (b'{"state": "Stable", "toClose": {"a": 1}}', "“toClose”"),
        ],
    )
    def test_what_is_wrong_is_named(self, held: bytes, said: str) -> None:
        with pytest.raises(DocumentError, match=said):
            StateDocument.parse(PATH, held)


@pytest.mark.parametrize(
    ("consumer", "reason"),
    [
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"},
            "sasl.username and sasl.password must be set",
        ),
        ({"no.such.setting": "x"}, 'No such configuration property: "no.such.setting"'),
    ],
)
def test_settings_that_librdkafka_refuses_do_not_end_the_coordinator(
    consumer: dict[str, str], reason: str
) -> None:
    document = AssignmentDocument({**consumer, "bootstrap.servers": "127.0.0.1:1", "group.id": "g"}, {0: ""})
    with pytest.raises(TopicUnknown, match=re.escape(reason)):
        PartitionCounter({}, 1.0).count(document, "orders")
