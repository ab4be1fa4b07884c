"""What Kafka's quotas allow a client, compared between two clusters."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.kafka.errors import KafkaError
from hadash.kafka.quotas import with_static_defaults
from hadash.kafka.values import DEFAULT, QuotaEntity, Quotas
from hadash.mirroring.quotas import (
    UNLIMITED,
    Mover,
    Quota,
    Shared,
    compared,
    in_effect,
    missing,
    narrower_addresses,
    of_movers,
    with_quotas,
)

WRITE, READ = "producer_byte_rate", "consumer_byte_rate"

#: As Kafka's documentation orders them ("Quota Configuration"), the most specific first, with who shares each.
ORDER = [
    (QuotaEntity(user="shop", client_id="web-1"), Shared.USER_CLIENT),
    (QuotaEntity(user="shop", client_id=DEFAULT), Shared.USER_CLIENT),
    (QuotaEntity(user="shop"), Shared.USER),
    (QuotaEntity(user=DEFAULT, client_id="web-1"), Shared.USER_CLIENT),
    (QuotaEntity(user=DEFAULT, client_id=DEFAULT), Shared.USER_CLIENT),
    (QuotaEntity(user=DEFAULT), Shared.USER),
    (QuotaEntity(client_id="web-1"), Shared.CLIENT),
    (QuotaEntity(client_id=DEFAULT), Shared.CLIENT),
]

SHOP = Mover("shop", frozenset(), others=True)
WEB_1 = Mover("shop", frozenset({"web-1"}), others=False)


def quotas(*given: tuple[QuotaEntity, float], key: str = WRITE) -> dict[QuotaEntity, dict[str, float]]:
    return {entity: {key: value} for entity, value in given}


def user(value: float, name: str = "shop") -> tuple[QuotaEntity, float]:
    return QuotaEntity(user=name), value


@pytest.mark.parametrize("place", range(len(ORDER)))
def test_the_most_specific_one_is_in_effect(place: int) -> None:
    """Whatever the less specific ones say, and whether they say more or less."""
    entity, shared = ORDER[place]
    less_specific = {e: {WRITE: float(rate)} for rate, (e, _) in enumerate(ORDER[place + 1 :], 100)}
    known = {**less_specific, entity: {WRITE: 7.0}}
    assert in_effect(known, "shop", "web-1", WRITE) == Quota(7.0, shared)


def test_each_key_is_looked_for_by_itself() -> None:
    known: Quotas = {QuotaEntity(user="shop"): {READ: 5.0}, QuotaEntity(user=DEFAULT): {WRITE: 9.0}}
    assert in_effect(known, "shop", "web-1", WRITE) == Quota(9.0, Shared.USER)
    assert in_effect(known, "shop", "web-1", READ) == Quota(5.0, Shared.USER)


@pytest.mark.parametrize(
    "entity",
    [
        QuotaEntity(user="crm"),
        QuotaEntity(user="shop", client_id="web-2"),
        QuotaEntity(client_id="web-2"),
        QuotaEntity(user=DEFAULT, client_id="web-2"),
        QuotaEntity(ip=DEFAULT),
    ],
)
def test_nothing_of_others_is(entity: QuotaEntity) -> None:
    assert in_effect(quotas((entity, 1.0)), "shop", "web-1", WRITE) == UNLIMITED


class TestAtLeast:
    """Whether nobody can be worse off than before."""

    @pytest.mark.parametrize(
        ("had", "has", "enough"),
        [
            (Quota(5), Quota(5), True),
            (Quota(5), Quota(6), True),
            (Quota(5), Quota(4), False),
            (Quota(5), UNLIMITED, True),
            (UNLIMITED, Quota(1e12), False),
            # All clients of a user share what each of them had.
            (Quota(5, Shared.USER_CLIENT), Quota(5, Shared.USER), False),
            (Quota(5, Shared.USER_CLIENT), Quota(500, Shared.USER), False),
            (Quota(5, Shared.USER), Quota(5, Shared.USER_CLIENT), True),
            # Others use the same client.id.
            (Quota(5, Shared.USER_CLIENT), Quota(5, Shared.CLIENT), False),
            (Quota(5, Shared.USER), Quota(5, Shared.CLIENT), False),
            (Quota(5, Shared.CLIENT), Quota(5, Shared.USER), False),
        ],
    )
    def test_cases(self, had: Quota, has: Quota, enough: bool) -> None:
        assert has.at_least(had) is enough

    @given(st.builds(Quota, st.floats(0, 1e9), st.sampled_from(Shared)))
    def test_the_same_is_enough_and_no_limit_is(self, quota: Quota) -> None:
        assert quota.at_least(quota)
        assert replace(quota, value=math.inf).at_least(quota)


class TestMissing:
    """What is copied: the AppID's own, by name."""

    def test_of_an_appid_all_that_names_it(self) -> None:
        own = quotas(
            user(5.0),
            (QuotaEntity(user="shop", client_id="web-1"), 6.0),
            (QuotaEntity(user="shop", client_id=DEFAULT), 7.0),
        )
        others = quotas(
            user(1.0, "crm"),
            user(2.0, DEFAULT),
            (QuotaEntity(user=DEFAULT, client_id="web-1"), 3.0),
            (QuotaEntity(client_id="web-1"), 4.0),
            (QuotaEntity(ip="10.0.0.1"), 8.0),
        )
        assert missing({**own, **others}, {}, [SHOP]) == own

    def test_of_an_instance_not_what_is_for_others_of_its_appid(self) -> None:
        source = quotas(
            user(5.0),
            (QuotaEntity(user="shop", client_id="web-1"), 6.0),
            (QuotaEntity(user="shop", client_id="web-2"), 7.0),
        )
        assert QuotaEntity(user="shop", client_id="web-2") not in missing(source, {}, [WEB_1])
        assert len(missing(source, {}, [WEB_1])) == 2

    def test_what_is_there_is_never_overwritten(self) -> None:
        target: Quotas = {QuotaEntity(user="shop"): {WRITE: 1.0}}
        source: Quotas = {QuotaEntity(user="shop"): {WRITE: 50.0, READ: 60.0}}
        assert missing(source, target, [SHOP]) == {QuotaEntity(user="shop"): {READ: 60.0}}

    @given(
        st.dictionaries(
            st.sampled_from([entity for entity, _ in ORDER]),
            st.dictionaries(st.sampled_from([WRITE, READ]), st.floats(0, 9)),
        ),
        st.dictionaries(
            st.sampled_from([entity for entity, _ in ORDER]),
            st.dictionaries(st.sampled_from([WRITE, READ]), st.floats(0, 9)),
        ),
    )
    def test_copying_is_done_after_once_and_changes_nothing_that_was_there(
        self, source: Quotas, target: Quotas
    ) -> None:
        then = with_quotas(target, missing(source, target, [SHOP]))
        assert missing(source, then, [SHOP]) == {}
        assert all(then[e][key] == value for e, values in target.items() for key, value in values.items())


