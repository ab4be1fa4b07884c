"""What moves together: closed, minimal, the same in whatever order it was observed, and every member explained."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from hadash.bindings.model import Binding, BindingDocument
from hadash.identity.identity import Identity
from hadash.radius.closure import AccessGraph, Closure, Dimension, identities_of
from hadash.radius.nodes import AccessEdge, Node, group, node_of, topic

SHOP, CRM = node_of(Identity("shop")), node_of(Identity("crm"))


def instance(appid: str, name: str) -> Node:
    return node_of(Identity(appid, name))


def closure(
    uses: Iterable[AccessEdge],
    *asked: Node,
    instances: Mapping[str, Iterable[str]] | None = None,
    documents: Mapping[str, BindingDocument] | None = None,
    dimension: Dimension = Dimension.INSTANCE,
    widen: bool = False,
    there: Iterable[Node] = (),
) -> Closure:
    graph = AccessGraph(uses, documents or {}, instances or {}, dimension, widen=widen)
    return graph.close(asked, set(there).__contains__)


SHARED = [
    AccessEdge("shop", "web", "produce", "orders"),
    AccessEdge("crm", "sync", "consume", "orders"),
    AccessEdge("crm", "sync", "group", "crm-sync"),
    AccessEdge("crm", "sync", "produce", "people"),
    AccessEdge("hr", "desk", "consume", "holidays"),
]


class TestByAppID:
    def test_a_topic_takes_all_its_users_along_and_all_that_they_use(self) -> None:
        found = closure(SHARED, topic("orders"))
        assert set(found.members) == {topic("orders"), SHOP, CRM, group("crm-sync"), topic("people")}

    def test_every_member_has_a_chain_of_reasons(self) -> None:
        found = closure(SHARED, SHOP)
        assert found.chain(topic("people")) == [SHOP, topic("orders"), CRM, topic("people")]

    def test_a_group_takes_its_members_along(self) -> None:
        uses = [AccessEdge("shop", "a", "group", "readers"), AccessEdge("crm", "b", "group", "readers")]
        assert set(closure(uses, SHOP).members) == {SHOP, CRM, group("readers")}

    def test_a_group_and_a_topic_of_one_name_are_two_things(self) -> None:
        uses = [AccessEdge("shop", "a", "produce", "orders"), AccessEdge("crm", "b", "group", "orders")]
        assert set(closure(uses, SHOP).members) == {SHOP, topic("orders")}

    def test_who_was_never_seen_moves_with_what_it_may_use(self) -> None:
        uses = [AccessEdge("shop", "web", "produce", "orders"), AccessEdge("crm", "", "acl", "orders")]
        assert CRM in closure(uses, topic("orders")).members

    def test_what_is_declared_counts_as_what_is_seen(self) -> None:
        uses = [
            AccessEdge("shop", "web", "produce", "orders"),
            AccessEdge("crm", "", "consume", "orders", declared=True),
            AccessEdge("crm", "", "group", "crm-sync", declared=True),
            AccessEdge("hr", "", "group", "crm-sync"),
        ]
        found = closure(uses, topic("orders"))
        assert set(found.members) == {topic("orders"), SHOP, CRM, group("crm-sync"), node_of(Identity("hr"))}


class TestByInstanceID:
    #: shop's clients are registered: one writes orders, the other carts.
    INSTANCES = {"shop": ("web", "cart")}
    USES = [
        AccessEdge("shop", "web", "produce", "orders"),
        AccessEdge("shop", "cart", "produce", "carts"),
        AccessEdge("crm", "sync", "consume", "orders"),
    ]

    def test_a_topic_takes_along_those_who_use_it_and_leaves_the_rest_of_their_appid(self) -> None:
        found = closure(self.USES, topic("orders"), instances=self.INSTANCES)
        assert set(found.members) == {topic("orders"), instance("shop", "web"), CRM}
        assert found.uncovered == ()

    def test_a_whole_appid_takes_all_its_instances_along(self) -> None:
        found = closure(self.USES, SHOP, instances=self.INSTANCES)
        assert {instance("shop", "web"), instance("shop", "cart"), topic("carts")} <= set(found.members)

    def test_in_the_other_dimension_only_whole_appids_move(self) -> None:
        found = closure(self.USES, topic("orders"), instances=self.INSTANCES, dimension=Dimension.APPID)
        assert set(found.members) == {topic("orders"), topic("carts"), SHOP, CRM}

    def test_a_client_without_an_instance_id_is_named(self) -> None:
        stray = AccessEdge("shop", "stray", "consume", "orders")
        found = closure([*self.USES, stray], topic("orders"), instances=self.INSTANCES)
        assert found.uncovered == (stray,)
        assert SHOP not in found.members

    def test_or_takes_its_whole_appid_along(self) -> None:
        stray = AccessEdge("shop", "stray", "consume", "orders")
        found = closure([*self.USES, stray], topic("orders"), instances=self.INSTANCES, widen=True)
        assert found.uncovered == ()
        assert {SHOP, instance("shop", "cart"), topic("carts")} <= set(found.members)

    def test_declared_for_an_instance_id_only_that_one_moves(self) -> None:
        uses = [*self.USES[1:], AccessEdge("shop", "web", "produce", "orders", declared=True)]
        found = closure(uses, topic("orders"), instances=self.INSTANCES)
        assert set(found.members) == {topic("orders"), instance("shop", "web"), CRM}

    def test_and_others_of_its_appid_are_uncovered_on_that_topic(self) -> None:
        """The declaration says which InstanceIDs use the Topic; a client without one is none of them."""
        stray = AccessEdge("shop", "stray", "consume", "orders")
        uses = [stray, AccessEdge("shop", "web", "produce", "orders", declared=True)]
        assert closure(uses, topic("orders"), instances=self.INSTANCES).uncovered == (stray,)

    def test_nobody_is_uncovered_when_the_whole_appid_moves_anyway(self) -> None:
        stray = AccessEdge("shop", "stray", "consume", "orders")
        assert closure([*self.USES, stray], SHOP, instances=self.INSTANCES).uncovered == ()

    def test_a_binding_makes_an_instance_id_too(self) -> None:
        documents = {"shop": BindingDocument("shop", instances={"web": Binding("east")})}
        found = closure(self.USES, topic("orders"), documents=documents)
        assert set(found.members) == {topic("orders"), instance("shop", "web"), CRM}


class TestBoundByItself:
    def test_a_topic_with_a_binding_of_its_own_moves_alone(self) -> None:
        uses = [AccessEdge("shop", "web", "produce", "orders"), AccessEdge("shop", "web", "produce", "carts")]
        documents = {"shop": BindingDocument("shop", topics={"orders": Binding("east")})}
        bound = node_of(Identity("shop", topics=("orders",)))
        assert set(closure(uses, topic("orders"), documents=documents).members) == {topic("orders"), bound}
        assert set(closure(uses, SHOP, documents=documents).members) == {SHOP, topic("carts")}

    def test_a_list_moves_as_one(self) -> None:
        uses = [AccessEdge("shop", "web", "produce", name) for name in ("orders", "returns", "carts")]
        documents = {"shop": BindingDocument("shop", topic_lists={("orders", "returns"): Binding("east")})}
        found = closure(uses, topic("orders"), documents=documents)
        bound = node_of(Identity("shop", topics=("orders", "returns")))
        assert set(found.members) == {topic("orders"), topic("returns"), bound}

    def test_a_client_that_names_its_topic_is_governed_by_that_topics_binding(self) -> None:
        uses = [
            AccessEdge("shop", "HA#shop#orders", "produce", "orders"),
            AccessEdge("shop", "HA#shop#orders", "group", "readers"),
        ]
        documents = {"shop": BindingDocument("shop", topics={"orders": Binding("east")})}
        found = closure(uses, group("readers"), documents=documents)
        assert set(found.members) == {
            group("readers"),
            topic("orders"),
            node_of(Identity("shop", topics=("orders",))),
        }

    def test_a_groups_binding_goes_with_the_group(self) -> None:
        uses = [AccessEdge("shop", "a", "group", "readers"), AccessEdge("shop", "a", "consume", "orders")]
        documents = {"shop": BindingDocument("shop", groups={"readers": Binding("east")})}
        bound = node_of(Identity("shop", group="readers"))
        assert bound in closure(uses, topic("orders"), documents=documents).members


class TestThereAlready:
    def test_who_is_there_pulls_nothing_in(self) -> None:
        found = closure(SHARED, SHOP, there=[CRM], documents={"crm": BindingDocument("crm", Binding("west"))})
        assert found.already == {CRM}
        assert topic("people") not in found.members

    def test_it_gets_no_new_binding(self) -> None:
        documents = {"crm": BindingDocument("crm", Binding("west"))}
        found = closure(SHARED, SHOP, there=[CRM], documents=documents)
        assert list(identities_of(found, documents, {CRM}.__contains__)) == [Identity("shop")]

    def test_who_has_no_binding_may_be_there_too(self) -> None:
        """On the way back to the pair's default cluster."""
        graph = AccessGraph(SHARED, {"shop": BindingDocument("shop", Binding("west"))}, {})
        found = graph.close([SHOP], lambda node: False, there_by_default=True)
        assert set(found.members) == {SHOP, topic("orders"), CRM}
        assert found.already == {CRM}


