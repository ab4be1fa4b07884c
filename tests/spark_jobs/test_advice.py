"""What to register first: the numbers are those of the plan, and a cut that was planted is found."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from hadash.switching.closure import AccessGraph
from hadash.switching.things import GROUP, TOPIC, Use
from spark.transform.advice import Advice, advise

USES = st.sets(
    st.builds(
        Use,
        st.integers(0, 4).map("app-{}".format),
        st.sampled_from(("", "a", "b", "c")),
        st.sampled_from(("produce", "group")),
        st.integers(0, 6).map("thing-{}".format),
    ),
    max_size=20,
)
REGISTERED = st.dictionaries(
    st.integers(0, 4).map("app-{}".format), st.sets(st.sampled_from(("a", "b"))), max_size=3
)


def use(appid: str, client_id: str, name: str) -> Use:
    return Use(appid, client_id, "produce", name)


def largest(uses: set[Use], registered: dict[str, set[str]]) -> int:
    """How many Topics and groups move together at most, as a plan finds it."""
    graph = AccessGraph(uses, {}, registered, widen=True)
    resources = [thing for thing in graph.things if thing.kind in (TOPIC, GROUP)]
    return max(len(graph.close([thing]).things(TOPIC, GROUP)) for thing in resources)


def island_of(appid: str, uses: set[Use]) -> set[Use]:
    """Whatever hangs together with an AppID in any way."""
    found = {appid}
    while True:
        resources = {(u.kind, u.resource) for u in uses if u.appid in found}
        more = {u.appid for u in uses if (u.kind, u.resource) in resources}
        if more == found:
            return {u for u in uses if u.appid in found}
        found = more


@given(USES, REGISTERED)
def test_each_step_is_what_the_plan_finds_when_it_is_done(
    uses: set[Use], registered: dict[str, set[str]]
) -> None:
    now = {appid: set(names) for appid, names in registered.items()}
    for step in advise(uses, registered, most=9, least_radius=1):
        here = island_of(step.appid, uses)
        assert step.before == largest(here, now)
        now.setdefault(step.appid, set()).update(step.clients)
        assert step.after == largest(here, now) <= step.before


def planted(teams: int, links: int, seed: int) -> tuple[set[Use], set[str]]:
    """Teams that keep to themselves, each with Topics that several of its AppIDs share; and AppIDs that somebody gave to clients of
    all teams."""
    made = random.Random(seed)
    uses = {
        use(f"team-{team}.app-{number}", f"client-{client}", f"team-{team}.topic-{topic}")
        for team in range(teams)
        for number in range(12)
        for client in range(3)
        for topic in {number % 8, made.randrange(8), made.randrange(8)}
    }
    cut = {f"shared-{link}" for link in range(links)}
    uses |= {
        use(link, f"client-of-{team}", f"team-{team}.topic-{made.randrange(8)}")
        for link in sorted(cut)
        for team in range(teams)
    }
    return uses, cut


@settings(max_examples=20)
@given(st.integers(2, 6), st.integers(1, 3), st.integers(0, 1000))
def test_a_planted_cut_is_found_before_anything_else(teams: int, links: int, seed: int) -> None:
    uses, cut = planted(teams, links, seed)
    advice = advise(uses, {}, most=links, least_radius=1)
    assert {step.appid for step in advice} == cut
    assert advice[0].before == largest(uses, {}) == teams * 8
    assert advice[-1].after == 8, "the Topics of one team"


def test_clients_that_are_to_be_registered_are_named() -> None:
    uses = {use("shared", "a", "x"), use("shared", "b", "y"), use("other", "a", "y"), use("third", "a", "x")}
    assert advise(uses, {}, most=5, least_radius=1) == [Advice("shared", 2, 1, ("a", "b"))]


def test_where_a_client_has_no_name_registering_the_others_changes_nothing() -> None:
    uses = {use("shared", "a", "x"), use("shared", "b", "y"), use("shared", "", "z")}
    assert advise(uses, {}, most=5, least_radius=1) == []


def test_whose_client_ids_do_not_last_is_not_advised() -> None:
    uses = {use("shared", "a", "x"), use("shared", "b", "y")}
    assert len(advise(uses, {}, most=5, least_radius=1)) == 1
    assert advise(uses, {}, most=5, least_radius=1, cannot={"shared"}) == []


def test_small_radii_need_no_advice() -> None:
    uses = {use("shared", "a", "x"), use("shared", "b", "y")}
    assert advise(uses, {}, most=5, least_radius=3) == []


def test_a_topic_and_a_group_of_one_name_are_two() -> None:
    uses = {use("shared", "a", "x"), Use("shared", "b", "group", "x")}
    (step,) = advise(uses, {}, most=5, least_radius=1)
    assert (step.before, step.after) == (2, 1)


def test_it_does_not_depend_on_the_order() -> None:
    uses, _ = planted(4, 2, 1)
    mixed = list(uses)
    random.Random(2).shuffle(mixed)
    assert advise(mixed, {}, 20, 1) == advise(sorted(uses), {}, 20, 1)