class TestCompared:
    def test_no_quotas_no_differences(self) -> None:
        assert compared({}, {}, [SHOP, WEB_1]) == []

    def test_what_is_written_differently_and_means_the_same_is_equal(self) -> None:
        ours, theirs = quotas(user(5.0)), quotas(user(5.0, DEFAULT))
        assert compared(ours, theirs, [SHOP]) == []

    def test_an_outage_50_mb_and_1_mb(self) -> None:
        (found,) = compared(quotas(user(52428800.0)), quotas(user(1048576.0)), [SHOP])
        assert found.is_less
        assert str(found) == "shop: producer_byte_rate 52428800 (user) → 1048576 (user)"

    def test_a_default_on_the_target_only(self) -> None:
        (found,) = compared({}, quotas((QuotaEntity(client_id=DEFAULT), 1048576.0)), [WEB_1])
        assert found.is_less
        assert str(found) == "shop › web-1: producer_byte_rate ∞ → 1048576 (client-id)"

    def test_more_is_told_apart_from_less(self) -> None:
        (found,) = compared(quotas(user(1.0)), quotas(user(2.0)), [SHOP])
        assert not found.is_less

    def test_a_client_is_named_where_it_is_not_like_the_others(self) -> None:
        source = quotas(user(5.0))
        target = quotas(user(5.0), (QuotaEntity(user="shop", client_id="batch"), 1.0))
        mover = Mover("shop", frozenset({"batch", "web-1"}), others=True)
        (found,) = compared(source, target, [mover])
        assert (found.who, found.is_less) == ("shop › batch", True)

    def test_what_all_have_alike_is_told_once(self) -> None:
        mover = Mover("shop", frozenset({"batch", "web-1"}), others=True)
        (found,) = compared({}, quotas(user(5.0)), [mover])
        assert found.who == "shop"

    def test_readers_do_not_meet_what_limits_writers(self) -> None:
        assert compared({}, quotas(user(1.0)), [SHOP], without=frozenset({WRITE})) == []

    def test_keys_that_a_later_kafka_has_are_compared_too(self) -> None:
        (found,) = compared({}, {QuotaEntity(user="shop"): {"fetch_session_rate": 2.0}}, [SHOP])
        assert found.key == "fetch_session_rate"


def test_what_limits_somebody_on_one_cluster() -> None:
    known: Quotas = {QuotaEntity(user="shop"): {WRITE: 5.0}, QuotaEntity(user="crm"): {WRITE: 6.0}}
    assert of_movers(known, [SHOP]) == ["shop: producer_byte_rate 5 (user)"]


class TestAddresses:
    @staticmethod
    def rates(**given: float) -> Quotas:
        names = {"everybody": DEFAULT, "gateway": "10.0.0.7"}
        return {
            QuotaEntity(ip=names[name]): {"connection_creation_rate": rate} for name, rate in given.items()
        }

    def test_a_default_is_for_those_without_one_of_their_own(self) -> None:
        found = narrower_addresses(self.rates(gateway=100.0), self.rates(everybody=20.0))
        assert found == {DEFAULT: (math.inf, 20.0), "10.0.0.7": (100.0, 20.0)}

    def test_more_on_the_target_is_fine(self) -> None:
        assert narrower_addresses(self.rates(everybody=20.0), self.rates(everybody=50.0)) == {}
        assert narrower_addresses(self.rates(gateway=20.0), {}) == {}


class TestPropertiesOfBrokers:
    """Before Kafka 3.0 a default may stand in the brokers' own files."""

    def test_it_is_the_default_of_a_client_id(self) -> None:
        configs = {1: {"quota.producer.default": "1000"}, 2: {"quota.producer.default": "2000"}}
        assert with_static_defaults({}, configs) == {QuotaEntity(client_id=DEFAULT): {WRITE: 1000.0}}

    def test_a_quota_stands_above_it(self) -> None:
        known: Quotas = {QuotaEntity(client_id=DEFAULT): {WRITE: 5.0}}
        found = with_static_defaults(known, {1: {"quota.producer.default": "1000"}})
        assert found == known

    def test_kafkas_own_is_no_limit(self) -> None:
        assert with_static_defaults({}, {1: {"quota.producer.default": "9223372036854775807"}}) == {}

    def test_brokers_that_decide_by_themselves_are_unknown(self) -> None:
        with pytest.raises(KafkaError, match=r"client\.quota\.callback\.class"):
            with_static_defaults({}, {1: {"client.quota.callback.class": "com.example.Own"}})
