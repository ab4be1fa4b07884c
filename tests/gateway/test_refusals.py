"""Answers in a cluster's place: every kind and version that may be refused decodes back with the error for
all it names.
"""

from __future__ import annotations

from typing import Any

import pytest
from support.messages import OFFERED_VERSIONS, TOPICS, example, fetch, nested, request

from hadash.gateway.protocol.api_keys import DATA, GROUP, SERVED, TRANSACTIONS, ApiKey
from hadash.gateway.protocol.codec import ErrorCode, decode_request, decode_response
from hadash.gateway.protocol.wire import MalformedFrame, Request, correlation_of
from hadash.gateway.rules.refusals import refuse, retriable_error

REFUSED = [*sorted(DATA | GROUP | TRANSACTIONS), ApiKey.FIND_COORDINATOR, ApiKey.INIT_PRODUCER_ID]
REFUSED_VERSIONS = [(kind, version) for kind, version in OFFERED_VERSIONS if kind in REFUSED]

every_refusal = pytest.mark.parametrize(("kind", "version"), REFUSED_VERSIONS)


def answered(sent: Request, error: ErrorCode | None = None, message: Any = None) -> Any:
    """What the client decodes of the refusal."""
    frame = refuse(sent, error, message)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert correlation_of(frame[4:]) == sent.correlation_id
    return decode_response(sent.kind, sent.version, frame[4:])


def errors(kind: ApiKey, version: int, response: Any) -> dict[Any, ErrorCode]:
    """The error of everything that a response names: partitions, groups, or the request as a whole."""
    match kind:
        case ApiKey.PRODUCE:
            return {
                (t.name, p.index): p.error_code for t in response.responses for p in t.partition_responses
            }
        case ApiKey.FETCH:
            return {
                (t.topic, p.partition_index): p.error_code for t in response.responses for p in t.partitions
            }
        case ApiKey.OFFSET_FOR_LEADER_EPOCH:
            return {(t.topic, p.partition): p.error_code for t in response.topics for p in t.partitions}
        case ApiKey.ADD_PARTITIONS_TO_TXN:
            return {
                (t.name, p.partition_index): p.partition_error_code
                for t in response.results_by_topic_v3_and_below
                for p in t.results_by_partition
            }
        case ApiKey.LIST_OFFSETS | ApiKey.OFFSET_COMMIT | ApiKey.TXN_OFFSET_COMMIT:
            return {(t.name, p.partition_index): p.error_code for t in response.topics for p in t.partitions}
        case ApiKey.OFFSET_FETCH if version < 2:
            return {(t.name, p.partition_index): p.error_code for t in response.topics for p in t.partitions}
        case ApiKey.OFFSET_FETCH if version >= 8:
            return {g.group_id: g.error_code for g in response.groups}
        case ApiKey.FIND_COORDINATOR if version >= 4:
            return {c.key: c.error_code for c in response.coordinators}
        case _:
            return {"": response.error_code}


def named(kind: ApiKey, version: int) -> set[Any]:
    """What :func:`support.messages.example` names."""
    partitions = {(topic, index) for topic, indexes in TOPICS.items() for index in indexes}
    of_partitions = DATA | {ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT, ApiKey.ADD_PARTITIONS_TO_TXN}
    if kind in of_partitions or (kind is ApiKey.OFFSET_FETCH and version < 2):
        return partitions
    if (kind is ApiKey.OFFSET_FETCH and version >= 8) or (kind is ApiKey.FIND_COORDINATOR and version >= 4):
        return {"workers", "others"}
    return {""}


@every_refusal
def test_everything_named_gets_the_error(kind: ApiKey, version: int) -> None:
    code = ErrorCode.rebalance_in_progress
    response = answered(example(kind, version), code)
    assert errors(kind, version, response) == dict.fromkeys(named(kind, version), code)


@every_refusal
def test_without_an_error_the_client_is_sent_to_look_again(kind: ApiKey, version: int) -> None:
    response = answered(example(kind, version))
    assert set(errors(kind, version, response).values()) == {retriable_error(kind)}


