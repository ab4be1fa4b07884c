"""What to register first: the numbers are those of the plan, and a cut that was planted is found."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from hypothesis import given, settings
from hypothesis import strategies as st

from hadash.bindings.model import Binding, BindingDocument
from hadash.radius.closure import AccessGraph
from hadash.radius.fleet import Fleet, is_on
from hadash.radius.nodes import GROUP, TOPIC, AccessEdge, Node, group, topic
from spark.transform.advice import Advice, advise

APPIDS = st.integers(0, 4).map("app-{}".format)
THINGS = st.integers(0, 6).map("node-{}".format)
BINDINGS = st.builds(Binding, st.sampled_from(("east", "west")))
DOCUMENTS = st.dictionaries(APPIDS, st.none(), max_size=2).flatmap(
    lambda names: st.fixed_dictionaries(
        {
            name: st.builds(
                BindingDocument,
                st.just(name),
                default=st.none() | BINDINGS,
                instances=st.dictionaries(st.sampled_from(("a", "b")), BINDINGS, max_size=1),
                topics=st.dictionaries(THINGS, BINDINGS, max_size=1),
            )
            for name in names
        }
    )
)
USES = st.sets(
    st.builds(
        AccessEdge,
        APPIDS,
        st.sampled_from(("", "a", "b", "c")),
        st.sampled_from(("produce", "group")),
        THINGS,
    ),
    max_size=20,
)
REGISTERED = st.dictionaries(APPIDS, st.sets(st.sampled_from(("a", "b"))), max_size=3)


def resource_of(use: AccessEdge) -> Node:
    return group(use.resource) if use.kind == GROUP else topic(use.resource)


def use(appid: str, client_id: str, name: str) -> AccessEdge:
    return AccessEdge(appid, client_id, "produce", name)


def fleet(
    uses: Iterable[AccessEdge],
    registered: Mapping[str, Collection[str]] = MappingProxyType({}),
    documents: Mapping[str, BindingDocument] = MappingProxyType({}),
) -> Fleet:
    instances = {appid: frozenset(names) for appid, names in registered.items()}
    return Fleet("main", ("east", "west"), "east", tuple(uses), documents, instances, ())


def largest(found: Fleet, of: Collection[Node] | None = None) -> int:
    """How many Topics and groups move together at most, as a plan finds it in either direction; with one of
    ``of`` if they are given.
    """
    graph = AccessGraph(found.uses, found.documents, found.instances, widen=True)
    resources = [node for node in graph.nodes if node.kind in (TOPIC, GROUP) and (of is None or node in of)]
    closures = (
        graph.close([node], partial(is_on, found, target), there_by_default=found.default == target)
        for node in resources
        for target in found.clusters
    )
    return max((len(closure.nodes(TOPIC, GROUP)) for closure in closures), default=0)


def with_registered(found: Fleet, step: Advice) -> Fleet:
    names = found.instances.get(step.appid, frozenset()) | set(step.clients)
    return replace(found, instances={**found.instances, step.appid: names})


def island_of(appid: str, found: Fleet) -> Fleet:
    """Whatever hangs together with an AppID in any way."""
    appids = {appid}
    while True:
        resources = {(u.kind == GROUP, u.resource) for u in found.uses if u.appid in appids}
        more = {u.appid for u in found.uses if (u.kind == GROUP, u.resource) in resources}
        if more == appids:
            break
        appids = more
    documents = {name: document for name, document in found.documents.items() if name in appids}
    instances = {name: names for name, names in found.instances.items() if name in appids}
    uses = tuple(use for use in found.uses if use.appid in appids)
    return replace(found, uses=uses, documents=documents, instances=instances)


@given(USES, REGISTERED, DOCUMENTS, st.sets(APPIDS, max_size=2))
def test_each_step_is_what_the_plan_finds_when_it_is_done(
    uses: set[AccessEdge],
    registered: dict[str, set[str]],
    documents: dict[str, BindingDocument],
    critical: set[str],
) -> None:
    """Also where some are bound by themselves, by a Topic or to the other cluster."""
    now = fleet(uses, registered, documents)
    for step in advise(now, most=9, least_radius=1, critical=critical):
        here = island_of(step.appid, now)
        matters = {resource_of(use) for use in here.uses if use.appid in critical}
        assert step.before == largest(here)
        assert step.critical_before == (largest(here, matters) if matters else None)
        now, here = with_registered(now, step), with_registered(here, step)
        assert step.after == largest(here)
        assert step.critical_after == (largest(here, matters) if matters else None)


def planted(teams: int, links: int, seed: int) -> tuple[set[AccessEdge], set[str]]:
    """Teams that keep to themselves, each with Topics that several of its AppIDs share; and AppIDs that
    somebody gave to clients of all teams.
    """
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
    advice = advise(fleet(uses), most=links, least_radius=1)
    assert {step.appid for step in advice} == cut
    assert advice[0].before == largest(fleet(uses)) == teams * 8
    assert advice[-1].after == 8, "the Topics of one team"


def test_clients_that_are_to_be_registered_are_named() -> None:
    uses = {use("shared", "a", "x"), use("shared", "b", "y"), use("other", "a", "y"), use("third", "a", "x")}
    assert advise(fleet(uses), most=5, least_radius=1) == [Advice("shared", 2, 1, ("a", "b"))]


def test_where_a_client_has_no_name_registering_the_others_changes_nothing() -> None:
    uses = {use("shared", "a", "x"), use("shared", "b", "y"), use("shared", "", "z")}
    assert advise(fleet(uses), most=5, least_radius=1) == []


def test_whose_client_ids_do_not_last_is_not_advised() -> None:
    uses = {use("shared", "a", "x"), use("shared", "b", "y")}
    assert len(advise(fleet(uses), most=5, least_radius=1)) == 1
    assert advise(fleet(uses), most=5, least_radius=1, cannot={"shared"}) == []


def test_small_radii_need_no_advice() -> None:
    uses = {use("shared", "a", "x"), use("shared", "b", "y")}
    assert advise(fleet(uses), most=5, least_radius=3) == []


def test_a_topic_and_a_group_of_one_name_are_two() -> None:
    uses = {use("shared", "a", "x"), AccessEdge("shared", "b", "group", "x")}
    (step,) = advise(fleet(uses), most=5, least_radius=1)
    assert (step.before, step.after) == (2, 1)


def test_it_does_not_depend_on_the_order() -> None:
    uses, _ = planted(4, 2, 1)
    mixed = list(uses)
    random.Random(2).shuffle(mixed)
    assert advise(fleet(mixed), 20, 1) == advise(fleet(sorted(uses)), 20, 1)


class TestCriticalAppIDs:
    """Two teams that one AppID ties together; a third stands apart, with more Topics, tied together by another."""

    def uses(self) -> set[AccessEdge]:
        teams = {"small": 4, "large": 8}
        found = {
            use(f"{team}.app-{number}", "client", f"{team}.{half}.topic-{topic}")
            for team, topics in teams.items()
            for half in ("left", "right")
            for number, topic in ((f"{half}-{n}", t) for n in range(topics - 1) for t in (n, n + 1))
        }
        for team in teams:
            found |= {use(f"{team}.shared", half, f"{team}.{half}.topic-0") for half in ("left", "right")}
        return found

    def test_without_any_the_largest_comes_first(self) -> None:
        advice = advise(fleet(self.uses()), most=5, least_radius=1)
        assert [(step.appid, step.before, step.after, step.island) for step in advice] == [
            ("large.shared", 16, 8, 1),
            ("small.shared", 8, 4, 2),
        ]
        assert {step.critical_before for step in advice} == {None}

    def test_what_shrinks_theirs_comes_before_what_is_larger(self) -> None:
        first, second = advise(
            fleet(self.uses()), most=5, least_radius=1, critical={"small.app-left-0", "nobody"}
        )
        assert (first.appid, first.critical_before, first.critical_after) == ("small.shared", 8, 4)
        assert (second.appid, second.critical_before, second.critical_after) == ("large.shared", None, None)

    def test_on_an_island_it_begins_with_what_takes_them_out_of_it(self) -> None:
        """Three parts in a row: of the two hubs between them, the one beside the critical part goes first."""
        found = {
            use(f"{part}.app-{n}", "client", f"{part}.topic-{t}")
            for part, topics in (("a", 12), ("b", 12), ("c", 3))
            for n in range(topics - 1)
            for t in (n, n + 1)
        }
        found |= {use("a-b", "one", "a.topic-0"), use("a-b", "other", "b.topic-0")}
        found |= {use("b-c", "one", "b.topic-1"), use("b-c", "other", "c.topic-0")}
        assert [(step.appid, step.island) for step in advise(fleet(found), 5, 1)] == [("a-b", 1), ("b-c", 1)]
        first, second = advise(fleet(found), 5, 1, critical={"c.app-0"})
        assert (first.appid, first.before, first.after) == ("b-c", 27, 24)
        assert (first.critical_before, first.critical_after) == (27, 3)
        assert (second.appid, second.before, second.after) == ("a-b", 24, 12)


def test_what_is_declared_and_bound_counts() -> None:
    """Somebody has declared a client that nobody has seen; and a Topic that is bound by itself moves without
    the AppID's other clients.
    """
    uses = {use("shared", "a", "x"), AccessEdge("shared", "b", "produce", "y", declared=True)}
    assert [step.clients for step in advise(fleet(uses), 5, 1)] == [("a", "b")]
    document = BindingDocument("shared", topics={"y": Binding("east")})
    assert advise(fleet(uses, documents={"shared": document}), 5, 1) == [], "nothing is tied together"


def test_who_was_never_seen_and_may_use_a_topic_moves_as_a_whole() -> None:
    uses = {
        use("shared", "a", "x"),
        use("shared", "b", "y"),
        AccessEdge("silent", "", "acl", "x"),
        AccessEdge("silent", "", "acl", "y"),
    }
    assert advise(fleet(uses), 5, 1) == [], "registering shared's would not part x from y"
