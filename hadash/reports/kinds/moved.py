"""The section of a switch's record that draws what it moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.presentation import live
from hadash.reports import drawing, moves
from hadash.reports.report import Picture, Section
from hadash.switching.execution.pauses import Pause
from hadash.switching.machines.switches import Stage, Status
from hadash.switching.models.switches import StageRecord, Switch

#: Seconds over which the rates before and at the end are computed: as long as a person looks at a figure.
RATED_SECONDS = 5.0

_ENDED_ON = {Status.SUCCEEDED: "target", Status.ROLLED_BACK: "source"}


def section_of(switch: Switch, record: Mapping[str, Any], pauses: Sequence[Pause]) -> list[Section]:
    """Return the section, or none if the switch has not ended, never ran, or was not to move anything.

    :param record: of :func:`hadash.presentation.record.record_of`.
    """
    if switch.open or switch.started_at is None or switch.the_kind.spec.changes_nothing:
        return []
    moved = moved_by(switch, record, pauses)
    picture = Picture(
        "moved", moves.draw(moved), drawing.WIDTH, moves.height_of(moved), moves.in_words(moved)
    )
    said = {
        Status.SUCCEEDED: _("Dashed: the way that the clients had before."),
        Status.ROLLED_BACK: _("The clients are where they were before."),
    }.get(switch.current, _("It is not known on which cluster each client is."))
    says = " ".join((said, _("↑ are writes, ↓ reads.")))
    return [Section(_("What moved, as a picture"), says=says, picture=picture)]


def moved_by(switch: Switch, record: Mapping[str, Any], pauses: Sequence[Pause]) -> moves.Moved:
    """Return what is drawn of a switch that has ended."""
    hues = {"source": "first", "target": "second"}
    if switch.source_id != switch.pair.first_id:
        hues = {"source": "second", "target": "first"}
    sides = {
        hues["source"]: moves.Side(
            switch.source.name, hues["source"], _rates(_("before"), _before(switch, switch.source.name))
        ),
        hues["target"]: moves.Side(
            switch.target.name,
            hues["target"],
            _rates(_("in the end"), _in_the_end(switch, switch.target.name)),
        ),
    }
    ended_on = _ENDED_ON.get(switch.current)
    clients = _clients(switch, pauses)
    left_out = len(clients) - moves.MOST_CLIENTS
    return moves.Moved(
        heads=(_("Clients"), _("Gateways"), _("Clusters")),
        clients=clients[: moves.MOST_CLIENTS],
        first=sides["first"],
        second=sides["second"],
        source=hues["source"],
        target=hues["target"],
        ended_on=hues[ended_on] if ended_on is not None else None,
        gateways=_refused(record["refused_seconds"]),
        mirror=_mirror(record),
        copies_to=_copies_to(record["records"], hues, ended_on),
        more=ngettext("and %(n)s more", "and %(n)s more", left_out) % {"n": f"{left_out:,}"}
        if left_out > 0
        else "",
    )


def _clients(switch: Switch, pauses: Iterable[Pause]) -> list[moves.Client]:
    """The clients that paused, the longest pause first; without any, the bindings that were to move."""
    plan = switch.the_plan()
    found: dict[str, list[Pause]] = {}
    for pause in pauses:
        found.setdefault(plan.who(pause.appid, pause.client_id or _("(no client.id)")), []).append(pause)
    if not found:
        return [moves.Client(str(identity), "", None) for identity in plan.identities]
    return [moves.Client(name, _paused(of), all(p.until for p in of)) for name, of in found.items()]


def _paused(pauses: Sequence[Pause]) -> str:
    """How long a client was without a record, for what it does."""
    signs = {"produce": "↑", "consume": "↓"}
    said = [
        f"{signs[p.kind]} {p.seconds:.2f} s" if p.seconds is not None else f"{signs[p.kind]} –"
        for p in sorted(pauses, key=lambda each: each.kind, reverse=True)
    ]
    return _("waited %(seconds)s") % {"seconds": "  ".join(said)}


def _refused(seconds: float | None) -> list[str]:
    return [] if seconds is None else [_("writes refused"), f"{seconds:.2f} s"]


def _mirror(record: Mapping[str, Any]) -> list[str]:
    mirrors = record["plan"].mirrors
    if not mirrors:
        return [_("no mirror")]
    lines = [
        mirrors[0]
        if len(mirrors) == 1
        else ngettext("%(n)s mirror", "%(n)s mirrors", len(mirrors)) % {"n": len(mirrors)}
    ]
    if count := record["proof_count"]:
        lines += [
            ngettext("%(n)s partition", "%(n)s partitions", count) % {"n": f"{count:,}"},
            _("proved equal"),
        ]
    return lines


def _copies_to(records: Iterable[StageRecord], hues: Mapping[str, str], ended_on: str | None) -> str | None:
    """Where the mirror copies to in the end, as far as the stages tell."""
    done = {record.stage for record in records if record.result == StageRecord.Result.DONE}
    if ended_on == "target":
        return hues["source"] if Stage.REVERSE.value in done else None
    return hues["target"] if ended_on == "source" else None


# -- rates --------------------------------------------------------------------------------------------------------


def _before(switch: Switch, cluster: str) -> tuple[float, float] | None:
    until = switch.started_at.timestamp() if switch.started_at else 0.0
    return rate(switch.traffic, cluster, until - RATED_SECONDS, until)


def _in_the_end(switch: Switch, cluster: str) -> tuple[float, float] | None:
    until = switch.ended_at.timestamp() if switch.ended_at else 0.0
    return rate(switch.traffic, cluster, until - RATED_SECONDS, until)


def rate(
    samples: Iterable[Mapping[str, Any]], cluster: str, begin: float, end: float
) -> tuple[float, float] | None:
    """Return the records per second that were written to and read from a cluster; ``None`` without a sample.

    :param samples: of all Gateways; each is of the :data:`hadash.presentation.live.SAMPLE_SECONDS` before its time.
    """
    within = [sample for sample in samples if begin < float(sample["at"]) - live.SAMPLE_SECONDS / 2 <= end]
    if not within:
        return None
    written, read = (sum(sample["clusters"].get(cluster, (0, 0))[n] for sample in within) for n in (0, 1))
    return written / (end - begin), read / (end - begin)


def _rates(when: str, known: tuple[float, float] | None) -> list[str]:
    if known is None:
        return []
    written, read = known
    return [when, f"↑ {_short(written)}/s  ↓ {_short(read)}/s"]


def _short(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 or rate == 0 else f"{rate:.1f}"
