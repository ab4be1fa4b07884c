"""The precheck compares quotas."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from hadash.sentences import Sentence
from hadash.switching.machines.switches import Stage
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import QuotaCheck
from hadash.switching.stages.precheck import precheck_only

from ..walking import QUICK, run_stage
from ..world import World
from .common import (
    failure,
    writes,
)


class TestQuotas:
    """A client that had 50 MB/s and finds 1 MB/s cannot work."""

    LESS = QuotaCheck(less=("shop: producer_byte_rate 52428800 (user) → 1048576 (user)",))
    UNKNOWN = QuotaCheck(
        unknown=Sentence.from_json("Cluster west could not read the quotas of its clients: no right.")
    )
    NARROWED = QuotaCheck(
        missing=("user shop: producer_byte_rate 5",),
        narrowed=("shop › web-2: producer_byte_rate ∞ → 5 (user)",),
    )
    EVERYWHERE = QuotaCheck(everywhere="*: connection_creation_rate ∞ → 20")

    @pytest.mark.parametrize(
        ("found", "sentence"),
        [
            (
                LESS,
                "Quotas of west let clients do less than those of east: "
                "shop: producer_byte_rate 52428800 (user) → 1048576 (user). Set them there as they are on east "
                "(kafka-configs.sh --alter). HADASH_SWITCH_ACCEPT_QUOTAS accepts it.",
            ),
            (
                UNKNOWN,
                "It is not known which quotas clients have: Cluster west could not read the quotas of its clients: "
                "no right. Let hadash's account describe the configs of both clusters (DESCRIBE_CONFIGS on "
                "the cluster; "
                "Kafka 2.6 or newer). HADASH_SWITCH_ACCEPT_QUOTAS accepts not to know.",
            ),
            (
                NARROWED,
                "Clients of the same AppIDs are on west already, and could do less when the quotas of east are copied "
                "(user shop: producer_byte_rate 5): shop › web-2: producer_byte_rate ∞ → 5 (user). Set on west what "
                "shall hold for them (kafka-configs.sh --alter). HADASH_SWITCH_ACCEPT_QUOTAS accepts it.",
            ),
            (
                EVERYWHERE,
                "west takes fewer connections from each address than east (*: connection_creation_rate ∞ → "
                "20), and all "
                "clients of a Gateway come from its address. Set it there as it is on east (kafka-configs.sh --alter). "
                "HADASH_SWITCH_ACCEPT_QUOTAS accepts it.",
            ),
        ],
    )
    def test_what_stands_against_a_switch(self, found: QuotaCheck, sentence: str) -> None:
        world = World()
        world.quotas = found
        assert failure(world, Stage.PRECHECK) == sentence
        assert not [command for command in world.done if writes(command)]

    @pytest.mark.parametrize("found", [LESS, UNKNOWN, NARROWED, EVERYWHERE])
    def test_it_can_be_accepted_and_is_told(self, found: QuotaCheck) -> None:
        world = World()
        world.quotas = found
        run_stage(world, Stage.PRECHECK, replace(QUICK, accept_quotas=True))
        assert "HADASH_SWITCH_ACCEPT_QUOTAS" in world.said[0]

    def test_what_is_missing_is_copied_before_anybody_moves(self) -> None:
        world = World()
        world.quotas = QuotaCheck(missing=("user shop: producer_byte_rate 5",))
        run_stage(world, Stage.PRECHECK)
        assert world.said == ["Copied quotas to west: user shop: producer_byte_rate 5."]
        assert world.quotas == QuotaCheck()

    def test_what_is_not_known_is_not_copied(self) -> None:
        world = World()
        world.quotas = self.UNKNOWN
        run_stage(world, Stage.PRECHECK, replace(QUICK, accept_quotas=True))
        assert do.CopyQuotas() not in world.done

    def test_what_is_only_told(self) -> None:
        world = World()
        world.quotas = QuotaCheck(
            more=("shop: consumer_byte_rate 1 (user) → 2 (user)",),
            addresses=("10.0.0.7: connection_creation_rate 9 → 3",),
            brokers=(6, 2),
        )
        run_stage(world, Stage.PRECHECK)
        assert world.said == [
            "Quotas of west let clients do more than those of east: shop: consumer_byte_rate 1 (user) → 2 (user).",
            "west takes fewer connections from some addresses than east: 10.0.0.7: connection_creation_rate 9 → 3. "
            "All clients of a Gateway come from its address: if one of these is a Gateway's, they connect one after "
            "the other.",
            "Quotas are those of each broker: east has 6 brokers and west has 2, so all together clients may do less "
            "there.",
        ]

    def test_where_nobody_has_quotas_nothing_is_said(self) -> None:
        world = World()
        run_stage(world, Stage.PRECHECK)
        assert (world.said, do.CopyQuotas() in world.done) == ([], False)

    def test_a_rehearsal_says_what_would_be_copied(self) -> None:
        world = World()
        world.quotas = QuotaCheck(missing=("user shop: producer_byte_rate 5",))
        checks, answer = precheck_only(world.plan, QUICK), None
        with suppress(StopIteration):
            while True:
                answer = world.carry_out(checks.send(answer))
        assert world.said == ["A switch would copy quotas to west: user shop: producer_byte_rate 5."]
        assert not [command for command in world.done if writes(command)]
