"""The first batches of an idempotent producer after a move come in its order, whatever brokers say meanwhile."""

from __future__ import annotations

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from hadash.gateway.session.sequence_guard import FirstBatch, SequenceGuard

ORDERS = FirstBatch("orders", 0, 7, 0, 12)
CARTS = ORDERS._replace(topic="carts")
HERE = {("orders", 0)}


def refused(sequence: int = 30, now: float = 0.0) -> SequenceGuard:
    openings = SequenceGuard(patience=5.0)
    openings.sent([(ORDERS, sequence)])
    openings.answered([(ORDERS, sequence)], HERE, now)
    return openings


def test_nothing_is_sent_behind_the_first_batch_of_a_partition() -> None:
    openings = SequenceGuard(patience=5.0)
    openings.sent([(ORDERS, 30), (CARTS, 3)])
    assert openings.is_opening("orders", 0) and openings.is_opening("carts", 0)
    assert not openings.is_opening("orders", 1)
    openings.answered([(ORDERS, 30), (CARTS, 3)], {("carts", 0)}, now=0.0)
    assert not openings.any_under_way
    assert (openings.is_open(ORDERS), openings.is_open(CARTS)) == (True, False)


def test_what_would_overtake_a_refused_batch_is_refused_too() -> None:
    openings = refused(30)
    assert openings.comes_too_early(ORDERS, 31, now=4.9)
    assert not openings.comes_too_early(ORDERS, 30, now=4.9), "the batch itself, again"
    assert not openings.comes_too_early(CARTS, 31, now=4.9)


def test_a_batch_that_was_given_up_is_not_waited_for_for_ever() -> None:
    assert not refused(30).comes_too_early(ORDERS, 31, now=5.0)


def test_a_producer_that_began_anew_is_another() -> None:
    assert not refused(30).comes_too_early(ORDERS._replace(producer_epoch=1), 31, now=0.0)


def test_after_another_move_it_begins_again() -> None:
    openings = SequenceGuard(patience=5.0)
    openings.sent([(ORDERS, 30)])
    openings.answered([(ORDERS, 30)], set(), now=0.0)
    assert not openings.is_open(ORDERS._replace(since=13))


class Cluster:
    """Takes any first sequence number, then only the next one; refuses what comes while it does not lead."""

    def __init__(self, leads: list[bool]) -> None:
        self._leads = deque(leads)
        self.taken: list[int] = []

    def answer(self, sequence: int) -> str:
        if self._leads and not self._leads.popleft():
            return "not the leader"
        if self.taken and sequence <= self.taken[-1]:
            return ""  # known already
        if self.taken and sequence != self.taken[-1] + 1:
            return "out of order"
        self.taken.append(sequence)
        return ""


@given(st.lists(st.booleans(), max_size=12), st.integers(1, 5), st.integers(1, 8))
def test_every_batch_is_taken_in_order(leads: list[bool], pipelined: int, count: int) -> None:
    """A producer with some requests under way at once, that sends again in order what was refused."""
    openings, cluster = SequenceGuard(patience=5.0), Cluster(leads)
    left = deque(range(10, 10 + count))
    while left:
        window = [left.popleft() for _ in range(min(pipelined, len(left)))]
        again = []
        for sequence in window:
            if openings.is_open(ORDERS):
                said = cluster.answer(sequence)
            elif openings.comes_too_early(ORDERS, sequence, now=0.0):
                said = "not the leader"
            else:
                openings.sent([(ORDERS, sequence)])
                said = cluster.answer(sequence)
                openings.answered([(ORDERS, sequence)], HERE if said else set(), now=0.0)
            assert not (said == "out of order" and not cluster.taken)
            if said:
                again.append(sequence)
        left.extendleft(reversed(again))
    assert cluster.taken == list(range(10, 10 + count))
