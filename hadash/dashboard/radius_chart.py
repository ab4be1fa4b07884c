"""A plan drawn: its radius as a graph, and what has changed since it was asked for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from django.utils.translation import gettext as _

from hadash.dashboard.charts.blast_radius import MOST_DRAWN, Link, blast_radius
from hadash.dashboard.charts.chart import Chart
from hadash.dashboard.charts.island_map import Turn
from hadash.dashboard.graph.nodes import SYMBOLS, focus_of
from hadash.presentation.radius import (
    chain_to,
    kind_of,
    name_of,
    why_it_moves,
)
from hadash.radius.scope import Member, node_named
from hadash.switching.plan import Plan

#: The names of both pictures.
RADIUS, CHANGES = "blast-radius", "radius-changes"


def drawn(
    plan: Plan, address: str = "", before: Plan | None = None, everything: bool = False
) -> Chart | None:
    """What pulls in what, as a picture; ``None`` for a plan that was kept without its members.

    :param address: of the page that has the table. :param before: the plan that was asked for: what it has
        not is new, and what only it has is gone. :param everything: for the table: a row for each member,
        however many there are.
    """
    if not plan.members:
        return None
    turns = _turns(plan, before)
    steps = _steps(plan) | (_steps(before) if before is not None else {})
    members = [(member, plan) for member in plan.members]
    if before is not None:
        members += [(member, before) for member in before.members if member.key not in plan.by_key]
        # (What has changed is why somebody looks: it is drawn before all that has not.)
        members.sort(key=lambda pair: (turns[pair[0].key] is Turn.SAME, steps[pair[0].key]))
    beyond = Counter(steps[member.key] for member, _plan in members[MOST_DRAWN:])
    shown = members if everything else members[:MOST_DRAWN]
    links = [_link(member, of, turns[member.key]) for member, of in shown]
    says = ""
    if before is not None:
        counts = Counter(turns.values())
        says = _("Since the request: %(new)s new, %(gone)s gone.") % {
            "new": counts[Turn.NEW],
            "gone": counts[Turn.GONE],
        }
    if before is None:
        return blast_radius(links, beyond, address=address)
    nearest = sorted(links, key=lambda link: len(link.chain))
    return replace(blast_radius(nearest, beyond, says, address), name=CHANGES, title=_("What has changed"))


def _turns(plan: Plan, before: Plan | None) -> dict[str, Turn]:
    """What has become of each member since it was asked for."""
    if before is None:
        return dict.fromkeys(plan.by_key, Turn.SAME)
    found = {key: Turn.SAME if key in before.by_key else Turn.NEW for key in plan.by_key}
    return found | {key: Turn.GONE for key in before.by_key if key not in plan.by_key}


def _steps(plan: Plan) -> dict[str, int]:
    """How far each member is from what was asked for. (They stand there nearest first.)"""
    found: dict[str, int] = {}
    for member in plan.members:
        found[member.key] = found[member.because] + 1 if member.because in found else 0
    return found


def _link(member: Member, plan: Plan, turn: Turn) -> Link:
    node = node_named(member.key)
    return Link(
        member.key,
        member.because,
        kind_of(member.key),
        SYMBOLS[node.kind],
        name_of(member.key),
        why_it_moves(member),
        chain_to(member, plan.by_key),
        member.already,
        turn,
        focus_of(plan.pair, node.kind, node.appid, node.names).href,
    )
