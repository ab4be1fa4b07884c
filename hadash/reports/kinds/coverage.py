"""The report on InstanceID coverage: how many clients can be moved by themselves, in total and by owner, and
for each owner their own clients and what to do about them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.governance import selectors
from hadash.governance.models.published import Coverage
from hadash.governance.models.runs import Run
from hadash.inventory.models import AppID
from hadash.presentation.uncovered import COLUMNS, Uncovered, csv_rows, rows_of, with_clients
from hadash.reports import charts, drawing
from hadash.reports.kinds import parts
from hadash.reports.links import link
from hadash.reports.recipients import View
from hadash.reports.report import Cell, Figure, Heading, Line, Picture, Report, Section, Table, Tone

#: The jobs that make its figures.
JOBS = (Run.Job.COVERAGE, Run.Job.TOPOLOGY)

#: AppIDs and owners in the mail, at most; a link shows the others.
SHOWN = 15
#: Names of clients in one cell, at most.
NAMED = 5


def build(view: View, now: datetime, url: str, about: str = "") -> Report:
    as_of = parts.published_at(*JOBS)
    stale = parts.stale(as_of, now)
    rows = selectors.rows(Coverage, selectors.published(Run.Job.COVERAGE), view.pairs)
    if view.owner:
        rows = rows.filter(_owned(view))
    seen = registered = 0
    for clients, known in rows.values_list("clients", "registered"):
        seen, registered = seen + clients, registered + known
    whose = [view.owner] if view.owner else view.pairs
    sections = [_figures(view, seen, registered)]
    sections += [_to_do(view, seen)] if view.owner else [_owners(view), _to_do(view, seen)]
    return Report(
        kind="coverage",
        title=_("InstanceID coverage of %(whose)s") % {"whose": ", ".join(whose)},
        subject=parts.subject(whose, _said(seen, registered), stale),
        verdict=_verdict(seen, registered),
        as_of=as_of,
        stale=stale,
        url=url,
        generated=parts.generated(parts.pairs_named(view.pairs)),
        sections=sections,
    )


def _owned(view: View) -> Q:
    """Return the filter for the owner's AppIDs. (The same name in another pair may have another owner.)"""
    by_pair: dict[str, list[str]] = defaultdict(list)
    found = AppID.objects.filter(pair__name__in=view.pairs, owner=view.owner)
    for pair, name in found.values_list("pair__name", "name"):
        by_pair[pair].append(name)
    owned = Q(pk__in=[])
    for pair, names in by_pair.items():
        owned |= Q(pair=pair, appid__in=names)
    return owned


def _said(seen: int, registered: int) -> list[str]:
    if not seen:
        return [_("no client was seen")]
    missing = seen - registered
    if not missing:
        return [
            ngettext("its one client is registered", "all %(n)s clients are registered", seen)
            % {"n": f"{seen:,}"}
        ]
    return [
        ngettext(
            "%(missing)s of %(seen)s client is not registered",
            "%(missing)s of %(seen)s clients are not registered",
            seen,
        )
        % {"missing": f"{missing:,}", "seen": f"{seen:,}"}
    ]


def _verdict(seen: int, registered: int) -> Line:
    if not seen:
        return Line(_("No client was seen lately, so nothing is known of them."), Tone.UNKNOWN)
    if registered == seen:
        return Line(_("Each client can be moved by itself."), Tone.FINE)
    return Line(
        _(
            "Clients that are not registered can be switched to the other cluster only together with all that "
            "use the AppID."
        ),
        Tone.NOTICE,
    )


def _figures(view: View, seen: int, registered: int) -> Section:
    share = f"{100 * registered / seen:.0f} %" if seen else "?"
    return Section(
        _("At a glance"),
        figures=[
            Figure(_("InstanceID coverage"), share),
            Figure(_("Clients"), f"{seen:,}" if seen else "?"),
            Figure(_("Not registered"), f"{seen - registered:,}" if seen else "?"),
        ],
    )


