"""A tagged field that kio does not know is skipped, as brokers do, wherever in a message it stands."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.messages import OFFERED_VERSIONS, example

from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import decode_request, request_class
from hadash.gateway.protocol.tagged import without_unknown_tags
from hadash.gateway.protocol.wire import MalformedFrame, WireError

FLEXIBLE = [
    (kind, version) for kind, version in OFFERED_VERSIONS if request_class(kind, version).__flexible__
]

#: Field 99 with two bytes, as the only one.
UNKNOWN = b"\x01\x63\x02ab"


def body_of(kind: ApiKey, version: int) -> tuple[bytes, int]:
    """An example's frame, and where its body begins (after the header's empty tagged fields)."""
    request = example(kind, version)
    assert request.frame[request.body] == 0
    return request.frame, request.body + 1


@pytest.mark.parametrize(("kind", "version"), FLEXIBLE)
class TestEveryKind:
    def test_at_the_end_of_the_message(self, kind: ApiKey, version: int) -> None:
        request = example(kind, version)
        assert request.frame.endswith(b"\0")
        with_tag = replace(request, frame=request.frame[:-1] + UNKNOWN)
        assert decode_request(with_tag) == decode_request(request)

    def test_in_the_header(self, kind: ApiKey, version: int) -> None:
        request = example(kind, version)
        frame = request.frame[: request.body] + UNKNOWN + request.frame[request.body + 1 :]
        assert decode_request(replace(request, frame=frame)) == decode_request(request)

    def test_what_is_known_stays_byte_for_byte(self, kind: ApiKey, version: int) -> None:
        frame, body = body_of(kind, version)
        assert without_unknown_tags(request_class(kind, version), frame, body) == frame[body:]


def test_in_a_nested_message() -> None:
    """JOIN_GROUP 9: the protocol is followed by its tags, the reason (null) and the message's own tags."""
    request = example(ApiKey.JOIN_GROUP, 9)
    end = b"\0\0\0"
    assert request.frame.endswith(end)
    frame = request.frame[: -len(end)] + UNKNOWN + b"\0\0"
    assert decode_request(replace(request, frame=frame)) == decode_request(request)


def test_metadata_of_all_topics_as_librdkafka_2_16_writes_it() -> None:
    """Three bytes too many behind the null array: read by brokers as flags and an unknown tagged field."""
    entity = request_class(ApiKey.METADATA, 9)
    assert without_unknown_tags(entity, bytes.fromhex("00000000010000"), 0) == bytes.fromhex("0000000000")


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(MalformedFrame, match="a field of"):
        without_unknown_tags(request_class(ApiKey.HEARTBEAT, 4), b"\x09abc", 0)


@given(st.sampled_from(FLEXIBLE), st.binary(max_size=60))
def test_any_bytes_come_to_an_end(offered: tuple[ApiKey, int], data: bytes) -> None:
    try:
        without_unknown_tags(request_class(*offered), data, 0)
    except WireError:
        pass
