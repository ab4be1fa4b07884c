"""What rights give, as Kafka's authorizer decides it, and what they give on one cluster only."""

from __future__ import annotations

import pytest

from hadash.kafka.values import Acl
from hadash.mirroring.acls import Existing
from hadash.mirroring.effective_rights import Rules, Side, beyond, may

MIRRORED = frozenset({"orders", "orders-eu", "stock"})


def rule(
    operation: str,
    resource: str = "orders",
    *,
    of: str = "TOPIC",
    pattern: str = "LITERAL",
    host: str = "*",
    who: str = "shop",
    permission: str = "ALLOW",
) -> Acl:
    return Acl(of, resource, pattern, f"User:{who}", host, operation, permission)


def deny(operation: str, resource: str = "orders", **how: str) -> Acl:
    return rule(operation, resource, permission="DENY", **how)


def side(*rules: Acl) -> Side:
    everybodys = [each for each in rules if each.principal == "User:*"]
    return Side(Rules(each for each in rules if each not in everybodys), Rules(everybodys))


def differences(
    first: list[Acl], second: list[Acl], used: tuple[tuple[str, str], ...] = ()
) -> tuple[list[str], list[str]]:
    here, there = beyond(side(*first), side(*second), used, Existing(MIRRORED))
    return sorted(map(str, here)), sorted(map(str, there))


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        ([rule("ALL")], {"READ", "WRITE", "DESCRIBE", "DELETE", "DESCRIBE_CONFIGS"}),
        ([rule("READ")], {"READ", "DESCRIBE"}),
        ([rule("WRITE")], {"WRITE", "DESCRIBE"}),
        ([rule("DELETE")], {"DELETE", "DESCRIBE"}),
        ([rule("ALTER")], {"DESCRIBE"}),
        ([rule("CREATE")], set()),
        ([rule("ALTER_CONFIGS")], {"DESCRIBE_CONFIGS"}),
        ([rule("ALL"), deny("READ")], {"WRITE", "DESCRIBE", "DELETE", "DESCRIBE_CONFIGS"}),
        ([rule("READ"), deny("DESCRIBE")], {"READ"}),
        ([rule("READ"), deny("ALL")], set()),
        ([rule("READ", host="10.0.0.2")], set()),
        ([rule("READ"), deny("READ", host="10.0.0.2")], {"READ", "DESCRIBE"}),
        ([], set()),
    ],
)
def test_what_the_rules_about_a_topic_allow(rules: list[Acl], allowed: set[str]) -> None:
    operations = ("READ", "WRITE", "DESCRIBE", "DELETE", "DESCRIBE_CONFIGS")
    assert {each for each in operations if may(rules, each, "10.0.0.1")} == allowed


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param([rule("ALL")], [rule("READ"), rule("WRITE")], id="ALL and what clients do of it"),
        pytest.param([rule("READ")], [rule("READ"), rule("DESCRIBE")], id="who may read may describe"),
        pytest.param(
            [rule("READ", "ord", pattern="PREFIXED")],
            [rule("READ", "orders"), rule("READ", "orders-eu")],
            id="a prefix and all that it covers",
        ),
        pytest.param([rule("READ", "*"), rule("READ")], [rule("READ", "*")], id="everything and one of it"),
        pytest.param([rule("READ")], [rule("READ"), rule("READ", host="10.0.0.1")], id="everywhere and one host"),
        pytest.param([rule("READ"), rule("READ", who="*")], [rule("READ", who="*")], id="everybody and one of them"),
        pytest.param([rule("READ"), deny("ALL")], [], id="what is denied is not allowed"),
        pytest.param([rule("READ", "crm")], [], id="a Topic that nobody mirrors"),
        pytest.param([rule("READ", "c", pattern="PREFIXED")], [], id="a prefix of no Topic that is mirrored"),
    ],
)  # fmt: skip
def test_rights_that_are_written_differently_and_give_the_same(first: list[Acl], second: list[Acl]) -> None:
    assert differences(first, second) == ([], [])
    assert differences(second, first) == ([], [])


@pytest.mark.parametrize(
    ("first", "second", "only_first"),
    [
        ([rule("ALL")], [rule("READ")], ["write topic orders"]),
        ([rule("READ")], [], ["read topic orders"]),
        ([rule("DESCRIBE")], [], ["describe topic orders"]),
        # An administrator's operation counts if somebody has named it, not because ALL is everything.
        ([rule("READ"), rule("DELETE")], [rule("READ")], ["delete topic orders"]),
        ([rule("READ", "*")], [rule("READ", "ord", pattern="PREFIXED")], ["read topic stock"]),
        ([rule("ALL")], [rule("ALL"), deny("WRITE")], ["write topic orders"]),
        ([rule("READ")], [rule("READ"), deny("READ", who="*")], ["read topic orders"]),
        ([rule("READ")], [rule("READ", host="10.0.0.1")], ["read topic orders"]),
        ([rule("READ", host="10.0.0.1")], [], ["read topic orders (10.0.0.1)"]),
        (
            [rule("READ"), deny("READ", host="10.0.0.9")],
            [rule("READ", host="10.0.0.9")],
            ["read topic orders"],
        ),
        # Of groups and transactional ids nobody knows all that there will be: a prefix is any name that begins so.
        (
            [rule("READ", "cart", of="GROUP", pattern="PREFIXED")],
            [rule("READ", "carts", of="GROUP", pattern="PREFIXED")],
            ["read group cart*"],
        ),
        ([rule("READ", "*", of="GROUP")], [rule("READ", "carts", of="GROUP")], ["read group *"]),
        ([rule("ALL", "pay", of="TRANSACTIONAL_ID")], [], ["write transactional_id pay"]),
    ],
)
def test_rights_that_are_on_one_cluster_only(
    first: list[Acl], second: list[Acl], only_first: list[str]
) -> None:
    assert differences(first, second)[0] == only_first
    assert differences(second, first)[1] == only_first


def test_what_everybody_may_do_counts_for_who_does_it() -> None:
    everybody = [rule("READ", who="*"), rule("READ", "stock", who="*")]
    assert differences(everybody, []) == ([], []), "the AppID has nothing to do with these"
    assert differences(everybody, [], used=(("TOPIC", "orders"),)) == (["read topic orders"], [])
    assert differences(everybody, [], used=(("TOPIC", "crm"),)) == ([], []), "nobody mirrors it"
