"""Answers leave in the order of their requests, in whatever order they are ready."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.gateway.waiting.replies import ReplyQueue


class Writer:
    """What a client would receive."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closing = False

    def write(self, data: bytes) -> None:
        self.sent.append(data)

    def writelines(self, pieces: list[bytes]) -> None:
        self.sent.append(b"".join(pieces))

    def is_closing(self) -> bool:
        return self.closing


@pytest.fixture
def writer() -> Writer:
    return Writer()


@pytest.fixture
def replies(writer: Writer) -> ReplyQueue:
    return ReplyQueue(cast(Any, writer))


def test_an_answer_at_the_head_leaves_at_once(replies: ReplyQueue, writer: Writer) -> None:
    replies.open().complete(b"one")
    assert writer.sent == [b"one"]
    assert len(replies) == 0


def test_a_later_answer_waits_for_the_earlier(replies: ReplyQueue, writer: Writer) -> None:
    first, second, third = (replies.open() for _ in range(3))
    second.complete(b"two")
    third.complete(b"three")
    assert (writer.sent, len(replies)) == ([], 3)
    first.complete(b"one")
    assert (writer.sent, len(replies)) == ([b"one", b"two", b"three"], 0)


@given(st.permutations(range(6)))
def test_whatever_the_order_of_finishing(order: list[int]) -> None:
    writer = Writer()
    replies = ReplyQueue(cast(Any, writer))
    opened = [replies.open() for _ in order]
    for number in order:
        opened[number].complete(b"%d" % number)
    assert writer.sent == [b"%d" % number for number in range(6)]


def test_a_second_answer_is_dropped(replies: ReplyQueue, writer: Writer) -> None:
    """The late answer of the cluster that the client has left."""
    first, second = replies.open(), replies.open()
    second.complete(b"not coordinator")
    second.complete(b"late")
    first.complete(b"one")
    second.complete(b"later still")
    assert writer.sent == [b"one", b"not coordinator"]


def test_a_request_counts_as_answered_when_its_answer_was_sent_not_when_it_was_ready(
    replies: ReplyQueue, writer: Writer
) -> None:
    told: list[int] = []
    first = replies.open()
    second = replies.open(lambda: told.append(len(writer.sent)))
    second.complete(b"two")
    assert told == []
    first.complete(b"one")
    assert told == [2]
    second.complete(b"again")
    assert told == [2]


def test_the_last_answer_tells_that_none_is_left(replies: ReplyQueue, writer: Writer) -> None:
    sent_by_then: list[int] = []
    replies.on_empty = lambda: sent_by_then.append(len(writer.sent))
    first, second = replies.open(), replies.open()
    first.complete(b"one")
    assert sent_by_then == []
    second.complete(b"two")
    assert sent_by_then == [2]


def test_a_client_that_has_left_is_sent_nothing_but_what_it_wrote_still_counts(
    replies: ReplyQueue, writer: Writer
) -> None:
    answered: list[bool] = []
    reply = replies.open(lambda: answered.append(True))
    writer.closing = True
    reply.complete(b"one")
    assert (writer.sent, answered) == ([], [True])


def test_a_long_answer_leaves_in_the_pieces_in_which_it_comes(replies: ReplyQueue, writer: Writer) -> None:
    first, second = replies.open(), replies.open()
    first.pass_on(b"one ")
    second.complete(b"two")
    first.pass_on(b"goes ")
    assert writer.sent == [b"one ", b"goes "]
    first.complete(b"on")
    assert (writer.sent, len(replies)) == ([b"one ", b"goes ", b"on", b"two"], 0)


def test_pieces_wait_for_the_earlier_answers_too(replies: ReplyQueue, writer: Writer) -> None:
    told: list[str] = []
    first, second = replies.open(), replies.open(lambda: told.append("answered"))
    second.pass_on(b"two ")
    second.pass_on(b"goes ")
    assert writer.sent == []
    first.complete(b"one")
    assert (writer.sent, told) == ([b"one", b"two goes "], [])
    second.pass_on(b"on")
    second.complete()
    assert (writer.sent, told) == ([b"one", b"two goes ", b"on"], ["answered"])


def test_after_the_end_late_answers_are_nobodys(replies: ReplyQueue, writer: Writer) -> None:
    """Of a connection that has ended nothing is kept; what a broker or a look-up still says of it changes nothing."""
    told: list[str] = []
    first, second = replies.open(lambda: told.append("sent")), replies.open()
    replies.on_empty = lambda: told.append("empty")
    replies.end()
    assert len(replies) == 0
    second.pass_on(b"a piece")
    first.complete(b"one")
    assert (told, writer.sent) == ([], [])


def told_of(replies: ReplyQueue) -> list[str]:
    """What a client's place says, in order: whether its answer was lost, and that it is over."""
    told: list[str] = []
    replies.on_lost = lambda: told.append("lost")
    replies.open(lambda: told.append("over")).complete(b"one")
    return told


def test_an_answer_that_left_is_not_lost(replies: ReplyQueue) -> None:
    assert told_of(replies) == ["over"]


def test_an_answer_for_who_is_gone_is_lost_before_it_is_over(replies: ReplyQueue, writer: Writer) -> None:
    """A block waits for writes that are under way: it must not come into effect between the two."""
    writer.closing = True
    assert (told_of(replies), writer.sent) == (["lost", "over"], [])


def test_so_is_one_whose_own_writing_finds_out(replies: ReplyQueue, writer: Writer) -> None:
    """uvloop's ``write`` makes the system call at once, and tells of the end of the connection a round later."""

    def write(data: bytes) -> None:
        writer.closing = True

    writer.write = write  # type: ignore[method-assign]
    assert told_of(replies) == ["lost", "over"]


def test_nobody_waits_for_an_answer_without_a_mutation(replies: ReplyQueue, writer: Writer) -> None:
    told: list[str] = []
    replies.on_lost = lambda: told.append("lost")
    writer.closing = True
    replies.open().complete(b"one")
    assert told == []
