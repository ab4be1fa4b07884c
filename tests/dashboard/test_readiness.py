"""Whether clients can be switched now: one sentence, the gravest reasons first, and nothing unknown is taken
for good.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hadash.presentation.readiness import (
    ClusterFacts,
    GatewayFacts,
    Grade,
    MirrorFacts,
    PairFacts,
    Readiness,
    readiness,
)
from hadash.sentences import Sentence, fill

GOOD = PairFacts(
    pair="main",
    rpo_seconds=30,
    clusters=[ClusterFacts("east", True), ClusterFacts("west", True)],
    gateways=[GatewayFacts("gateway-1", live=True, applied=True)],
    workers=1,
    mirrors=[MirrorFacts("carts", True, 0.2), MirrorFacts("stock", True, 29.9)],
    appids=3,
    unmirrored=0,
    high=0,
)


def text(sentence: Sentence) -> str:
    return fill(sentence.text, sentence.values)


def why(found: Readiness) -> list[str]:
    return [text(reason.sentence) for reason in found.reasons]


def test_where_all_is_well_it_says_so_and_nothing_else() -> None:
    found = readiness(GOOD)
    assert (found.grade, text(found.sentence), why(found)) == (Grade.READY, "main can be switched now.", [])


def test_a_generated_pair_is_refused_for_that_alone_although_nobody_has_looked_at_its_clusters() -> None:
    never = [ClusterFacts("east", None), ClusterFacts("west", None)]
    found = readiness(
        replace(GOOD, generated=True, clusters=never, mirrors=[MirrorFacts("carts", None, None)])
    )
    reason = "Pair main is generated: there are no clients and no servers behind it that could move."
    assert (found.grade, why(found)) == (Grade.REFUSED, [reason])


@pytest.mark.parametrize(
    ("facts", "grade", "said"),
    [
        (
            {"zookeeper_fault": "no answer"},
            Grade.UNKNOWN,
            "ZooKeeper does not answer (no answer): nobody knows who is bound where.",
        ),
        ({"gateways": []}, Grade.REFUSED, "No Gateway is a member: clients reach no cluster."),
        (
            {"gateways": [GatewayFacts("g", live=False, applied=True)]},
            Grade.REFUSED,
            "Gateway g does not answer. Start it, or exclude it once it serves nobody.",
        ),
        (
            {"gateways": [GatewayFacts("g", live=True, applied=False)]},
            Grade.REFUSED,
            "Gateway g has not put the newest bindings into effect.",
        ),
        (
            {"gateways": [GatewayFacts("g", live=True, applied=True, silent=True)]},
            Grade.UNKNOWN,
            "Gateway g does not say who is connected.",
        ),
        (
            {"workers": 0},
            Grade.REFUSED,
            "No worker is there: nothing that is approved would begin. Start one.",
        ),
        ({"clusters": [ClusterFacts("east", False)]}, Grade.REFUSED, "Cluster east does not answer."),
        (
            {"clusters": [ClusterFacts("east", None)]},
            Grade.UNKNOWN,
            "Nobody has looked at east lately: do beat and a worker run?",
        ),
        ({"mirrors": []}, Grade.REFUSED, "There is no mirror: nothing is copied to the other cluster."),
        ({"mirrors": [MirrorFacts("carts", False, None)]}, Grade.REFUSED, "Mirror carts does not run."),
        (
            {"mirrors": [MirrorFacts("carts", True, 30.6)]},
            Grade.REFUSED,
            "Mirror carts is 31 s behind (RPO 30 s).",
        ),
        (
            {"mirrors": [MirrorFacts("carts", True, None)]},
            Grade.UNKNOWN,
            "Nobody knows how far mirror carts is behind.",
        ),
        (
            {"mirrors": [MirrorFacts("carts", None, 0.1)]},
            Grade.UNKNOWN,
            "Nobody knows how far mirror carts is behind.",
        ),
        (
            {"mirrors": [MirrorFacts("carts", False, 99, turning=True)]},
            Grade.NOTICE,
            "Mirror carts is being turned round.",
        ),
        (
            {"blackout": "the end of the year"},
            Grade.REFUSED,
            "Nothing may be switched now: the end of the year",
        ),
        ({"switching": 2}, Grade.NOTICE, "2 switches are running."),
        (
            {"unmirrored": None},
            Grade.NOTICE,
            "No run has counted yet which AppIDs use Topics that no mirror copies.",
        ),
        (
            {"unmirrored": 1},
            Grade.NOTICE,
            "1 of 3 AppIDs use a Topic that no mirror copies: their switches would be refused.",
        ),
        ({"high": 1}, Grade.NOTICE, "A finding of high severity is open."),
    ],
)
def test_each_fact_that_speaks_against_it_is_a_reason(facts: dict[str, Any], grade: Grade, said: str) -> None:
    found = readiness(replace(GOOD, **facts))
    assert (found.grade, why(found)) == (grade, [said])


def test_many_mirrors_are_one_reason_with_the_worst_by_name() -> None:
    late = [MirrorFacts(f"mirror-{number}", True, 100.0 + number) for number in range(300)]
    found = readiness(replace(GOOD, mirrors=[*GOOD.mirrors, *late]))
    assert why(found) == [
        "300 of 302 mirrors are further behind than the RPO of 30 s, mirror-299 most: 399 s."
    ]


def test_what_auditors_have_found_is_a_reason() -> None:
    (reason,) = readiness(replace(GOOD, differences=3)).reasons
    assert reason.grade is Grade.NOTICE and "(differences: 3)" in str(reason.sentence)


def test_the_gravest_comes_first_and_decides() -> None:
    facts = replace(GOOD, high=2, clusters=[ClusterFacts("east", None), ClusterFacts("west", False)])
    found = readiness(facts)
    assert [reason.grade for reason in found.reasons] == [Grade.REFUSED, Grade.UNKNOWN, Grade.NOTICE]
    assert text(found.sentence) == "Not now: a switch of main would be refused."
    both = replace(facts, blackout="x")
    assert text(readiness(both).sentence) == "Not now: a switch of main would be refused, for 2 reasons."


def test_what_is_not_known_is_not_said_to_be_ready() -> None:
    nothing = readiness(PairFacts(pair="main", rpo_seconds=30))
    assert nothing.grade is Grade.REFUSED, "no Gateway, no mirror"
    unknown = readiness(replace(GOOD, zookeeper_fault="away"))
    assert text(unknown.sentence) == "Not known whether main can be switched now."
