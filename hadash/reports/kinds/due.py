"""The report on what is due: approvals that expire, old Topics that are about to be removed, accepted risks
that will count again, and declarations that were not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.changes import Status as ChangeStatus
from hadash.governance import selectors
from hadash.governance.models.runs import Run
from hadash.inventory.compared import Compared
from hadash.inventory.differences import State
from hadash.inventory.models import Pair
from hadash.pools.models import PoolChange
from hadash.presentation.localized import sentence
from hadash.reports.kinds import parts
from hadash.reports.links import link
from hadash.reports.marks import marked, unmarked
from hadash.reports.recipients import View
from hadash.reports.report import Cell, Heading, Line, Report, Section, Table, Tone
from hadash.switching.machines.batches import Status as BatchStatus
from hadash.switching.machines.retirements import OPEN as RETIREMENT_OPEN
from hadash.switching.machines.switches import Status
from hadash.switching.models.batches import Batch
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Switch

#: How far ahead the report looks.
AHEAD = timedelta(days=14)
#: Entries that are due within this time are marked.
SOON = timedelta(days=2)
#: Rows of each table, at most.
SHOWN = 15


@dataclass(frozen=True, slots=True)
class Due:
    """One entry with the time when it ends. ``whose``: the AppID, scope or pair."""

    at: datetime
    what: str
    whose: str
    url: str


def build(view: View, now: datetime, url: str, about: str = "") -> Report:
    pairs = parts.pairs_named(view.pairs)
    approvals = _soonest(due for due in _approvals(pairs) if due.at <= now + AHEAD)
    removals = _soonest(_removals(pairs, now))
    acceptances = _soonest(_acceptances(view.pairs, now))
    dated = [*approvals, *removals, *acceptances]
    sections = [
        _section(
            _("Approvals that run out"),
            approvals,
            now,
            link("switches", status="awaiting_approval"),
            "approvals",
            _("Nothing waits for an approval."),
        ),
        _section(
            _("Old Topics to be removed"),
            removals,
            now,
            link("overview"),
            "old-topics",
            _("No old Topic is about to be removed."),
        ),
        _section(
            _("Accepted risks that count again"),
            acceptances,
            now,
            link("findings", show="accepted"),
            "acceptances",
            _("No acceptance ends soon."),
        ),
        _unseen(pairs),
    ]
    # Whether an accepted risk is still open was found by the last run; all other data are current.
    as_of = parts.published_at(Run.Job.RISK) if acceptances else now
    stale = parts.stale(as_of, now)
    return Report(
        kind="due",
        title=_("What is due in %(pairs)s") % {"pairs": ", ".join(view.pairs)},
        subject=parts.subject(view.pairs, _said(dated, now), stale),
        verdict=_verdict(dated, now),
        as_of=as_of,
        stale=stale,
        url=url,
        generated=parts.generated(pairs),
        sections=sections,
    )


def _said(found: Sequence[Due], now: datetime) -> list[str]:
    if not found:
        return [_("nothing is due")]
    soon = sum(due.at <= now + SOON for due in found)
    said = [
        ngettext("%(n)s is due within two weeks", "%(n)s are due within two weeks", len(found))
        % {"n": f"{len(found):,}"}
    ]
    if soon:
        said.append(_("%(n)s within two days") % {"n": soon})
    return said


def _verdict(found: Sequence[Due], now: datetime) -> Line:
    if not found:
        return Line(_("Nothing is due within two weeks."), Tone.FINE)
    first = min(found, key=lambda due: due.at)
    tone = Tone.NOTICE if first.at <= now + SOON else Tone.PLAIN
    return Line(
        _("Next, %(at)s: %(what)s (%(whose)s)")
        % {"at": parts.moment(first.at), "what": first.what, "whose": first.whose},
        tone,
        first.url,
    )


def _soonest(found: Iterator[Due]) -> list[Due]:
    return sorted(found, key=lambda due: due.at)


def _section(title: str, every: Sequence[Due], now: datetime, url: str, csv_name: str, empty: str) -> Section:
    """Return the section of some entries. :param url: the page that has all of them."""
    rows = [
        (
            Cell(parts.moment(due.at), tone=Tone.NOTICE if due.at <= now + SOON else Tone.PLAIN),
            Cell(due.what, due.url),
            Cell(due.whose),
        )
        for due in every[:SHOWN]
    ]
    table = Table(
        [Heading(_("Until"), is_short=True), Heading(_("What")), Heading(_("Whose"))],
        rows,
        len(every),
        url,
        csv_name=csv_name if every else "",
        csv_columns=("until", "what", "whose", "address"),
        all_rows=[
            (due.at.isoformat(), unmarked(due.what), due.whose, due.url)
            for due in every[: settings.REPORT_CSV_ROWS]
        ],
    )
    return Section(title, table=table, empty=empty)


def _approvals(pairs: Sequence[Pair]) -> Iterator[Due]:
    switches = Switch.objects.filter(pair__in=pairs, status=Status.AWAITING_APPROVAL.value).select_related(
        "source", "target", "pair"
    )
    for switch in switches:
        what = _("switch %(key)s: %(source)s → %(target)s") % {
            "key": switch.key,
            "source": marked(switch.source, switch.pair),
            "target": marked(switch.target, switch.pair),
        }
        yield Due(switch.expires_at, what, str(switch.scope), link("switch", switch.key))
    for batch in Batch.objects.filter(
        pair__in=pairs, status=BatchStatus.AWAITING_APPROVAL.value
    ).select_related("pair", "target"):
        what = _("batch %(key)s to %(target)s") % {
            "key": batch.key,
            "target": marked(batch.target, batch.pair),
        }
        yield Due(batch.expires_at, what, batch.pair.name, link("batch", batch.key))
    for change in BindingChange.objects.filter(pair__in=pairs, status=ChangeStatus.AWAITING_APPROVAL.value):
        what = _("change of bindings %(key)s") % {"key": change.key}
        yield Due(change.expires_at, what, change.appid, link("binding-change", change.key))
    for asked in PoolChange.objects.filter(pair__in=pairs, status=ChangeStatus.AWAITING_APPROVAL.value):
        what = _("change of a consumer pool %(key)s") % {"key": asked.key}
        yield Due(asked.expires_at, what, asked.pool, link("pool-change", asked.key))


def _removals(pairs: Sequence[Pair], now: datetime) -> Iterator[Due]:
    waiting: QuerySet[Retirement] = Retirement.objects.filter(
        switch__pair__in=pairs, status__in=[s.value for s in RETIREMENT_OPEN], due_at__lte=now + AHEAD
    ).select_related("switch__source", "switch__pair")
    for one in waiting:
        what = _("the old Topics on %(cluster)s are removed") % {
            "cluster": marked(one.switch.source, one.switch.pair)
        }
        yield Due(one.due_at, what, str(one.switch.scope), link("switch", one.switch.key))


def _acceptances(pairs: Sequence[str], now: datetime) -> Iterator[Due]:
    ending = selectors.in_force().filter(
        finding__pair__in=pairs, finding__state="open", until__lte=(now + AHEAD).date()
    )
    for each in ending.select_related("finding"):
        entry = each.finding.entry
        # (An acceptance holds to the end of its day, in UTC.)
        over = datetime.combine(each.until + timedelta(days=1), datetime.min.time(), UTC)
        what = sentence(entry.title) if entry else each.finding.code
        yield Due(
            over,
            what,
            each.finding.appid or each.finding.name or each.finding.pair,
            link("finding", each.finding.pk),
        )


def _unseen(pairs: Sequence[Pair]) -> Section:
    """Return the section of declarations that no client was lately seen to use. (Declarations do not expire.)"""
    rows: list[Sequence[Cell]] = []
    total = 0
    for pair in pairs:
        found = Compared(pair, state=State.UNSEEN)
        total += len(found)
        rows += [
            (
                Cell(each.relation.appid),
                Cell(each.relation.instance_id or "–"),
                Cell(each.relation.kind),
                Cell(each.relation.resource),
            )
            for each in found[0 : max(0, SHOWN - len(rows))]
        ]
    columns = [
        Heading(_("AppID")),
        Heading(_("InstanceID")),
        Heading(_("Does")),
        Heading(_("Topic or group")),
    ]
    says = (
        ngettext(
            "%(n)s declaration was not borne out by any client lately: withdraw it, or ask its owner.",
            "%(n)s declarations were not borne out by any client lately: withdraw them, or ask their owners.",
            total,
        )
        % {"n": f"{total:,}"}
        if total
        else ""
    )
    table = Table(columns, rows, total, link("declarations", pairs[0].pk) if len(pairs) == 1 else "")
    return Section(
        _("Declared, but not seen"),
        says=says,
        table=table,
        empty=_("Every declaration was borne out lately."),
    )
