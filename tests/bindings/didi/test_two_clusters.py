"""What must always hold: never two clusters take one client's writes, whatever process is killed or hangs, and
it ends as wanted.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hadash.bindings.didi.dialect import DidiDialect
from hadash.bindings.didi.names import sanitized
from hadash.bindings.errors import BindingError
from hadash.bindings.model import Binding, BindingState, Journal
from hadash.bindings.store import Edit
from hadash.identity.identity import Identity

from .conftest import Layout
from .engine import Killed, accepting, around_commits

pytestmark = pytest.mark.stack

CLIENTS = ("web", "left")


@dataclass(frozen=True)
class Interruption:
    """Before or after the ``at``-th transaction the writer is killed, or another executor takes over and
    completes its stage while this one sleeps.
    """

    at: int
    after: bool
    kill: bool


INTERRUPTIONS = st.lists(
    st.builds(Interruption, at=st.integers(1, 7), after=st.booleans(), kill=st.booleans()), max_size=2
)


@dataclass(frozen=True)
class Stage:
    cluster: str
    state: BindingState
    interruptions: tuple[Interruption, ...]


@st.composite
def walks(draw: st.DrawFn) -> list[Stage]:
    """Switches there and back, some of which return to the start."""
    found: list[Stage] = []
    at = "east"
    for _ in range(draw(st.integers(1, 3))):
        to = ("west" if at == "east" else "east") if draw(st.booleans()) else at
        for cluster, state in ((at, BindingState.BLOCK), (to, BindingState.FORWARD)):
            found.append(Stage(cluster, state, tuple(draw(INTERRUPTIONS))))
        at = to
    return found


# (A failure shows its arguments; those of the fixtures are long.)
@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(walks(), st.booleans(), st.sets(st.sampled_from(CLIENTS)), st.sampled_from([None, "web"]))
def test_never_two_clusters_take_one_clients_writes(
    layout: Layout,
    executors: list[DidiDialect],
    walk: list[Stage],
    bound_before: bool,
    with_nodes: set[str],
    instance: str | None,
) -> None:
    app = f"shop-{uuid.uuid4().hex[:8]}"
    moving = Identity(app, instance)
    if bound_before:
        layout.bound(app, "1", "1", "1")
    for client in with_nodes if instance is None else ():
        layout.bound(sanitized(f"{app}#{client}"), "1", "1", "1")

    watched = [c for c in (*CLIENTS, "other") if instance is None or c == instance]
    open_before: dict[str, int] = {}

    def check(_: int = 0) -> None:
        """What nothing was said of before is open on both sides; it never becomes so."""
        for client in watched:
            now = len(accepting(layout, app, sanitized(f"{app}#{client}")))
            assert now <= max(open_before.get(client, 2), 1)
            open_before[client] = now

    check()
    token = 0
    for number, stage in enumerate(walk):
        binding = Binding(stage.cluster, stage.state, switch=app, stage=str(number))

        def execute(dialect: DidiDialect, binding: Binding = binding, number: int = number) -> None:
            nonlocal token
            token += 1
            mine = token
            dialect.take_over(app, str(number), mine)
            dialect.change([Edit(moving, binding)], Journal(app, str(number), mine))

        def interrupted(dialect: DidiDialect, how: Interruption, other: Callable[[], None]) -> None:
            def action(count: int) -> None:
                if count != how.at:
                    return
                if how.kill:
                    raise Killed
                other()

            def after(count: int) -> None:
                check()
                if how.after:
                    action(count)

            clients = [tree.client for tree in dialect.fleet.trees]
            with around_commits(clients, before=lambda c: None if how.after else action(c), after=after):
                try:
                    execute(dialect)
                except Killed:
                    pass
                except BindingError as stale:
                    assert not how.kill, stale

        first, second, third = executors
        for how in stage.interruptions:
            interrupted(first, how, partial(execute, second))
            check()
        # In the end somebody gets through.
        with around_commits([tree.client for tree in third.fleet.trees], after=check):
            execute(third)
        expected = [] if stage.state is BindingState.BLOCK else [stage.cluster]
        for client in watched:
            assert accepting(layout, app, sanitized(f"{app}#{client}")) == expected
    # A binding document for each example: a client that the last one moved is at its record's cluster.
    assert third.document(app).binding_of(moving) is not None


@pytest.fixture
def executors(open_dialect: Callable[..., DidiDialect]) -> list[DidiDialect]:
    """Three processes."""
    return [open_dialect() for _ in range(3)]