def test_with_a_whole_appid_go_the_narrower_bindings_that_would_stay_behind() -> None:
    documents = {
        "shop": BindingDocument(
            "shop", instances={"web": Binding("east"), "gone": Binding("west"), "idle": Binding("east")}
        )
    }
    uses = [AccessEdge("shop", "web", "produce", "orders"), AccessEdge("shop", "other", "produce", "orders")]
    there = {instance("shop", "gone")}
    for dimension in Dimension:
        graph = AccessGraph(uses, documents, {"shop": ("registered",)}, dimension)
        found = graph.close([SHOP], there.__contains__)
        assert sorted(identities_of(found, documents, there.__contains__), key=str) == [
            Identity("shop"),
            Identity("shop", "idle"),
            Identity("shop", "web"),
        ]


class TestInstancesThatAreRegisteredOnly:
    USES = [AccessEdge("shop", "web", "produce", "orders"), AccessEdge("shop", "web", "produce", "carts")]

    def test_a_topic_with_a_binding_of_its_own_does_not_pull_them_in(self) -> None:
        documents = {"shop": BindingDocument("shop", topics={"orders": Binding("west")})}
        found = closure(self.USES, topic("orders"), instances={"shop": ("web",)}, documents=documents)
        assert set(found.members) == {topic("orders"), node_of(Identity("shop", topics=("orders",)))}

    def test_but_they_take_it_along(self) -> None:
        """The binding that they get comes before that of the Topic."""
        documents = {"shop": BindingDocument("shop", topics={"orders": Binding("east")})}
        found = closure(self.USES, instance("shop", "web"), instances={"shop": ("web",)}, documents=documents)
        assert {topic("orders"), topic("carts")} <= set(found.members)


