"""The charts of a plan: its radius as a graph, and what has changed since the request."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from django.utils.translation import gettext as _

from hadash.dashboard.charts.blast_radius import MOST_DRAWN, Link, blast_radius
from hadash.dashboard.charts.chart import Chart
from hadash.dashboard.charts.map_marks import Turn
from hadash.dashboard.graph.nodes import SYMBOLS, focus_of
from hadash.presentation.radius import (
    chain_to,
    kind_of,
    name_of,
    why_it_moves,
)
from hadash.radius.scope import Member, node_named
from hadash.switching.plan import Plan

#: The names of both charts.
RADIUS, CHANGES = "blast-radius", "radius-changes"


def drawn(
    plan: Plan, address: str = "", before: Plan | None = None, everything: bool = False
) -> Chart | None:
    """Return the chart of what pulls in what; ``None`` for a plan that was kept without its members.

    :param address: the page that has the chart's table as CSV.
    :param before: the requested plan: members that only it has are gone, members that it lacks are new.
    :param everything: whether the table has a row for each member, however many there are.
    """
    if not plan.members:
        return None
    turns = _turns(plan, before)
    steps = _steps(plan) | (_steps(before) if before is not None else {})
    members = [(member, plan) for member in plan.members]
    if before is not None:
        members += [(member, before) for member in before.members if member.key not in plan.by_key]
        # (Changed members come first: they are what people look for.)
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
    """Return how each member has changed since the request."""
    if before is None:
        return dict.fromkeys(plan.by_key, Turn.SAME)
    found = {key: Turn.SAME if key in before.by_key else Turn.NEW for key in plan.by_key}
    return found | {key: Turn.GONE for key in before.by_key if key not in plan.by_key}


def _steps(plan: Plan) -> dict[str, int]:
    """Return how many steps each member is from what was asked for. (A plan's members are in order, nearest first.)"""
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
