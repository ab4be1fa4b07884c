"""What is copied between the clusters of a pair, and what keeps clients off a standby Topic."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.kafka.values import Acl
from hadash.mirroring.acls import (
    EVERYBODY,
    applies_to,
    by_host,
    denied_beyond,
    missing,
    write_denial,
    write_denials,
    writers,
)

EXEMPT = frozenset({"hadash", "mirror"})
USERS = frozenset({"shop", "crm", "hadash", "mirror"})


def allow(
    principal: str,
    operation: str,
    resource: str,
    pattern: str = "LITERAL",
    kind: str = "TOPIC",
    host: str = "*",
) -> Acl:
    return Acl(kind, resource, pattern, f"User:{principal}", host, operation, "ALLOW")


def denial(principal: str, topic: str) -> Acl:
    """The rule that hadash makes."""
    return Acl("TOPIC", topic, "LITERAL", f"User:{principal}", "*", "WRITE", "DENY")


WRITE_ORDERS = allow("shop", "WRITE", "orders")
READ_ORDERS = allow("shop", "READ", "orders")
READ_BILLING = allow("shop", "READ", "billing", kind="GROUP")


# -- copying -------------------------------------------------------------------------------------------------------


def test_what_an_appid_lacks_on_the_target() -> None:
    source = {WRITE_ORDERS, READ_ORDERS, READ_BILLING}
    assert missing(source, {READ_ORDERS}, ["shop"], set()) == {WRITE_ORDERS, READ_BILLING}
    assert missing(source, source, ["shop"], set()) == set()


def test_rules_of_others_are_not_copied() -> None:
    source = {WRITE_ORDERS, allow("crm", "READ", "people"), allow("shopping", "READ", "orders")}
    assert missing(source, set(), ["shop"], set()) == {WRITE_ORDERS}


def test_rules_of_several_appids() -> None:
    crm = allow("crm", "READ", "people")
    assert missing({WRITE_ORDERS, crm}, set(), ["shop", "crm"], set()) == {WRITE_ORDERS, crm}


def test_a_rule_that_differs_in_anything_is_another_rule() -> None:
    for change in (
        {"host": "10.0.0.1"},
        {"pattern": "PREFIXED"},
        {"operation": "DESCRIBE"},
        {"resource": "order"},
        {"permission": "DENY"},
    ):
        assert missing({WRITE_ORDERS}, {replace(WRITE_ORDERS, **change)}, ["shop"], set()) == {WRITE_ORDERS}


def test_what_only_the_target_has_is_left_alone() -> None:
    assert missing(set(), {WRITE_ORDERS}, ["shop"], set()) == set()


def test_the_denials_of_a_standby_are_never_copied() -> None:
    """After a switch they stand on the old source: copied on the way back they would lock everybody out."""
    own = {denial("shop", "orders")}
    assert missing({WRITE_ORDERS} | own, set(), ["shop"], own) == {WRITE_ORDERS}


@pytest.mark.parametrize(
    "by_hand",
    [
        allow("shop", "READ", "orders"),
        replace(denial("shop", "orders"), operation="READ"),
        replace(denial("shop", "orders"), resource_type="GROUP"),
        replace(denial("shop", "orders"), host="10.0.0.1"),
        replace(denial("shop", "secret."), pattern="PREFIXED"),
        denial("shop", "orders"),  # it looks like one of hadash's own, and is not
    ],
)
def test_a_denial_that_somebody_made_is_copied(by_hand: Acl) -> None:
    assert missing({by_hand}, set(), ["shop"], set()) == {by_hand}


def test_what_everybody_may_do_is_copied_too() -> None:
    everybody = allow("*", "WRITE", "orders")
    assert missing({everybody}, set(), ["shop"], set()) == {everybody}


# -- denied on the target only -------------------------------------------------------------------------------------


def test_a_denial_that_only_the_target_has_is_found() -> None:
    by_hand = {denial("shop", "orders"), replace(READ_BILLING, permission="DENY")}
    found = denied_beyond(set(), by_hand, ["shop"], ["orders"], ["billing"], set())
    assert found == by_hand


@pytest.mark.parametrize(
    ("source", "own"),
    [({denial("shop", "orders")}, set()), (set(), {denial("shop", "orders")})],
    ids=["on both sides", "hadash's own"],
)
def test_a_denial_that_is_no_surprise_is_not(source: set[Acl], own: set[Acl]) -> None:
    assert denied_beyond(source, {denial("shop", "orders")}, ["shop"], ["orders"], [], own) == set()


def test_denials_of_other_topics_and_appids_do_not_matter() -> None:
    target = {denial("shop", "carts"), denial("crm", "orders"), WRITE_ORDERS}
    assert denied_beyond(set(), target, ["shop"], ["orders"], ["billing"], set()) == set()


# -- which rules cover a Topic -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "pattern", "topic", "covers"),
    [
        ("orders", "LITERAL", "orders", True),
        ("orders", "LITERAL", "orders.eu", False),
        ("orders", "PREFIXED", "orders", True),
        ("orders", "PREFIXED", "orders.eu", True),
        ("orders", "PREFIXED", "order", False),
        ("*", "LITERAL", "orders", True),
        ("*", "PREFIXED", "orders", False),  # a prefix of one star, which no Topic's name has
    ],
)
def test_patterns(resource: str, pattern: str, topic: str, covers: bool) -> None:
    assert applies_to(allow("shop", "WRITE", resource, pattern), topic) is covers


def test_a_rule_for_a_group_covers_no_topic() -> None:
    assert not applies_to(allow("shop", "READ", "orders", kind="GROUP"), "orders")
    assert not applies_to(allow("shop", "ALL", "*", kind="CLUSTER"), "orders")


# -- denying -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule",
    [
        allow("shop", "WRITE", "orders"),
        allow("shop", "ALL", "orders"),
        allow("shop", "WRITE", "ord", "PREFIXED"),
        allow("shop", "WRITE", "*"),
        allow("shop", "WRITE", "orders", host="10.0.0.1"),
    ],
)
def test_whoever_may_write_is_denied_by_the_exact_name(rule: Acl) -> None:
    assert write_denials({rule}, ["orders"], USERS, EXEMPT) == {denial("shop", "orders")}


@pytest.mark.parametrize(
    "rule",
    [
        allow("shop", "READ", "orders"),
        allow("shop", "WRITE", "carts"),
        allow("shop", "WRITE", "orders.eu", "PREFIXED"),
        allow("shop", "ALL", "orders", kind="GROUP"),
        replace(allow("shop", "WRITE", "orders"), permission="DENY"),
        allow("mirror", "ALL", "*"),
        allow("hadash", "WRITE", "orders"),
    ],
)
def test_nobody_else_is(rule: Acl) -> None:
    assert write_denials({rule}, ["orders"], USERS, EXEMPT) == set()


def test_every_topic_and_every_writer() -> None:
    rules = {allow("shop", "WRITE", "*"), allow("crm", "WRITE", "carts"), allow("mirror", "ALL", "*")}
    assert write_denials(iter(rules), iter(["orders", "carts"]), USERS, EXEMPT) == {
        denial("shop", "orders"),
        denial("shop", "carts"),
        denial("crm", "carts"),
    }


def test_writers() -> None:
    rules = [allow("shop", "WRITE", "*"), allow("crm", "READ", "orders"), allow("mirror", "WRITE", "orders")]
    assert writers(rules, "orders", USERS, EXEMPT) == {"User:shop"}


principals = st.sampled_from(["shop", "crm", "mirror", "hadash", "*"])
rules = st.builds(
    allow,
    principals,
    st.sampled_from(["READ", "WRITE", "ALL", "DESCRIBE"]),
    st.sampled_from(["orders", "ord", "carts", "*"]),
    st.sampled_from(["LITERAL", "PREFIXED"]),
    st.sampled_from(["TOPIC", "GROUP"]),
)


@given(st.sets(rules), st.sets(st.sampled_from(["orders", "carts"])))
def test_after_the_denials_only_the_exempt_may_write(acls: set[Acl], topics: set[str]) -> None:
    denials = write_denials(acls, topics, USERS, EXEMPT)
    assert denials == {write_denial(rule.resource, rule.principal) for rule in denials}
    for topic in topics:
        denied = {rule.principal for rule in denials if applies_to(rule, topic)}
        left = writers(acls, topic, USERS, frozenset()) - denied
        assert left <= {f"User:{name}" for name in EXEMPT}
        assert not denied & {EVERYBODY, *(f"User:{name}" for name in EXEMPT)}


def test_a_rule_for_everybody_does_not_lock_the_mirror_out() -> None:
    """Kafka knows no "everybody but": a denial for User:* would be one for the mirror. So each user is named."""
    rules = {allow("*", "WRITE", "orders")}
    assert write_denials(rules, ["orders"], USERS, EXEMPT) == {
        denial("shop", "orders"),
        denial("crm", "orders"),
    }


class TestByHost:
    """A broker sees the address of the Gateway, not of the client."""

    HERE = allow("shop", "WRITE", "orders", host="10.0.0.1")

    @staticmethod
    def found(*rules: Acl) -> set[Acl]:
        return by_host(rules, ["shop"], ["orders"], ["billing"])

    def test_what_only_one_host_may_depends_on_it(self) -> None:
        assert self.found(self.HERE) == {self.HERE}

    @pytest.mark.parametrize(
        "everywhere",
        [
            allow("shop", "WRITE", "orders"),
            allow("shop", "ALL", "orders"),
            allow("shop", "WRITE", "ord", "PREFIXED"),
            allow("shop", "WRITE", "*"),
            allow("*", "WRITE", "orders"),
        ],
    )
    def test_what_every_host_may_as_well_does_not(self, everywhere: Acl) -> None:
        assert self.found(self.HERE, everywhere) == set()

    @pytest.mark.parametrize(
        "everywhere",
        [
            allow("shop", "READ", "orders"),
            allow("shop", "WRITE", "carts"),
            allow("crm", "WRITE", "orders"),
            allow("shop", "ALL", "orders", kind="GROUP"),
            replace(allow("shop", "WRITE", "orders"), permission="DENY"),
        ],
    )
    def test_another_rule_for_every_host_does_not_help(self, everywhere: Acl) -> None:
        assert self.found(self.HERE, everywhere) == {self.HERE}

    def test_a_denial_for_a_host_always_does(self) -> None:
        denial = replace(self.HERE, permission="DENY")
        assert self.found(denial, allow("shop", "ALL", "orders")) == {denial}

    def test_a_wide_rule_for_a_host_counts_for_what_moves(self) -> None:
        """What covers a Topic that does not move is not asked about."""
        wide = allow("shop", "WRITE", "*", host="10.0.0.1")
        assert self.found(wide, allow("shop", "WRITE", "orders")) == set()
        assert self.found(wide, allow("shop", "WRITE", "carts")) == {wide}

    def test_rules_of_others_and_for_other_things_are_not_asked_about(self) -> None:
        assert self.found(allow("crm", "WRITE", "orders", host="10.0.0.1")) == set()
        assert self.found(allow("shop", "WRITE", "carts", host="10.0.0.1")) == set()

    def test_groups_and_idempotent_writing_count(self) -> None:
        group = allow("shop", "READ", "billing", kind="GROUP", host="10.0.0.1")
        idempotent = allow("shop", "IDEMPOTENT_WRITE", "kafka-cluster", kind="CLUSTER", host="10.0.0.1")
        assert self.found(group, idempotent) == {group, idempotent}