class TestWhereOnlyWholeAppIDsMove:
    def test_an_instance_that_was_moved_by_itself_stays_where_it_is(self) -> None:
        uses = [
            AccessEdge("shop", "web", "produce", "orders"),
            AccessEdge("shop", "other", "produce", "carts"),
        ]
        documents = {"shop": BindingDocument("shop", instances={"web": Binding("west")})}
        graph = AccessGraph(uses, documents, {}, Dimension.APPID)
        found = graph.close([SHOP], {instance("shop", "web")}.__contains__)
        assert topic("orders") not in found.members

    def test_one_that_is_still_here_takes_its_appid_along(self) -> None:
        uses = [
            AccessEdge("shop", "web", "produce", "orders"),
            AccessEdge("shop", "other", "produce", "carts"),
        ]
        documents = {"shop": BindingDocument("shop", instances={"web": Binding("east")})}
        found = closure(uses, topic("orders"), documents=documents, dimension=Dimension.APPID)
        assert {SHOP, topic("carts")} <= set(found.members)


# -- properties ----------------------------------------------------------------------------------------------------

APPIDS, CLIENTS, NAMES = ["a", "b", "c", "d"], ["x", "y", "z", "HA#a#t1"], ["t1", "t2", "t3", "t4"]
uses = st.lists(
    st.builds(
        AccessEdge,
        st.sampled_from(APPIDS),
        st.sampled_from(CLIENTS),
        st.sampled_from(["produce", "consume", "group"]),
        st.sampled_from(NAMES),
        st.booleans(),
    ),
    max_size=14,
)
registered = st.dictionaries(st.sampled_from(APPIDS), st.sets(st.sampled_from(CLIENTS)), max_size=3)
bindings = st.just(Binding("east"))
documents = st.dictionaries(
    st.sampled_from(APPIDS),
    st.tuples(
        st.dictionaries(st.sampled_from(CLIENTS), bindings, max_size=1),
        st.dictionaries(st.sampled_from(NAMES[:2]), bindings, max_size=1),
        st.dictionaries(st.just(("t3", "t4")), bindings, max_size=1),
        st.dictionaries(st.sampled_from(NAMES), bindings, max_size=1),
    ),
    max_size=2,
).map(
    lambda found: {
        appid: BindingDocument(appid, None, instances, topics, lists, groups)
        for appid, (instances, topics, lists, groups) in found.items()
    }
)
nodes = st.one_of(
    st.sampled_from(NAMES).map(topic),
    st.sampled_from(NAMES).map(group),
    st.sampled_from(APPIDS).map(lambda name: node_of(Identity(name))),
)
worlds = st.tuples(uses, documents, registered, st.booleans(), st.sampled_from(Dimension))


