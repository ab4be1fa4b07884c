"""Frames and headers as they come from outside: read right, or refused with one kind of error."""

from __future__ import annotations

import struct

import pytest
from hypothesis import example as instance
from hypothesis import given, settings
from hypothesis import strategies as st
from support.messages import OFFERED_VERSIONS, example

from hadash.gateway.protocol.api_keys import SERVED, ApiKey
from hadash.gateway.protocol.codec import decode_request
from hadash.gateway.protocol.records import FetchedCounter, read_produce
from hadash.gateway.protocol.wire import (
    FrameSplitter,
    FrameTooLarge,
    MalformedFrame,
    NotServed,
    Request,
    WireError,
    correlation_of,
    framed,
    parse_request,
)


def header(
    api_key: int, version: int, client_id: bytes | None = b"web-1", length: int | None = None
) -> bytes:
    size = -1 if client_id is None else len(client_id)
    return struct.pack(">hhih", api_key, version, 7, size if length is None else length) + (client_id or b"")


def split(*pieces: bytes, limit: int = 1000) -> list[bytes]:
    """The frames that the pieces of a stream hold. Raises why it cannot be read."""
    splitter = FrameSplitter(limit)
    frames = [frame for piece in pieces for frame, _ in splitter.feed(piece)]
    splitter.check()
    return frames


