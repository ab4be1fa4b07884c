"""The precheck asks what auditors have found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hadash.sentences import say
from hadash.switching.machines.switches import Kind, Stage
from hadash.switching.stages.answers import AuditFound
from hadash.switching.stages.run import AuditRule

from ..walking import QUICK, run_stage
from ..world import World
from .common import (
    failure,
)


class TestAudits:
    EQUAL = AuditFound("orders", is_equal=True, differs=False, says=say("Proved equal."))
    UNPROVED = AuditFound(
        "orders", is_equal=False, differs=False, says=say("No auditor has compared this mirror.")
    )
    UNLIKE = AuditFound("orders", is_equal=False, differs=True, says=say("Both sides differ."))

    def world(self, found: AuditFound) -> World:
        world = World(traffic=False)
        world.audits = [found]
        return world

    def run(self, found: AuditFound, rule: AuditRule) -> list[str]:
        """What the precheck says besides its outcome."""
        world = self.world(found)
        run_stage(world, Stage.PRECHECK, replace(QUICK, audit=rule))
        return world.said

    def fault(self, found: AuditFound, rule: AuditRule) -> str:
        return failure(self.world(found), Stage.PRECHECK, limits=replace(QUICK, audit=rule))

    @pytest.mark.parametrize("rule", AuditRule)
    def test_a_mirror_that_is_proved_equal_is_switched(self, rule: AuditRule) -> None:
        assert self.run(self.EQUAL, rule) == []

    def test_one_that_nobody_has_proved_is_told_or_stops_by_the_rule(self) -> None:
        said = "Auditors, mirror orders: No auditor has compared this mirror."
        assert self.run(self.UNPROVED, AuditRule.IGNORED) == []
        assert self.run(self.UNPROVED, AuditRule.DIFFERENCES_STOP) == [said]
        assert self.fault(self.UNPROVED, AuditRule.PROOF_NEEDED) == said

    @pytest.mark.parametrize("rule", [AuditRule.DIFFERENCES_STOP, AuditRule.PROOF_NEEDED])
    def test_one_that_differs_stops(self, rule: AuditRule) -> None:
        assert self.fault(self.UNLIKE, rule) == "Auditors, mirror orders: Both sides differ."

    @pytest.mark.parametrize("kind", [Kind.REHEARSAL, Kind.EMERGENCY])
    def test_but_no_kind_that_findings_do_not_stop(self, kind: Kind) -> None:
        world = self.world(self.UNLIKE)
        world.plan = replace(world.plan, kind=kind)
        run_stage(world, Stage.PRECHECK)
        assert "Auditors, mirror orders: Both sides differ." in world.said

    def test_unless_nobody_asks(self) -> None:
        assert self.run(self.UNLIKE, AuditRule.IGNORED) == []
