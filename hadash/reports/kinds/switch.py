"""The record of a switch that has ended: its outcome, how long its clients waited, and the proof that nothing
was lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.presentation import badges
from hadash.presentation.localized import sentence, stage_name
from hadash.presentation.record import PROOF_COLUMNS, proof_of, record_of
from hadash.presentation.selectors import name_of
from hadash.reports import charts, drawing
from hadash.reports.kinds import moved, parts
from hadash.reports.links import link
from hadash.reports.marks import marked
from hadash.reports.recipients import View
from hadash.reports.report import Cell, Figure, Heading, Line, Picture, Report, Section, Table, Tone
from hadash.switching.execution.pauses import Pause, kept_pauses
from hadash.switching.machines.switches import Status
from hadash.switching.models.switches import StageRecord, Switch

#: Rows of the proof and pauses in the mail, at most; its page has all.
PROOF_SHOWN, PAUSES_SHOWN = 12, 10
#: Rows of the records that were never mirrored, at most. The mail's CSV has all.
UNREPLICATED_SHOWN = 50

_TONES = {Status.SUCCEEDED: Tone.FINE, Status.ROLLED_BACK: Tone.NOTICE}
_RESULTS = {
    StageRecord.Result.DONE: Tone.FINE,
    StageRecord.Result.FAILED: Tone.BAD,
    StageRecord.Result.INTERRUPTED: Tone.NOTICE,
    StageRecord.Result.UNKNOWN: Tone.NOTICE,
}


class NoSuchSwitch(LookupError):
    """A switch does not exist, or belongs to a pair that the reader may not see."""


def build(view: View, now: datetime, url: str, about: str = "") -> Report:
    """Build the record of a switch.

    :param about: the key of the switch.
    :raises NoSuchSwitch: it does not exist for this reader.
    """
    switch = find(view, about)
    record = record_of(switch)
    pauses = kept_pauses(switch)
    longest = max((p.seconds for p in pauses if p.seconds is not None), default=None)
    address = link("switch", switch.key)
    return Report(
        kind="switch",
        title=_("Record of switch %(key)s") % {"key": switch.key},
        subject=_subject(switch, longest),
        verdict=Line(sentence(switch.outcome_sentence), _TONES.get(switch.current, Tone.BAD), address),
        as_of=switch.ended_at,
        url=url,
        generated=parts.generated([switch.pair]),
        sections=[
            figures_of(switch, record, longest),
            *moved.section_of(switch, record, pauses),
            _who(switch, record["approvals"]),
            _pauses(pauses, address),
            stages_of(record["records"]),
            _proof(switch, record["records"], address),
            *unreplicated_of(switch, record["unreplicated_rows"], address),
        ],
    )


def find(view: View, key: str) -> Switch:
    """Return the switch with this key.

    :raises NoSuchSwitch: it does not exist for this reader.
    """
    found: Switch | None = (
        Switch.objects.filter(key=key, pair__name__in=view.pairs)
        .select_related("pair", "source", "target", "requested_by", "decided_by", "reviewed_by")
        .first()
    )
    if found is None:
        raise NoSuchSwitch(key)
    return found


def _subject(switch: Switch, longest: float | None) -> str:
    said = [str(badges.of_row(switch).word)]
    if longest is not None:
        said.append(_("longest pause %(seconds)s s") % {"seconds": f"{longest:.2f}"})
    whose = f"{switch.scope}, {switch.source.name} → {switch.target.name}"
    return parts.subject([whose], said)


def figures_of(switch: Switch, record: Mapping[str, Any], longest: float | None) -> Section:
    """Return the figures that the record begins with.

    :param record: of :func:`hadash.presentation.record.record_of`.
    :param longest: the longest pause of a client, in seconds.
    """
    lost, partitions = record["lost"], record["proof_count"]
    took = (
        (switch.ended_at - switch.started_at).total_seconds()
        if switch.ended_at and switch.started_at
        else None
    )
    return Section(
        _("At a glance"),
        figures=[
            Figure(_("Longest pause of a client"), seconds_word(longest)),
            Figure(_("Writes were refused"), seconds_word(record["refused_seconds"])),
            Figure(_("From start to end"), seconds_word(took)),
            Figure(_("Records lost"), lost.said, says=lost.because),
            Figure(
                _("Partitions proved equal"),
                f"{partitions:,}",
                says="" if partitions else _("no drain has proved any"),
            ),
        ],
    )


def seconds_word(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f} s" if value < 60 else f"{value / 60:.1f} min"


def _who(switch: Switch, approvals: Sequence[Any]) -> Section:
    lines = [
        Line(
            _("Requested by %(person)s at %(at)s: %(reason)s")
            % {
                "person": name_of(switch.requested_by),
                "at": parts.moment(switch.requested_at),
                "reason": switch.reason,
            }
        )
    ]
    lines += [
        Line(
            _("Approved by %(person)s at %(at)s")
            % {"person": name_of(each.user), "at": parts.moment(each.at)}
        )
        for each in approvals
    ]
    return Section(_("Who asked and who agreed"), lines=lines)


def _pauses(pauses: Sequence[Pause], address: str) -> Section:
    """Return the section of pauses. :param address: the page that has all of them."""
    shown = pauses[:PAUSES_SHOWN]
    title = _("Pauses of clients, the longest first")
    if not shown:
        return Section(title, empty=_("No Gateway has seen a client pause."))
    known = [
        (f"{p.client_id or p.appid}", p.seconds, seconds_word(p.seconds))
        for p in shown
        if p.seconds is not None
    ]
    alt = ", ".join(f"{name} {said}" for name, _value, said in known)
    picture = (
        Picture("pauses", charts.bars(known, " s"), drawing.WIDTH, charts.bars_height(len(known)), alt)
        if known
        else None
    )
    never = [
        Line(_("%(client)s had not gone on when it ended.") % {"client": p.client_id or p.appid}, Tone.BAD)
        for p in shown
        if p.seconds is None
    ]
    left_out = len(pauses) - len(shown)
    if left_out:
        said = ngettext("and %(n)s more", "and %(n)s more", left_out) % {"n": f"{left_out:,}"}
        never.append(Line(said, Tone.PLAIN, address))
    table = Table(
        (), (), len(pauses),
        csv_name="pauses", csv_columns=("appid", "client_id", "kind", "since", "until", "seconds"),
        all_rows=[(p.appid, p.client_id, p.kind, p.since, p.until, p.seconds) for p in pauses],
    )  # fmt: skip
    return Section(title, lines=never, picture=picture, table=table)


def stages_of(records: Sequence[StageRecord]) -> Section:
    rows = [
        (
            Cell(stage_name(each.stage)),
            Cell(timezone.localtime(each.started_at).strftime("%H:%M:%S")),
            Cell(seconds_word(each.seconds)),
            Cell(each.get_result_display(), tone=_RESULTS.get(StageRecord.Result(each.result), Tone.PLAIN)),
        )
        for each in records
    ]
    columns = [
        Heading(_("Stage")),
        Heading(_("Began")),
        Heading(_("Took"), is_number=True),
        Heading(_("Result")),
    ]
    return Section(_("Stages"), table=Table(columns, rows, len(rows)), empty=_("No stage has run."))


def _proof(switch: Switch, records: Sequence[StageRecord], address: str) -> Section:
    proof = proof_of(switch.facts, records)
    rows = [
        (
            Cell(f"{p.topic}-{p.partition}"),
            Cell(offset_word(p.last_on_source)),
            Cell(offset_word(p.copy_on_target)),
            Cell(f"{p.target_end:,}"),
        )
        for p in proof[:PROOF_SHOWN]
    ]
    columns = [
        Heading(_("Partition")),
        Heading(
            _("last record on %(cluster)s") % {"cluster": marked(switch.source, switch.pair)}, is_number=True
        ),
        Heading(
            _("its copy on %(cluster)s") % {"cluster": marked(switch.target, switch.pair)}, is_number=True
        ),
        Heading(_("first record there"), is_number=True),
    ]
    table = Table(
        columns,
        rows,
        len(proof),
        address,
        csv_name="proof",
        csv_columns=PROOF_COLUMNS,
        all_rows=[p.row for p in proof],
    )
    says = (
        _("Nobody could write while both sides were compared: each partition ended at the same record.")
        if proof
        else ""
    )
    empty = _("Both sides were not proved equal: that was not this switch's way, or it did not come so far.")
    return Section(_("What proves that nothing was lost"), says=says, table=table, empty=empty)


def unreplicated_of(
    switch: Switch, rows: Sequence[Mapping[str, Any]], address: str, most: int = UNREPLICATED_SHOWN
) -> list[Section]:
    """Return the section of the records that the lost source held and that were never mirrored, or none.

    :param rows: of :func:`hadash.switching.recovery.unreplicated.shown`. :param address: the page that has all.
    :param most: rows that are shown.
    """
    if not rows:
        return []
    columns = [
        Heading(_("Partition"), share=3),
        Heading(_("first offset"), is_number=True),
        Heading(_("end offset"), is_number=True),
        Heading(_("records"), is_number=True),
    ]
    cells = [
        (
            Cell(f"{row['topic']}-{row['partition']}"),
            Cell(f"{row['first']:,}"),
            Cell(f"{row['end']:,}"),
            Cell(f"{row['records']:,}"),
        )
        for row in rows[:most]
    ]
    table = Table(
        columns, cells, len(rows), address,
        csv_name="unreplicated", csv_columns=("topic", "partition", "first", "end", "records"),
        all_rows=[tuple(row.values()) for row in rows],
    )  # fmt: skip
    source = {"cluster": switch.source.name}
    says = _("Records that %(cluster)s held and that were never mirrored.") % source
    return [Section(_("Unreplicated records of %(cluster)s") % source, says=says, table=table)]


def offset_word(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
