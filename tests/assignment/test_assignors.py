"""What each assignor gives to whom, by example, as recorded from Java, and what holds for any group."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.assignment import (
    ASSIGNORS,
    AssignorFails,
    AssignorHangs,
    Group,
    Member,
    NotKnown,
    Partition,
    assign,
)

from .as_java import hanging_group
from .record import read


def member(
    name: str,
    topics: str = "t",
    owned: str = "",
    *,
    instance_id: str | None = None,
    rack: str | None = None,
    generation: int | None = None,
) -> Member:
    """``member("a", "t u", "t0 u1")``: with Topics of one letter."""
    return Member(
        name,
        topics=tuple(topics.split()),
        owned=tuple(Partition(each[0], int(each[1:])) for each in owned.split()),
        instance_id=instance_id,
        rack=rack,
        generation=generation,
        user_data_generation=generation,
    )


def gives(assignor: str, topics: dict[str, int], *members: Member) -> dict[str, str]:
    """Who gets what, in the same notation."""
    return {
        name: " ".join(f"{each.topic}{each.number}" for each in has)
        for name, has in assign(Group(members, topics, assignor)).items()
    }


class TestRange:
    def test_each_topic_by_itself_and_the_first_members_get_more(self) -> None:
        topics = {"t": 3, "u": 3}
        assert gives("range", topics, member("b", "t u"), member("a", "t u")) == {
            "b": "t2 u2",
            "a": "t0 t1 u0 u1",
        }

    def test_static_members_come_first_by_their_instance_id(self) -> None:
        found = gives(
            "range",
            {"t": 3},
            member("a"),
            member("y", instance_id="2"),
            member("z", instance_id="1"),
        )
        assert found == {"a": "t2", "y": "t1", "z": "t0"}

    def test_more_members_than_partitions_leave_some_idle(self) -> None:
        assert gives("range", {"t": 1}, member("a"), member("b")) == {"a": "t0", "b": ""}


class TestRoundRobin:
    def test_deals_out_all_topics_in_one_circle(self) -> None:
        topics = {"t": 3, "u": 3}
        assert gives("roundrobin", topics, member("a", "t u"), member("b", "t u")) == {
            "a": "t0 t2 u1",
            "b": "t1 u0 u2",
        }

    def test_passes_over_those_who_do_not_subscribe(self) -> None:
        topics = {"t": 1, "u": 2, "v": 3}
        found = gives("roundrobin", topics, member("a", "t"), member("b", "t u"), member("c", "t u v"))
        assert found == {"a": "t0", "b": "u0", "c": "u1 v0 v1 v2"}


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
class TestBothSticky:
    def test_those_that_stay_take_over_what_is_left(self, assignor: str) -> None:
        found = gives(assignor, {"t": 6}, member("a", owned="t0 t1"), member("c", owned="t4 t5"))
        assert found == {"a": "t0 t1 t2", "c": "t3 t4 t5"}

    def test_different_subscriptions_are_evened_out_as_far_as_they_allow(self, assignor: str) -> None:
        topics = {"t": 1, "u": 2, "v": 3}
        found = gives(assignor, topics, member("a", "t"), member("b", "t u"), member("c", "t u v"))
        assert found == {"a": "t0", "b": "u0 u1", "c": "v0 v1 v2"}

    def test_of_two_claims_the_newer_one_holds(self, assignor: str) -> None:
        members = (
            member("a", owned="t0 t1", generation=6),
            member("b", owned="t0 t1", generation=7),
        )
        assert gives(assignor, {"t": 2}, *members)["b"] == "t0"

    def test_what_a_member_does_not_subscribe_to_any_more_goes_to_others(self, assignor: str) -> None:
        found = gives(assignor, {"t": 1, "u": 1}, member("a", "t", "u0 t0"), member("b", "t u"))
        # Cooperative: a has to give u0 up first.
        assert found == {"a": "t0", "b": "u0" if assignor == "sticky" else ""}

    def test_claims_of_topics_that_are_gone_count_for_nothing(self, assignor: str) -> None:
        assert gives(assignor, {"t": 2}, member("a", "t x", "x0 x1"), member("b", "t x")) == {
            "a": "t0",
            "b": "t1",
        }

    def test_a_partition_that_its_topic_does_not_have_is_not_known(self, assignor: str) -> None:
        with pytest.raises(NotKnown, match="t-5"):
            gives(assignor, {"t": 5}, member("a", owned="t5"))


class TestCooperative:
    def test_gives_nobody_what_another_still_has(self) -> None:
        topics = {"t": 4}
        members = (member("a", owned="t0 t1 t2 t3"), member("b"))
        assert gives("sticky", topics, *members) == {"a": "t0 t1", "b": "t2 t3"}
        assert gives("cooperative-sticky", topics, *members) == {"a": "t0 t1", "b": ""}


class TestRacks:
    @pytest.mark.parametrize("assignor", ["range", "sticky", "cooperative-sticky"])
    def test_are_not_known_for_assignors_that_look_at_them(self, assignor: str) -> None:
        members = (member("a", rack="hall"),)
        for brokers in (None, frozenset({"hall", "attic"})):
            with pytest.raises(NotKnown, match="racks"):
                assign(Group(members, {"t": 1}, assignor, brokers))
        for brokers in (frozenset(), frozenset({"attic"})):
            assert assign(Group(members, {"t": 1}, assignor, brokers)) == {"a": (Partition("t", 0),)}

    def test_roundrobin_does_not_look_at_them(self) -> None:
        assert gives("roundrobin", {"t": 1}, member("a", rack="hall")) == {"a": "t0"}


def test_other_assignors_are_not_known() -> None:
    with pytest.raises(NotKnown, match="stream"):
        gives("stream", {"t": 1}, member("a"))


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_group_without_members_gets_nothing(assignor: str) -> None:
    assert gives(assignor, {"t": 1}) == {}


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_as_java_recorded(assignor: str) -> None:
    cases = [(group, java) for group, java in read() if group.assignor == assignor]
    assert len(cases) > 10
    for group, java in cases:
        if java == "NullPointerException":
            with pytest.raises(AssignorFails):
                assign(group)
        else:
            assert assign(group) == java


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: member("a", "t t"),
        lambda: member("a", owned="t0 t0"),
        lambda: member("a", generation=-1),
        lambda: Group((member("a"), member("a")), {}, "range"),
        lambda: Group((member("a", instance_id="i"), member("b", instance_id="i")), {}, "range"),
        lambda: Group((), {"t": -1}, "range"),
    ],
)
def test_groups_that_cannot_be_are_refused(wrong: object) -> None:
    with pytest.raises(ValueError):
        wrong()  # type: ignore[operator]


TOPICS = st.dictionaries(st.sampled_from("tuvw"), st.integers(0, 6), max_size=4)


@st.composite
def settled_groups(draw: st.DrawFn) -> Group:
    """Members own what they subscribe to, each partition has at most one owner, and nobody contradicts another."""
    topics = draw(TOPICS)
    names = draw(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=6, unique=True))
    # A member without any subscription may get partitions like the rest: that has a test of its own.
    choice = st.lists(st.sampled_from(sorted(topics)), min_size=1, unique=True) if topics else st.just([])
    subscriptions = {name: tuple(draw(choice)) for name in names}
    owned: dict[str, list[Partition]] = {name: [] for name in names}
    for partition in (Partition(topic, number) for topic in topics for number in range(topics[topic])):
        entitled = [name for name in names if partition.topic in subscriptions[name]]
        owner = draw(st.sampled_from([None, *entitled]))
        if owner is not None:
            owned[owner].append(partition)
    members = (Member(name, topics=subscriptions[name], owned=tuple(owned[name])) for name in names)
    return Group(tuple(members), topics, draw(st.sampled_from(["range", "roundrobin", "sticky"])))


@given(settled_groups())
def test_each_partition_is_given_once_to_one_who_subscribes(group: Group) -> None:
    found = assign(group)
    assert list(found) == [member.id for member in group.members]
    every = Counter(partition for has in found.values() for partition in has)
    assert every == Counter(
        Partition(topic, number) for topic, count in group.subscribed().items() for number in range(count)
    )
    for each in group.members:
        assert {partition.topic for partition in found[each.id]} <= set(each.topics)


@given(settled_groups())
def test_sticky_ends_balanced(group: Group) -> None:
    """Nobody could take a partition of one who has two more."""
    found = assign(Group(group.members, group.topics, "sticky"))
    for each in group.members:
        for other, has in found.items():
            if len(has) > len(found[each.id]) + 1:
                assert not {partition.topic for partition in has} & set(each.topics), other


def test_java_never_ends_for_some_groups_of_several_generations() -> None:
    with pytest.raises(AssignorHangs):
        assign(hanging_group())


def test_who_subscribes_to_nothing_may_get_partitions_all_the_same() -> None:
    """Kafka's own slip, kept: it compares subscriptions with the first that is not empty, in the order of a HashMap."""
    assert gives("sticky", {"t": 2}, member("a", ""), member("b")) == {"a": "t0", "b": "t1"}
    assert gives("sticky", {"t": 2}, member("b", ""), member("a")) == {"b": "", "a": "t0 t1"}
