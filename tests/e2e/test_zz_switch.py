"""Real moves of real clients, and the verdict over every record that this session's clients sent.

The name puts it last: the verdict covers what the other tests of this folder did to the clients too.
"""

from __future__ import annotations

import pytest

from hadash.bindings.store import BindingStore
from hadash.identity.identity import Identity
from hadash.sandbox.trial import Trial

pytestmark = pytest.mark.stack


def other_side(bindings: BindingStore, appid: str, instance: str | None) -> str:
    binding = bindings.document(appid).binding_of(Identity(appid, instance))
    return "west" if binding is None or binding.cluster == "east" else "east"


@pytest.mark.parametrize(("appid", "instance"), [("shop", "shop-stock"), ("billing", None)])
def test_there_and_back(trial: Trial, bindings: BindingStore, appid: str, instance: str | None) -> None:
    for _ in range(2):
        measured = trial.switch(appid, instance, other_side(bindings, appid, instance))
        assert measured.status == "succeeded", measured.outcome
        assert set(measured.stages) == {
            "precheck", "settle", "block", "drain", "translate", "forward", "reverse", "verify"
        }  # fmt: skip


def test_an_appid_takes_along_who_reads_what_it_writes(trial: Trial, bindings: BindingStore) -> None:
    """``audit`` reads a Topic of ``shop``: both move in one switch, and nobody else does."""
    for instance in ("shop-stock", "shop-carts"):
        if other_side(bindings, "shop", instance) == "east":
            assert trial.switch("shop", instance, "east").status == "succeeded"
    for target in ("west", "east"):
        measured = trial.switch("shop", None, target)
        assert measured.status == "succeeded", measured.outcome
        moved = [Identity("shop"), Identity("audit", "audit-clicks")]
        found = [bindings.document(identity.appid).binding_of(identity) for identity in moved]
        assert [binding.cluster for binding in found if binding is not None] == [target, target]


def test_nothing_was_lost_duplicated_or_out_of_order(trial: Trial) -> None:
    verdict = trial.finish()
    assert verdict["clients_restarted"] == []
    assert verdict["delivery_failures"] == 0
    assert (verdict["lost"], verdict["duplicated"], verdict["out_of_order"]) == (0, 0, 0), verdict["groups"]
    assert verdict["records_sent"] > 0