@every_refusal
def test_a_message_that_is_decoded_already_is_not_read_again(kind: ApiKey, version: int) -> None:
    sent = example(kind, version)
    assert refuse(sent, None, decode_request(sent)) == refuse(sent)


@every_refusal
def test_a_request_that_cannot_be_read_is_malformed(kind: ApiKey, version: int) -> None:
    sent = example(kind, version)
    cut = Request(kind, version, 7, "test", sent.frame[: sent.body + 1], sent.body)
    with pytest.raises(MalformedFrame, match=f"^{kind.name} version {version} "):
        refuse(cut)


@pytest.mark.parametrize("version", range(SERVED[ApiKey.FETCH][0], SERVED[ApiKey.FETCH][1] + 1))
def test_a_refused_fetch_has_empty_records_not_none(version: int) -> None:
    """Java's consumer of Kafka 2.8 ends with a NullPointerException otherwise."""
    response = answered(example(ApiKey.FETCH, version))
    assert {p.records for t in response.responses for p in t.partitions} == {b""}


def test_which_error_sends_which_client_to_look_again() -> None:
    """Of those that clients retry without telling the application (docs/kafka-clients.md)."""
    for kind in DATA:
        assert retriable_error(kind) is ErrorCode.not_leader_or_follower
    for kind in GROUP:
        assert retriable_error(kind) is ErrorCode.not_coordinator
    assert retriable_error(ApiKey.INIT_PRODUCER_ID) is ErrorCode.coordinator_not_available
    assert ErrorCode.broker_not_available not in {retriable_error(kind) for kind in REFUSED}


@pytest.mark.parametrize("version", range(7, SERVED[ApiKey.FETCH][1] + 1))
def test_an_incremental_fetch_loses_its_session(version: int) -> None:
    """It names no partition to put an error on; the client then fetches in full and gets the partitions' errors."""
    response = answered(fetch(version, session_id=5, session_epoch=3))
    assert response.error_code is ErrorCode.fetch_session_id_not_found
    assert response.responses == ()


@pytest.mark.parametrize(("session_id", "session_epoch"), [(0, -1), (0, 0), (5, -1)])
def test_a_full_fetch_gets_the_partitions_errors_and_no_session(session_id: int, session_epoch: int) -> None:
    response = answered(fetch(11, session_id, session_epoch))
    assert (response.error_code, response.session_id) == (ErrorCode.none, 0)
    assert set(errors(ApiKey.FETCH, 11, response)) == named(ApiKey.FETCH, 11)


@pytest.mark.parametrize("version", range(2, 9))
def test_a_fetch_of_all_offsets_of_a_group_is_refused_too(version: int) -> None:
    group = (
        (nested(ApiKey.OFFSET_FETCH, version, "OffsetFetchRequestGroup")(group_id="workers", topics=None),)
        if version >= 8
        else ()
    )
    sent = request(ApiKey.OFFSET_FETCH, version, group_id="workers", topics=None, groups=group)
    assert set(errors(ApiKey.OFFSET_FETCH, version, answered(sent)).values()) == {ErrorCode.not_coordinator}


@pytest.mark.parametrize("version", range(SERVED[ApiKey.JOIN_GROUP][1] + 1))
def test_a_refused_member_keeps_its_id(version: int) -> None:
    assert answered(example(ApiKey.JOIN_GROUP, version)).member_id == "m-1"


@pytest.mark.parametrize("version", range(1, SERVED[ApiKey.FIND_COORDINATOR][1] + 1))
def test_a_transaction_is_told_why_it_is_refused(version: int) -> None:
    sent = request(ApiKey.FIND_COORDINATOR, version, key="tx", key_type=1, coordinator_keys=("tx",))
    response = answered(sent, ErrorCode.transactional_id_authorization_failed)
    told = response.coordinators[0] if version >= 4 else response
    assert told.error_message == (
        "hadash does not move transactions: use this client without a transactional.id."
    )