class TestFrames:
    def test_frames_come_one_by_one(self) -> None:
        assert split(framed(b"one") + framed(b"") + framed(b"two")) == [b"one", b"", b"two"]

    def test_a_frame_of_just_the_limit_is_read(self) -> None:
        assert split(framed(b"x" * 1000)) == [b"x" * 1000]

    @given(st.lists(st.binary(max_size=20), max_size=6), st.data())
    def test_the_pieces_in_which_they_come_do_not_matter(
        self, frames: list[bytes], data: st.DataObject
    ) -> None:
        stream = b"".join(map(framed, frames))
        cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
        pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
        assert split(*pieces) == frames

    @given(st.lists(st.binary(max_size=20), max_size=6), st.data())
    def test_one_by_one_they_are_the_same(self, frames: list[bytes], data: st.DataObject) -> None:
        """Whether they are asked for as they come or later, and what is held is what was not handed out."""
        stream = b"".join(map(framed, frames))
        cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
        splitter, found = FrameSplitter(1000), []
        for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True):
            splitter.push(stream[a:b])
            while data.draw(st.booleans()) and splitter.ready:
                taken = splitter.next()
                assert taken is not None
                found.append(taken[0])
            assert splitter.held == b - sum(4 + len(frame) for frame in found)
        while (taken := splitter.next()) is not None:
            found.append(taken[0])
        assert found == frames
        assert (splitter.held, splitter.ready, splitter.missing) == (0, False, "")

    def test_whole_frames_are_counted_up_to_a_number_and_none_is_cut(self) -> None:
        splitter = FrameSplitter(1000)
        splitter.push(framed(b"one") * 5 + framed(b"two")[:-1])
        assert (splitter.count(3), splitter.count(100)) == (3, 5)
        assert splitter.held == 6 * 7 - 1

    @pytest.mark.parametrize("length", [1001, -1, -4, -5])
    def test_what_is_no_frame_is_noticed_when_it_is_its_turn(self, length: int) -> None:
        splitter = FrameSplitter(1000)
        splitter.push(framed(b"one") + struct.pack(">i", length))
        assert splitter.next() == (b"one", 0.0)
        assert not splitter.broken and splitter.ready
        assert splitter.next() is None
        assert splitter.broken and splitter.held == 0

    @pytest.mark.parametrize(
        ("data", "error", "message"),
        [
            (struct.pack(">i", 1001), FrameTooLarge, "a frame of 1001 bytes; at most 1000 are allowed here"),
            (
                b"GET / HTTP/1.1\r\n",
                FrameTooLarge,
                "a frame of 1195725856 bytes; at most 1000 are allowed here",
            ),
            (b"\x16\x03\x01\x02\x00", FrameTooLarge, "a frame of 369295618 bytes; at most 1000"),
            (struct.pack(">i", -1), MalformedFrame, "a frame of -1 bytes"),
        ],
        ids=["too large", "HTTP", "TLS", "negative"],
    )
    def test_what_is_no_frame_is_refused_with_the_reason(
        self, data: bytes, error: type[WireError], message: str
    ) -> None:
        with pytest.raises(error) as caught:
            split(data)
        assert str(caught.value).startswith(message)

    @pytest.mark.parametrize(
        ("data", "missing"),
        [
            (b"\0\0", "a frame's length"),
            (struct.pack(">i", 5) + b"abc", "a frame of 5 bytes"),
            (framed(b"one") + b"\0", "a frame's length"),
            (framed(b"one"), ""),
            (b"", ""),
        ],
    )
    def test_what_the_stream_would_end_inside_of(self, data: bytes, missing: str) -> None:
        splitter = FrameSplitter(1000)
        splitter.feed(data)
        assert splitter.missing == missing

    def test_what_came_before_it_is_still_read(self) -> None:
        splitter = FrameSplitter(1000)
        assert [f for f, _ in splitter.feed(framed(b"one") + struct.pack(">i", -1))] == [b"one"]
        assert splitter.broken
        assert splitter.feed(framed(b"two")) == []

    def test_a_limit_holds_for_frames_that_begin_after_it_was_set(self) -> None:
        splitter = FrameSplitter(5)
        splitter.feed(framed(b"one"))
        splitter.limit = 10
        assert [frame for frame, _ in splitter.feed(framed(b"x" * 10))] == [b"x" * 10]

    def test_each_frame_has_the_time_of_its_first_byte(self) -> None:
        """Whatever pieces it came in."""
        splitter = FrameSplitter(1000)
        pieces = [framed(b"one") + framed(b"two")[:1], framed(b"two")[1:], framed(b"three")]
        found = [f for now, piece in enumerate(pieces, start=10) for f in splitter.feed(piece, float(now))]
        assert found == [(b"one", 10.0), (b"two", 10.0), (b"three", 12.0)]

    def test_a_frame_can_be_taken_before_it_is_complete(self) -> None:
        splitter = FrameSplitter(1000)
        splitter.feed(framed(b"one") + framed(b"x" * 100)[:50])
        assert splitter.missing_bytes == 54
        assert splitter.take_partial() == (100, b"x" * 46)
        # The rest of it is the taker's; what follows is split as before.
        assert [frame for frame, _ in splitter.feed(framed(b"next"))] == [b"next"]

    def test_there_is_nothing_to_take_between_frames_nor_inside_a_length(self) -> None:
        splitter = FrameSplitter(1000)
        assert (splitter.take_partial(), splitter.missing_bytes) == (None, 0)
        splitter.feed(b"\0\0")
        assert (splitter.take_partial(), splitter.missing_bytes) == (None, 0)