def governing(
    use: AccessEdge,
    docs: Mapping[str, BindingDocument],
    known: Mapping[str, Iterable[str]],
    dimension: Dimension,
) -> Node:
    """Whose binding says where a use goes, written down once more as docs/background.md has it."""
    document = docs.get(use.appid, BindingDocument(use.appid))
    if use.client_id in document.instances:
        return instance(use.appid, use.client_id)
    names_t1 = use.client_id == f"HA#{use.appid}#t1" and "t1" in document.topics
    wanted = "t1" if names_t1 else None if use.kind == "group" else use.resource
    if wanted in document.topics:
        return node_of(Identity(use.appid, topics=(wanted,)))
    for names in document.topic_lists:
        if wanted in names:
            return node_of(Identity(use.appid, topics=names))
    if dimension is Dimension.INSTANCE and use.client_id in known.get(use.appid, ()):
        return instance(use.appid, use.client_id)
    return node_of(Identity(use.appid))


def resource_of(use: AccessEdge) -> Node:
    return group(use.resource) if use.kind == "group" else topic(use.resource)


@settings(max_examples=400)
@given(worlds, nodes)
def test_it_is_closed(world: tuple, asked: Node) -> None:
    """A client moves with all that it uses, and a resource with all its users, or they are named."""
    known, docs, instances, widen, dimension = world
    found = closure(known, asked, instances=instances, documents=docs, widen=widen, dimension=dimension)
    for use in known:
        user, resource = governing(use, docs, instances, dimension), resource_of(use)
        if user in found.members or instance(use.appid, use.client_id) in found.members:
            assert resource in found.members, use
        if resource in found.members:
            assert user in found.members or use in found.uncovered, use
    for member in found.members:
        if member.identity is not None and member.identity.topics:
            for name in member.identity.topics:
                if len(member.identity.topics) == 1 or name not in docs[member.appid].topics:
                    assert topic(name) in found.members
    if widen:
        assert found.uncovered == ()


@settings(max_examples=200)
@given(worlds, nodes)
def test_it_is_minimal(world: tuple, asked: Node) -> None:
    """Each member follows from one that is nearer: without what pulls it in it would not be there."""
    known, docs, instances, widen, dimension = world
    found = closure(known, asked, instances=instances, documents=docs, widen=widen, dimension=dimension)
    for member, because in found.members.items():
        if because is None:
            assert member == asked
            continue
        joined = any(
            {user, resource_of(use)} == {member, because}
            for use in known
            for user in (governing(use, docs, instances, dimension), instance(use.appid, use.client_id))
        )
        whole = node_of(Identity(because.appid)) if because.appid else None
        part = because.appid == member.appid and whole in (because, member)
        bound = any(
            one.identity is not None
            and (other.names[0] in one.identity.topics or other.names[0] == one.identity.group)
            for one, other in ((member, because), (because, member))
            if not other.appid
        )
        assert joined or part or bound, (member, because)


@given(worlds, nodes, st.randoms(use_true_random=False))
def test_it_does_not_depend_on_the_order_of_what_was_observed(
    world: tuple, asked: Node, chance: random.Random
) -> None:
    known, docs, instances, widen, dimension = world
    shuffled = [*known, *known[:3]]
    chance.shuffle(shuffled)
    one, other = (
        closure(some, asked, instances=instances, documents=docs, widen=widen, dimension=dimension)
        for some in (known, shuffled)
    )
    assert list(one.members.items()) == list(other.members.items())
    assert one.uncovered == other.uncovered


@given(worlds, nodes)
def test_every_member_is_explained(world: tuple, asked: Node) -> None:
    known, docs, instances, widen, dimension = world
    found = closure(known, asked, instances=instances, documents=docs, widen=widen, dimension=dimension)
    for member in found.members:
        chain = found.chain(member)
        assert (chain[0], chain[-1]) == (asked, member)
        assert len(set(chain)) == len(chain)


@given(worlds, nodes, nodes)
def test_more_that_is_asked_for_never_moves_less(world: tuple, one: Node, other: Node) -> None:
    known, docs, instances, _widen, dimension = world
    graph = AccessGraph(known, docs, instances, dimension, widen=True)
    together = set(graph.close([one, other]).members)
    assert together == set(graph.close([one]).members) | set(graph.close([other]).members)
