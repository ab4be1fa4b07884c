"""Each client's own pause, of what several Gateways say."""

from __future__ import annotations

from typing import Any

from hadash.identity.identity import Identity
from hadash.radius.scope import Scope
from hadash.switching.execution.pauses import Pause, pauses_of
from hadash.switching.plan import Plan

PLAN = Plan(
    "main",
    Scope.of(Identity("shop", "web")),
    "east",
    "west",
    (Identity("shop", "web"), Identity("crm")),
    ("orders",),
    (),
    (),
)


def entry(
    client_id: str, since: float, until: float | None, kind: str = "produce", appid: str = "shop"
) -> dict[str, Any]:
    return {"appid": appid, "client_id": client_id, "kind": kind, "since": since, "until": until}


def test_the_longest_first_and_those_that_go_on_before_all() -> None:
    found = pauses_of(
        PLAN,
        [
            entry("web", 10.0, 10.5),
            entry("web", 10.0, 12.0, "consume"),
            entry("job", 10.0, None, appid="crm"),
        ],
    )
    assert found == [
        Pause("crm", "job", "produce", 10.0, None),
        Pause("shop", "web", "consume", 10.0, 12.0),
        Pause("shop", "web", "produce", 10.0, 10.5),
    ]


def test_who_stays_is_not_among_them() -> None:
    assert pauses_of(PLAN, [entry("other", 10.0, 11.0)]) == []


def test_a_pause_is_what_all_gateways_call_one() -> None:
    """Its connections to two Gateways go on at different moments: it worked as soon as the first did."""
    found = pauses_of(PLAN, [entry("web", 10.0, 14.0), entry("web", 11.0, 12.5)])
    assert found == [Pause("shop", "web", "produce", 11.0, 12.5)]


def test_a_gateway_that_it_has_left_does_not_make_it_endless() -> None:
    assert pauses_of(PLAN, [entry("web", 10.0, None), entry("web", 9.0, 12.0)]) == [
        Pause("shop", "web", "produce", 10.0, 12.0)
    ]


def test_who_never_stopped_had_no_pause() -> None:
    """One Gateway let it go on before the other one had stopped it."""
    (found,) = pauses_of(PLAN, [entry("web", 10.0, 10.25), entry("web", 10.5, 11.0)])
    assert found.seconds == 0.0