def _owners(view: View) -> Section:
    known = AppID.objects.filter(pair__name__in=view.pairs).values_list("pair__name", "name", "owner")
    owners = {(pair, name): owner for pair, name, owner in known}
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    run = selectors.published(Run.Job.COVERAGE)
    for pair, appid, clients, registered in selectors.rows(Coverage, run, view.pairs).values_list(
        "pair", "appid", "clients", "registered"
    ):
        count = counts[owners.get((pair, appid)) or ""]
        count[0], count[1], count[2] = count[0] + 1, count[1] + clients, count[2] + registered
    ranked = sorted(counts.items(), key=lambda item: (item[1][2] - item[1][1], not item[0], item[0]))
    nobody = _("nobody's")
    rows = [
        (
            Cell(owner or nobody),
            Cell(f"{appids:,}"),
            Cell(f"{clients:,}"),
            Cell(f"{clients - known:,}"),
            Cell(_percent(known, clients)),
        )
        for owner, (appids, clients, known) in ranked[:SHOWN]
    ]
    columns = [
        Heading(_("Owner")), Heading(_("AppIDs"), is_number=True), Heading(_("Clients"), is_number=True),
        Heading(_("Not registered"), is_number=True), Heading(_("Coverage"), is_number=True),
    ]  # fmt: skip
    table = Table(
        columns, rows, len(ranked), link("uncovered"),
        csv_name="coverage-by-owner", csv_columns=("owner", "appids", "clients", "registered"),
        all_rows=[(owner, *values) for owner, values in ranked[: settings.REPORT_CSV_ROWS]],
    )  # fmt: skip
    worst = [
        (owner or nobody, float(clients - known), "")
        for owner, (_n, clients, known) in ranked[:8]
        if clients > known
    ]
    picture = None
    if worst:
        alt = ", ".join(f"{owner} {int(missing)}" for owner, missing, _said in worst)
        picture = Picture("owners", charts.bars(worst), drawing.WIDTH, charts.bars_height(len(worst)), alt)
    return Section(
        _("Clients that are not registered, by owner"),
        picture=picture,
        table=table,
        empty=_("No client was seen lately."),
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "–"


def _to_do(view: View, seen: int) -> Section:
    rows = rows_of(view.pairs)
    if view.owner:
        rows = rows.filter(_owned(view))
    total = rows.count()
    shown = with_clients(rows[:SHOWN])
    columns = [
        Heading(_("AppID"), share=2),
        Heading(_("Not registered"), is_number=True),
        Heading(_("client.ids"), share=4),
    ]
    # (Radii are computed only for the first AppIDs of the work list.)
    with_radius = any(each.before is not None for each in shown)
    if with_radius:
        columns.append(Heading(_("Moves together"), is_short=True))
    table = Table(
        columns,
        [_row(each)[: len(columns)] for each in shown],
        total,
        link("uncovered"),
        csv_name="not-registered",
        csv_columns=COLUMNS,
        all_rows=_first(csv_rows(rows), settings.REPORT_CSV_ROWS),
    )
    says = _(
        "Please confirm that each of these client.ids is one application that keeps its name when it starts "
        "again, so that we can register it:"
    )
    return Section(
        _("To be registered"),
        says=says if total else "",
        table=table,
        empty=_("Nothing: each client is registered.") if seen else _("No client was seen lately."),
    )


def _row(each: Uncovered) -> Sequence[Cell]:
    names = [client.name for client in each.named[:NAMED]]
    if len(each.named) > NAMED:
        names.append(_("and %(count)s more.") % {"count": len(each.named) - NAMED})
    if each.nameless:
        names.append(_("no client.id"))
    moves = f"{each.before:,} → {each.after:,}" if each.before is not None and each.after is not None else "–"
    return (
        Cell(each.appid, link("appid", each.pk) if each.pk else ""),
        Cell(f"{each.missing:,} / {each.seen:,}"),
        Cell(", ".join(names)),
        Cell(moves),
    )


def _first(rows: Any, most: int) -> list[Sequence[Any]]:
    return [row for row, _number in zip(rows, range(most), strict=False)]
