"""Who is closed when there are too many that are not signed in."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from hadash.gateway.clients.unauthenticated import (
    GRACE_SECONDS,
    TOO_MANY,
    TOO_MANY_BYTES,
    TOO_MANY_OF_HOST,
    Unauthenticated,
)


@dataclass(eq=False)
class Connection:
    host: str = "10.0.0.1"
    reasons: list[str] = field(default_factory=list)

    def turn_out(self, reason: str, why: str) -> None:
        self.reasons.append(reason)


class World:
    """A clock that the test moves, and as many connections as there may be."""

    def __init__(self, most: int = 3, of_host: int = 0, most_bytes: int = 1000) -> None:
        self.now = 100.0
        self.all = Unauthenticated(most, of_host, most_bytes, lambda: self.now)

    def add(self, host: str = "10.0.0.1") -> Connection:
        connection = Connection(host)
        self.all.add(connection)
        return connection


@pytest.fixture
def world() -> World:
    return World()


def test_the_one_that_has_kept_the_gateway_waiting_for_the_longest_makes_room(world: World) -> None:
    first = world.add()
    world.now += 1
    second, _third = world.add(), world.add()
    world.all.works(first)
    world.all.waits(first)  # it has answered since the second one came
    world.now += GRACE_SECONDS
    assert world.all.make_room("10.0.0.2") == ""
    assert (first.reasons, second.reasons) == ([], [TOO_MANY])
    assert len(world.all) == 2


def test_one_whose_request_is_worked_on_is_not_closed(world: World) -> None:
    """Its broker is slow; the client has done what it had to."""
    three = [world.add() for _ in range(3)]
    for connection in three:
        world.all.works(connection)
    world.now += 20
    assert world.all.make_room("10.0.0.2") == TOO_MANY
    assert [connection.reasons for connection in three] == [[], [], []]


def test_nobody_is_closed_in_its_first_second(world: World) -> None:
    for _ in range(3):
        world.add()
    world.now += GRACE_SECONDS / 2
    assert world.all.make_room("10.0.0.2") == TOO_MANY


def test_a_host_makes_room_among_its_own() -> None:
    world = World(most=10, of_host=2)
    other, mine, _ = world.add("10.0.0.2"), world.add(), world.add()
    world.now += GRACE_SECONDS
    assert world.all.make_room("10.0.0.1") == ""
    assert (other.reasons, mine.reasons) == ([], [TOO_MANY_OF_HOST])
    world.add()
    assert world.all.make_room("10.0.0.2") == ""
    world.all.works(other)


def test_a_host_whose_places_are_all_new_is_refused_and_others_are_not() -> None:
    world = World(most=10, of_host=1)
    world.add()
    assert world.all.make_room("10.0.0.1") == TOO_MANY_OF_HOST
    assert world.all.make_room("10.0.0.2") == ""


def test_a_load_balancer_has_no_limit_of_its_own() -> None:
    """Whose connections they are it says a moment later, and their hosts have theirs."""
    world = World(most=2, of_host=1)
    world.add()
    assert world.all.make_room("10.0.0.1", for_others=True) == ""
    world.add()
    assert world.all.make_room("10.0.0.1", for_others=True) == TOO_MANY  # all together have


def test_who_holds_most_goes_when_all_hold_too_much(world: World) -> None:
    small, large, last = world.add(), world.add(), world.add()
    world.all.holds(small, 200)
    world.all.holds(large, 600)
    world.all.holds(last, 200)
    assert large.reasons == []
    world.all.holds(last, 201)
    assert (small.reasons, large.reasons, last.reasons) == ([], [TOO_MANY_BYTES], [])
    assert world.all.bytes == 401


def test_what_is_signed_in_or_has_ended_counts_no_more(world: World) -> None:
    connection = world.add()
    world.all.holds(connection, 500)
    world.all.remove(connection)
    world.all.remove(connection)
    world.all.holds(connection, 700)
    world.all.waits(connection)
    assert (len(world.all), world.all.bytes) == (0, 0)
    assert world.all.make_room("10.0.0.1") == ""
