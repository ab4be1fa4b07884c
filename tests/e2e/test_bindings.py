"""Bindings by hand on the real stack, under the hands of live clients: nobody moves, and nobody notices.

That nothing was lost, written twice or out of order says the last test of this folder, over all of them.
"""

from __future__ import annotations

import re

import pytest
from support.waiting import eventually

from hadash.bindings.store import BindingStore
from hadash_sandbox.demo import Demo
from hadash_sandbox.trial import Trial

from .test_cli import APPID, INSTANCE, Terminal

pytestmark = pytest.mark.stack

SCOPE = ("--pair", "main", "--appid", APPID)

#: Seconds until a change is in effect; a worker that was lost is replaced within five.
CHANGE_SECONDS = 30.0


@pytest.fixture(scope="module")
def olga(demo: Demo, trial: Trial) -> Terminal:
    return Terminal(demo, trial.operator, "request")


@pytest.fixture(scope="module")
def arne(demo: Demo, trial: Trial) -> Terminal:
    return Terminal(demo, trial.approver, "decide")


def carried_out(olga: Terminal, arne: Terminal, *asked: str) -> None:
    """Requested by one, approved by the other, and in effect at every Gateway."""
    code, printed = olga.run(*asked, "--reason", "A test of the bindings")
    found = re.search(r"(\w+)  awaiting approval  (\w+)", printed)
    assert code == 0, printed
    assert found is not None, printed
    key, digest = found.groups()
    code, printed = arne.run("approve-change", key, "--digest", digest)
    assert code == 0, printed

    def in_effect() -> bool:
        listed = olga.run("changes")[1]
        return (
            "In effect since epoch"
            in listed.partition(key)[2].partition("A test of")[2].split("A test of")[0]
        )

    eventually(in_effect, f"change {key} in effect", CHANGE_SECONDS)


def test_bound_to_where_it_is_and_unbound_again(
    olga: Terminal, arne: Terminal, bindings: BindingStore
) -> None:
    before = bindings.document(APPID)
    assert INSTANCE not in before.instances
    carried_out(olga, arne, "bind", *SCOPE, "--instance", INSTANCE)
    bound = bindings.document(APPID).instances[INSTANCE]
    assert bound.cluster == (before.default.cluster if before.default is not None else "east")
    assert bound.since == (before.default.since if before.default is not None else 0), "it has not moved"
    carried_out(olga, arne, "unbind", *SCOPE, "--instance", INSTANCE)
    assert bindings.document(APPID) == before


def test_what_has_no_binding_cannot_be_unbound(olga: Terminal) -> None:
    code, printed = olga.run("unbind", *SCOPE, "--instance", INSTANCE, "--reason", "x")
    assert code == 1
    assert f"{APPID} › {INSTANCE} has no binding of its own to remove." in printed
