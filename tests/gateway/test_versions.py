"""API_VERSIONS: what both clusters and the Gateway can serve, said in every version of the question."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.gateway.protocol import versions
from hadash.gateway.protocol.api_keys import HIDDEN, OFFERED, OWN, TRANSACTIONS, ApiKey
from hadash.gateway.protocol.codec import ErrorCode, decode_response
from hadash.gateway.protocol.wire import Request

#: A broker that can do whatever the Gateway can, and more.
NEW = {int(kind): (0, 99) for kind in ApiKey}


class TestIntersection:
    def test_of_new_clusters_is_what_the_gateway_offers(self) -> None:
        assert versions.intersection([NEW, NEW]) == OFFERED

    def test_the_older_cluster_sets_the_limit(self) -> None:
        old = {**NEW, int(ApiKey.FETCH): (0, 6), int(ApiKey.PRODUCE): (5, 7)}
        for order in ([NEW, old], [old, NEW]):
            served = versions.intersection(order)
            assert served[ApiKey.FETCH] == (4, 6)
            assert served[ApiKey.PRODUCE] == (5, 7)
            assert served[ApiKey.METADATA] == OFFERED[ApiKey.METADATA]

    def test_what_one_cluster_cannot_do_is_not_offered(self) -> None:
        old = {kind: range_ for kind, range_ in NEW.items() if kind != ApiKey.DESCRIBE_CLUSTER}
        assert ApiKey.DESCRIBE_CLUSTER not in versions.intersection([NEW, old])

    def test_ranges_that_do_not_meet_are_not_offered(self) -> None:
        served = versions.intersection([{**NEW, int(ApiKey.FETCH): (0, 3)}, NEW])
        assert ApiKey.FETCH not in served  # the Gateway begins at 4
        served = versions.intersection([{**NEW, int(ApiKey.FETCH): (12, 17)}, NEW])
        assert ApiKey.FETCH not in served  # and ends at 11

    def test_what_the_gateway_answers_itself_needs_no_cluster(self) -> None:
        assert versions.intersection([{}]) == {kind: OFFERED[kind] for kind in OWN}

    def test_a_cluster_that_never_answered_takes_no_part(self) -> None:
        assert versions.intersection([]) == OFFERED

    def test_the_table_of_offers_is_not_changed(self) -> None:
        before = dict(OFFERED)
        versions.intersection([{}])
        assert before == OFFERED


def ask(version: int, served: dict[ApiKey, tuple[int, int]]) -> bytes:
    return versions.answer(Request(ApiKey.API_VERSIONS, version, 7, "test", b"", 0), served)


def ranges(response: Any) -> dict[int, tuple[int, int]]:
    return {int(key.api_key): (key.min_version, key.max_version) for key in response.api_keys}


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_each_version_of_the_question_gets_the_same_answer(version: int) -> None:
    response = decode_response(ApiKey.API_VERSIONS, version, ask(version, OFFERED)[4:])
    assert response.error_code is ErrorCode.none
    assert ranges(response) == {
        **{int(kind): range_ for kind, range_ in OFFERED.items() if kind not in HIDDEN},
        ApiKey.PRODUCE: (0, 9),
    }


def test_produce_is_named_from_0_on_but_served_from_3_on() -> None:
    """librdkafka before 2.11 compresses only for a broker that names version 0; it sends the highest."""
    response = decode_response(ApiKey.API_VERSIONS, 3, ask(3, OFFERED)[4:])
    assert ranges(response)[ApiKey.PRODUCE] == (0, 9)
    assert not Request(ApiKey.PRODUCE, 0, 0, "", b"", 0).supported


@pytest.mark.parametrize("version", [4, 5, 32767, -1])
def test_a_version_that_is_too_new_is_answered_in_version_0(version: int) -> None:
    """As brokers do: the client then asks again in a version that it finds in the answer."""
    response = decode_response(ApiKey.API_VERSIONS, 0, ask(version, OFFERED)[4:])
    assert response.error_code is ErrorCode.unsupported_version
    assert ranges(response)[ApiKey.API_VERSIONS] == (0, 3)


class TestCachedAnswers:
    CACHED = versions.CachedAnswers(OFFERED)

    @given(st.integers(-(2**15), 2**15 - 1) | st.integers(-1, 6), st.integers(-(2**31), 2**31 - 1))
    def test_they_are_those_that_are_made_each_time(self, version: int, correlation_id: int) -> None:
        request = Request(ApiKey.API_VERSIONS, version, correlation_id, "test", b"", 0)
        assert self.CACHED.answer(request) == versions.answer(request, OFFERED)

    def test_a_cluster_that_changes_changes_them(self) -> None:
        request = Request(ApiKey.API_VERSIONS, 3, 7, "test", b"", 0)
        cached = versions.CachedAnswers(OFFERED)
        before = cached.answer(request)
        older = {**OFFERED, ApiKey.FETCH: (4, 6)}
        cached.serve(older)
        assert cached.answer(request) == versions.answer(request, older) != before


@pytest.mark.parametrize(
    ("kind", "highest", "because"),
    [
        (ApiKey.PRODUCE, 9, "10 has broker endpoints"),
        (
            ApiKey.FETCH,
            10,
            "11 has preferred read replicas, 12 leader epochs, 13 Topic ids, 16 broker endpoints",
        ),
        (ApiKey.METADATA, 8, "9 has leader epochs that librdkafka relies on, 10 Topic ids"),
        (ApiKey.API_VERSIONS, 4, "5 has the cluster id"),
        (ApiKey.OFFSET_COMMIT, 8, "9 has KIP-848 member epochs"),
        (ApiKey.OFFSET_FETCH, 8, "9 has KIP-848 member epochs"),
    ],
)
def test_no_offer_reaches_what_differs_between_the_clusters(kind: ApiKey, highest: int, because: str) -> None:
    assert OFFERED[kind][1] <= highest, because


def test_admin_requests_are_not_served() -> None:
    create_topics, delete_topics, alter_configs, consumer_group_heartbeat = 19, 20, 33, 68
    for api_key in (create_topics, delete_topics, alter_configs, consumer_group_heartbeat):
        assert api_key not in {int(kind) for kind in OFFERED}


def test_transactions_are_named_only_where_they_are_admitted() -> None:
    assert versions.intersection([OFFERED]).keys() >= TRANSACTIONS
    assert not TRANSACTIONS & versions.intersection([OFFERED], without=TRANSACTIONS).keys()


def test_what_is_hidden_is_served_but_not_named() -> None:
    """A client that hears of OFFSET_FOR_LEADER_EPOCH compares epochs of two clusters."""
    assert ApiKey.OFFSET_FOR_LEADER_EPOCH in HIDDEN
    assert Request(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 0, "", b"", 0).supported
