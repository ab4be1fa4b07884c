"""The whole record of a switch that has ended, for the PDF: what a mail says of it, and everything that its page has
beyond: each client's pause on one time axis, the digests, the proof of each partition, and the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from hadash.presentation.labels import stage_word
from hadash.presentation.record import PROOF_COLUMNS, Proved, moment, proof_of, record_of
from hadash.presentation.selectors import name_of
from hadash.reports import charts, drawing
from hadash.reports.kinds import moved, parts, switch
from hadash.reports.kinds.switch import figures_of, offset_word, seconds_word, stages_of, unreplicated_of
from hadash.reports.links import link
from hadash.reports.marks import marked
from hadash.reports.recipients import View
from hadash.reports.report import Cell, Heading, Line, Picture, Report, Section, Table, Tone
from hadash.switching.execution.pauses import Pause, kept_pauses
from hadash.switching.machines.switches import STAGES, Stage
from hadash.switching.models.switches import StageRecord, Switch

#: Rows of a table, at most: some fifty pages. The page's CSV has all.
ROWS = 2000
#: Clients whose pauses are drawn, the longest: more than half a page says no more. The table has all.
DRAWN = 20


def build(view: View, now: datetime, key: str) -> Report:
    """Build the whole record of a switch, in the active language and time zone.

    :raises NoSuchSwitch: it does not exist for this reader.
    """
    found = switch.find(view, key)
    record = record_of(found)
    pauses = kept_pauses(found)
    address = link("switch-record", found.key)
    longest = max((p.seconds for p in pauses if p.seconds is not None), default=None)
    return replace(
        switch.build(view, now, "", key),
        sections=[
            figures_of(found, record, longest),
            *moved.section_of(found, record, pauses),
            _who(found, record),
            _what_moved(record["plan"]),
            _pauses(pauses, record["records"], address),
            stages_of(record["records"]),
            _proof(found, proof_of(found.facts, record["records"]), address),
            *unreplicated_of(found, record["unreplicated_rows"], address, ROWS),
            _log(record["log"]),
        ],
    )


def _who(found: Switch, record: Mapping[str, Any]) -> Section:
    """Return who asked and who agreed, and the digests that tie this record to the plan and to the audit log."""
    said = [
        _("Requested by %(person)s at %(at)s: %(reason)s")
        % {
            "person": name_of(found.requested_by),
            "at": parts.moment(found.requested_at),
            "reason": found.reason,
        }
    ]
    approvals = record["approvals"]
    said += [
        _("Approved by %(person)s at %(at)s, plan %(digest)s")
        % {"person": name_of(each.user), "at": parts.moment(each.at), "digest": each.digest}
        for each in approvals
    ]
    if not approvals and found.decided_by:
        said.append(
            _noted(
                _("Decided by %(person)s at %(at)s"), found.decided_by, found.decided_at, found.decision_note
            )
        )
    elif not approvals:
        said.append(_("Approved by nobody."))
    if found.reviewed_by:
        said.append(
            _noted(
                _("Reviewed by %(person)s at %(at)s"), found.reviewed_by, found.reviewed_at, found.review_note
            )
        )
    said.append(_("Plan: %(digest)s") % {"digest": found.plan_digest})
    if newest := record["newest_entry"]:
        said.append(
            _("Entries in the audit log: %(count)s, the last one number %(number)s, SHA-256 %(digest)s")
            % {"count": f"{record['entry_count']:,}", "number": newest.number, "digest": newest.digest}
        )
    return Section(_("Who asked and who agreed"), lines=[Line(each) for each in said])


def _noted(words: str, person: Any, at: datetime | None, note: str) -> str:
    said = words % {"person": name_of(person), "at": parts.moment(at)}
    return f"{said}: {note}" if note else said


def _what_moved(plan: Any) -> Section:
    named = (
        (_("Topics"), plan.topics),
        (_("Groups"), plan.groups),
        (_("Consumer pools"), [str(each) for each in plan.pools]),
        (_("Bindings"), [str(identity) for identity in plan.identities]),
        (_("Mirrors"), plan.mirrors),
    )
    return Section(
        _("What moved"),
        lines=[Line(f"{word} ({len(names):,}): {', '.join(names) or _('none')}") for word, names in named],
    )


def _pauses(pauses: Sequence[Pause], records: Sequence[StageRecord], address: str) -> Section:
    title = _("Each client's own pause")
    if not pauses:
        return Section(title, empty=_("No Gateway has seen a client pause."))
    columns = [
        Heading(_("Client"), share=3),
        Heading(_("What it does")),
        Heading(_("Last record before"), is_short=True),
        Heading(_("First record after"), is_short=True),
        Heading(_("Seconds"), is_number=True),
    ]
    rows = [
        (
            Cell(f"{p.appid} › {p.client_id}" if p.client_id else p.appid),
            Cell(_("writes") if p.writes else _("reads")),
            Cell(_clock(p.since)),
            Cell(_clock(p.until)) if p.until is not None else Cell(_("no record since"), tone=Tone.BAD),
            Cell("" if p.seconds is None else f"{p.seconds:.2f}"),
        )
        for p in pauses[:ROWS]
    ]
    table = Table(
        columns, rows, len(pauses), address,
        csv_name="pauses", csv_columns=("appid", "client_id", "kind", "since", "until", "seconds"),
        all_rows=[(p.appid, p.client_id, p.kind, p.since, p.until, p.seconds) for p in pauses],
    )  # fmt: skip
    return Section(
        title,
        says=_(
            "From its last record before it was let go on to its first one after, with the stages behind it."
        ),
        picture=_timeline(pauses[:DRAWN], records),
        table=table,
    )


def _timeline(pauses: Sequence[Pause], records: Sequence[StageRecord]) -> Picture:
    bars = [
        charts.Bar(
            p.client_id or p.appid,
            p.since,
            p.until,
            seconds_word(p.seconds) if p.until else _("no record since"),
        )
        for p in pauses
    ]
    bands = [
        charts.Band(
            stage_word(Stage(each.stage)),
            each.started_at.timestamp(),
            each.ended_at.timestamp(),
            STAGES[Stage(each.stage)].writes_blocked,
        )
        for each in records
        if each.ended_at is not None
    ]
    alt = ", ".join(f"{bar.name} {bar.said}" for bar in bars)
    svg = charts.timeline(bars, bands, _clock)
    return Picture("pauses", svg, drawing.WIDTH, charts.timeline_height(len(bars)), alt)


def _clock(seconds: float | None) -> str:
    at = moment(seconds)
    return "–" if at is None else f"{timezone.localtime(at):%H:%M:%S.%f}"[:-4]


def _proof(found: Switch, proof: Sequence[Proved], address: str) -> Section:
    source, target = (marked(cluster, found.pair) for cluster in (found.source, found.target))
    columns = [
        Heading(_("Partition"), share=3),
        Heading(_("first record on %(cluster)s") % {"cluster": source}, is_number=True),
        Heading(_("first record on %(cluster)s") % {"cluster": target}, is_number=True),
        Heading(_("last record on %(cluster)s") % {"cluster": source}, is_number=True),
        Heading(_("its copy on %(cluster)s") % {"cluster": target}, is_number=True),
        Heading(_("compared"), is_number=True),
        Heading(_("first record afterwards"), is_number=True),
    ]
    rows = [
        (
            Cell(f"{p.topic}-{p.partition}"),
            Cell(_noted_offset(p.source_begin)),
            Cell(_noted_offset(p.target_begin)),
            Cell(offset_word(p.last_on_source)),
            Cell(offset_word(p.copy_on_target)),
            Cell(_noted_offset(p.compared)),
            Cell(f"{p.target_end:,}"),
        )
        for p in proof[:ROWS]
    ]
    table = Table(
        columns, rows, len(proof), address,
        csv_name="proof", csv_columns=PROOF_COLUMNS, all_rows=[p.row for p in proof],
    )  # fmt: skip
    says = _(
        "While writes were blocked the source stood still, the target held as many records, and the last records of "
        "both sides had the same checksums. What clients wrote afterwards begins at the offset in the last column."
    )
    empty = _("Both sides were not proved equal: that was not this switch's way, or it did not come so far.")
    return Section(
        _("What proves that nothing was lost"), says=says if proof else "", table=table, empty=empty
    )


def _noted_offset(value: int | None) -> str:
    """Return an offset or a number that older switches have not noted."""
    return "?" if value is None else f"{value:,}"


def _log(lines: Sequence[Mapping[str, Any]]) -> Section:
    rows = [
        (Cell(_second(line["at"])), Cell(str(line["actor"])), Cell(str(line["sentence"])))
        for line in lines[-ROWS:]
    ]
    columns = [Heading(_("When"), is_short=True), Heading(_("Who")), Heading(_("What"), share=4)]
    return Section(_("Log"), table=Table(columns, rows, len(lines)), empty=_("Nothing was noted."))


def _second(at: str) -> str:
    return f"{timezone.localtime(datetime.fromisoformat(at)):%Y-%m-%d %H:%M:%S}"
