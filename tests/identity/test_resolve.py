"""Which binding governs a request: the first rule that matches wins (docs/background.md)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.bindings.model import Binding, BindingDocument
from hadash.identity.identity import Identity
from hadash.identity.resolve import reachable, resolve, resolve_topics

PAIR_DEFAULT = Binding("pair-default")

#: One binding a rule, each to a cluster of its own, so that the answer says which rule won.
INSTANCE = Identity("shop", "web-1")
TOPIC = Identity("shop", topics=("orders",))
LIST = Identity("shop", topics=("returns", "refunds"))
GROUP = Identity("shop", group="readers")
APPID = Identity("shop")
ALL = (INSTANCE, TOPIC, LIST, GROUP, APPID)


def document(*bound: Identity) -> BindingDocument:
    made = BindingDocument("shop")
    for identity in bound:
        made = made.with_binding(identity, Binding(identity.key))
    return made


def rule(
    *bound: Identity, client_id: str = "web-2", topic: str | None = None, group: str | None = None
) -> str:
    return resolve(document(*bound), client_id, PAIR_DEFAULT, topic=topic, group=group).cluster


class TestOrder:
    """With every rule's binding there, the first that matches wins."""

    def test_1_the_exact_instance(self) -> None:
        assert rule(*ALL, client_id="web-1", topic="orders") == INSTANCE.key
        assert rule(*ALL, client_id="web-1", group="readers") == INSTANCE.key

    def test_2_the_topic_that_the_client_id_names(self) -> None:
        assert rule(*ALL, client_id="HA#shop#orders") == TOPIC.key
        assert rule(*ALL, client_id="HA#shop#orders", topic="other") == TOPIC.key
        assert rule(*ALL, client_id="HA#shop#orders", group="readers") == TOPIC.key

    def test_2_of_another_appid_says_nothing(self) -> None:
        assert rule(*ALL, client_id="HA#other#orders") == APPID.key

    def test_2_whose_topic_is_not_bound_goes_on_to_the_next_rules(self) -> None:
        assert rule(*ALL, client_id="HA#shop#stock", group="readers") == GROUP.key
        assert rule(*ALL, client_id="HA#shop#stock", topic="orders") == TOPIC.key
        assert rule(*ALL, client_id="HA#shop#stock") == APPID.key

    def test_1_before_2(self) -> None:
        own = Identity("shop", "HA#shop#orders")
        assert rule(own, TOPIC, client_id="HA#shop#orders") == own.key

    def test_3_the_group(self) -> None:
        assert rule(*ALL, group="readers") == GROUP.key
        assert rule(*ALL, group="others") == APPID.key

    def test_4_the_topic_then_the_list_that_holds_it(self) -> None:
        assert rule(*ALL, topic="orders") == TOPIC.key
        assert rule(*ALL, topic="refunds") == LIST.key
        own = Identity("shop", topics=("refunds",))
        assert rule(own, LIST, topic="refunds") == own.key

    def test_5_the_appid_then_6_the_pair(self) -> None:
        assert rule(*ALL, topic="stock") == APPID.key
        assert rule(*ALL) == APPID.key
        assert rule(TOPIC, GROUP) == PAIR_DEFAULT.cluster
        assert resolve(None, "web-1", PAIR_DEFAULT, topic="orders") is PAIR_DEFAULT

    def test_a_client_without_client_id_is_governed_by_its_appid(self) -> None:
        assert rule(INSTANCE, APPID, client_id="") == APPID.key


@given(st.text())
def test_an_instance_is_matched_whole_and_by_case(client_id: str) -> None:
    expected = INSTANCE.key if client_id == "web-1" else APPID.key
    assert rule(INSTANCE, APPID, client_id=client_id) == expected
    for near in ("web-1 ", "WEB-1", "web-", "web-11"):
        assert rule(INSTANCE, APPID, client_id=near) == APPID.key


some_topics = st.lists(st.sampled_from(["orders", "returns", "refunds", "stock", "clicks"]), unique=True)
some_bound = st.lists(st.sampled_from(ALL), unique=True)
some_client = st.sampled_from(["web-1", "web-2", "", "HA#shop#orders", "HA#shop#stock", "HA#other#orders"])


@given(some_bound, some_client, some_topics, st.randoms())
def test_a_topics_binding_does_not_depend_on_its_company(
    bound: list[Identity], client_id: str, topics: list[str], random: object
) -> None:
    """Else a Topic would be written in one cluster by itself and in the other together with a second one."""
    together = resolve_topics(document(*bound), client_id, PAIR_DEFAULT, topics)
    assert together == {
        topic: resolve(document(*bound), client_id, PAIR_DEFAULT, topic=topic) for topic in topics
    }


@given(some_bound, some_client, some_topics, st.sampled_from(["readers", "others", None]))
def test_whatever_a_client_asks_its_cluster_is_a_reachable_one(
    bound: list[Identity], client_id: str, topics: list[str], group: str | None
) -> None:
    clusters = {b.cluster for b in reachable(document(*bound), client_id, PAIR_DEFAULT)}
    answered = [resolve(document(*bound), client_id, PAIR_DEFAULT, group=group)]
    answered += resolve_topics(document(*bound), client_id, PAIR_DEFAULT, topics).values()
    assert {b.cluster for b in answered} <= clusters


@given(some_bound, some_client, some_topics)
def test_topics_that_no_rule_names_go_by_appid(
    bound: list[Identity], client_id: str, topics: list[str]
) -> None:
    unnamed = [topic for topic in topics if topic in ("stock", "clicks")]
    by_client = resolve(document(*bound), client_id, PAIR_DEFAULT)
    assert set(resolve_topics(document(*bound), client_id, PAIR_DEFAULT, unnamed).values()) <= {by_client}


@pytest.mark.parametrize("client_id", ["web-1", "HA#shop#orders"])
def test_a_client_that_is_bound_by_itself_reaches_one_cluster(client_id: str) -> None:
    assert len(reachable(document(*ALL), client_id, PAIR_DEFAULT)) == 1
