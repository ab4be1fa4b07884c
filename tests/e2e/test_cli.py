"""Operators at a terminal: a rehearsal, a switch that is paused, and an emergency, on the real stack.

That nothing was lost, written twice or out of order says the last test of this folder, over all of them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from hadash.bindings.model import Binding
from hadash.bindings.store import BindingStore
from hadash.identity.resolve import resolve
from hadash_sandbox.demo import ROOT, Demo
from hadash_sandbox.person import Person
from hadash_sandbox.trial import SWITCH_SECONDS, Trial

pytestmark = pytest.mark.stack

APPID, INSTANCE = "shop", "shop-stock"


class Terminal:
    """One person's shell, with a token of theirs."""

    def __init__(self, demo: Demo, person: Person, *scopes: str) -> None:
        page = person.post("tokens/", name="terminal", scopes=[*scopes], days="1")
        [secret] = re.findall(r'class="secret">(hadash_[\w-]+)<', page.text)
        self._env = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "HADASH_URL": demo.url,
            "HADASH_TOKEN": secret,
            "COLUMNS": "200",
        }

    def run(self, *arguments: str) -> tuple[int, str]:
        """Exit code and what was printed."""
        done = subprocess.run(
            [sys.executable, "-m", "hadash.cli", *arguments],
            env=self._env,
            capture_output=True,
            text=True,
            timeout=SWITCH_SECONDS,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def olga(demo: Demo, trial: Trial) -> Terminal:
    return Terminal(demo, trial.operator, "request", "operate")


@pytest.fixture(scope="module")
def arne(demo: Demo, trial: Trial) -> Terminal:
    return Terminal(demo, trial.approver, "decide")


def where(bindings: BindingStore) -> str:
    return resolve(bindings.document(APPID), INSTANCE, Binding("east")).cluster


def other(cluster: str) -> str:
    return "west" if cluster == "east" else "east"


def wanted(target: str) -> tuple[str, ...]:
    return ("--pair", "main", "--appid", APPID, "--instance", INSTANCE, "--to", target)


def key_in(text: str) -> str:
    found = re.search(r"^([0-9a-f]{10}): ", text, re.MULTILINE)
    assert found is not None, text
    return found.group(1)


def test_a_rehearsal_moves_nothing(olga: Terminal, bindings: BindingStore) -> None:
    before = where(bindings)
    code, text = olga.run("plan", *wanted(other(before)))
    assert code == 0, text
    code, text = olga.run(
        "request", *wanted(other(before)), "--kind", "rehearsal", "--reason", "A rehearsal", "--watch"
    )
    assert code == 0, text
    assert "Nothing was changed." in text
    assert where(bindings) == before


def test_a_switch_that_is_paused(olga: Terminal, arne: Terminal, bindings: BindingStore) -> None:
    before = where(bindings)
    code, text = olga.run(
        "request", *wanted(other(before)), "--pause-after-precheck", "--reason", "With a pause"
    )
    assert code == 0, text
    key = key_in(text)
    digest = re.search(r"  ([0-9a-f]{32})", olga.run("plan", *wanted(other(before)))[1])
    assert digest is not None
    code, text = arne.run("approve", key, "--plan", digest.group(1), "--watch")
    assert "All is ready. It is paused: somebody has to resume it" in text
    assert where(bindings) == before, "no client has noticed anything"
    assert olga.run("resume", key)[0] == 0
    code, text = arne.run("watch", key)
    assert code == 0, text
    assert where(bindings) == other(before)


def test_an_emergency_is_reviewed_afterwards(olga: Terminal, arne: Terminal, bindings: BindingStore) -> None:
    target = other(where(bindings))
    code, text = olga.run(
        "request",
        *wanted(target),
        "--kind",
        "emergency",
        "--confirm",
        target,
        "--reason",
        "It burns",
        "--watch",
    )
    assert code == 0, text
    key = key_in(text)
    assert where(bindings) == target
    assert key in arne.run("list", "--inbox", "waiting")[1]
    assert olga.run("review", key, "--reason", "Mine")[0] == 1
    assert arne.run("review", key, "--reason", "It was right")[0] == 0
    assert key not in arne.run("list", "--inbox", "waiting")[1]