class TestHeaders:
    @pytest.mark.parametrize(("kind", "version"), OFFERED_VERSIONS)
    def test_every_offered_request_is_read(self, kind: ApiKey, version: int) -> None:
        sent = example(kind, version)
        assert (sent.kind, sent.version, sent.correlation_id, sent.client_id) == (kind, version, 7, "test")
        assert sent.supported

    @pytest.mark.parametrize("client_id", [b"", None])
    def test_a_client_without_client_id_has_an_empty_one(self, client_id: bytes | None) -> None:
        assert parse_request(header(ApiKey.METADATA, 9, client_id)).client_id == ""

    def test_a_client_id_may_be_any_text(self) -> None:
        assert parse_request(header(ApiKey.METADATA, 9, "网页#1/2".encode())).client_id == "网页#1/2"

    @pytest.mark.parametrize("kind", SERVED)
    def test_a_version_is_supported_when_it_is_served(self, kind: ApiKey) -> None:
        low, high = SERVED[kind]
        supported = [v for v in range(-1, high + 3) if Request(kind, v, 0, "", b"", 0).supported]
        assert supported == list(range(low, high + 1))

    @pytest.mark.parametrize(
        ("frame", "error", "message"),
        [
            (b"", MalformedFrame, "a request of 0 bytes has no header"),
            (b"\0" * 9, MalformedFrame, "a request of 9 bytes has no header"),
            (header(3, 9, b"ab", length=100), MalformedFrame, "a client.id of 100 bytes in a frame of 12"),
            (header(3, 9, b"ab", length=-2), MalformedFrame, "a client.id of -2 bytes in a frame of 12"),
            (header(3, 9, b"\xff\xfe"), MalformedFrame, "the client.id is not UTF-8"),
            (header(4, 0), NotServed, "API 4 version 0 is not served here"),
            (header(-1, 0), NotServed, "API -1 version 0 is not served here"),
            (header(68, 0), NotServed, "API 68 version 0 is not served here"),
        ],
        ids=[
            "empty",
            "short",
            "long client.id",
            "negative client.id",
            "no UTF-8",
            "inter-broker",
            "-1",
            "KIP-848",
        ],
    )
    def test_what_is_no_header_is_refused_with_the_reason(
        self, frame: bytes, error: type[WireError], message: str
    ) -> None:
        with pytest.raises(error) as caught:
            parse_request(frame)
        assert str(caught.value) == message

    def test_an_answer_begins_with_its_correlation_id(self) -> None:
        assert correlation_of(struct.pack(">i", -7) + b"rest") == -7
        with pytest.raises(MalformedFrame, match="a response of 3 bytes"):
            correlation_of(b"abc")


def test_a_tagged_field_that_nobody_knows_is_no_reason_to_refuse() -> None:
    """METADATA 9 for all Topics as librdkafka 2.16 writes it: three bytes too many, read by brokers as an empty tag."""
    frame = bytes.fromhex("0003000900000006000772646b61666b61000000000001000000")
    assert decode_request(parse_request(frame)).topics is None


class TestAnyBytes:
    """Whatever arrives: a value or a WireError, never anything else."""

    @given(st.binary(max_size=200))
    @instance(b"\x00\x00")
    def test_as_a_stream(self, data: bytes) -> None:
        try:
            assert all(len(frame) <= 100 for frame in split(data, limit=100))
        except WireError:
            pass

    @given(st.binary(max_size=100))
    def test_as_a_request(self, data: bytes) -> None:
        try:
            parse_request(data)
        except WireError:
            pass

    @settings(max_examples=300)
    @given(st.sampled_from(OFFERED_VERSIONS), st.binary(max_size=60))
    def test_as_the_body_of_a_request(self, offered: tuple[ApiKey, int], body: bytes) -> None:
        kind, version = offered
        read_like_the_gateway(header(kind, version) + body)

    @settings(max_examples=300)
    @given(st.sampled_from(OFFERED_VERSIONS), st.data())
    def test_as_a_request_in_which_bytes_were_changed(
        self, offered: tuple[ApiKey, int], data: st.DataObject
    ) -> None:
        frame = bytearray(example(*offered).frame)
        for at in data.draw(st.lists(st.integers(10, len(frame) - 1), min_size=1, max_size=4)):
            frame[at] = data.draw(st.integers(0, 255))
        read_like_the_gateway(bytes(frame[: data.draw(st.integers(10, len(frame)))]))

    @settings(max_examples=300)
    @given(st.integers(4, 11), st.binary(max_size=200))
    def test_as_fetched_records(self, version: int, data: bytes) -> None:
        """They are the client's to judge; here they are only not counted."""
        FetchedCounter(version).feed(data)


def read_like_the_gateway(frame: bytes) -> None:
    """Header and body; PRODUCE by its own reader, and as a refusal decodes it."""
    try:
        request = parse_request(frame)
        if request.kind is ApiKey.PRODUCE:
            read_produce(request)
        decode_request(request)
    except WireError:
        pass
