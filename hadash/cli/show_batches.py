"""What the batch commands print."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hadash.cli.show import LISTED, clock, moment
from hadash.cli.statuses import colour, status

#: Characters of a progress bar.
WIDTH = 48


def proposal(found: dict[str, Any]) -> RenderableType:
    """Return a batch's proposal for printing: its waves and their blockers."""
    radii, waves = found["radii"], found["waves"]
    left_out = [row for row in radii if not row["wave"]]
    head = Text.assemble(
        (f"{sum(waves)} radii in {len(waves)} waves", "bold"),
        f": {found['source']} → {found['target']}, at most {found['parallelism']} at once  ",
        (found["digest"], "dim"),
    )
    table = Table("wave", "radius", "Topics", "clients", "records at risk", box=None, pad_edge=False)
    for row in radii[:LISTED]:
        risk = "?" if row["records_at_risk"] is None else str(row["records_at_risk"])
        wave = str(row["wave"]) if row["wave"] else "left out"
        table.add_row(wave, Text(row["what"]), str(row["topics"]), str(row["clients"]), risk)
    parts: list[RenderableType] = [head, table]
    if len(radii) > LISTED:
        parts.append(Text(f"… and {len(radii) - LISTED} more", style="dim"))
    against = [row for row in radii if row["blockers"] and row["wave"]]
    parts += [Text(f"✗ {row['what']}: {' '.join(row['blockers'])}", "red") for row in against[:LISTED]]
    parts += [Text(f"– {row['what']}: {' '.join(row['blockers'])}", "dim") for row in left_out[:LISTED]]
    return Group(*parts)


def batches(rows: Iterable[dict[str, Any]]) -> Table:
    """Return a table of batches for printing."""
    table = Table(
        "key", "radii", "from", "to", "status", "settled", "requested by", "at", box=None, pad_edge=False
    )
    for row in rows:
        table.add_row(
            Text(row["key"]),
            str(row["radii"]),
            Text(row["source"]),
            Text(row["target"]),
            status(row["status"]),
            f"{_settled(row['counts'])} / {row['radii']}",
            Text(row["requested_by"]),
            moment(row["requested_at"]),
        )
    return table


def batch(found: dict[str, Any], items: Iterable[dict[str, Any]] = ()) -> RenderableType:
    """Return a batch for printing, with a progress bar over the whole and one for each wave that has begun.

    :param items: the items that have failed or are running.
    """
    counts = found["counts"]
    head = Text.assemble(
        (f"{found['radii']} radii", "bold"),
        f": {found['source']} → {found['target']}  ",
        status(found["status"]),
        f"  {_settled(counts)} settled, {counts['running']} running, {counts['failed']} failed",
    )
    parts: list[RenderableType] = [head, Text(f"{found['reason']} ({found['requested_by']})", style="dim")]
    if found["status"] == "awaiting_approval":
        parts.append(
            Text(f"{len(found['approvals'])} of {found['approvals_needed']} approvals", style="yellow")
        )
        if found["left_out"]:
            parts.append(Text(f"Left out: {', '.join(found['left_out'][:LISTED])}", style="dim"))
    parts.append(ProgressBar(total=max(found["radii"], 1), completed=_settled(counts), width=WIDTH))
    waves = Table(box=None, pad_edge=False, show_header=False)
    for wave in found["waves"]:
        total = sum(wave["counts"].values())
        if wave["counts"]["waiting"] < total:
            bar = ProgressBar(total=total, completed=_settled(wave["counts"]), width=WIDTH // 2)
            waves.add_row(f"wave {wave['wave']}", bar, f"{_settled(wave['counts'])} / {total}")
    if waves.row_count:
        parts.append(waves)
    for item in items:
        by = f" (switch {item['switch']})" if item["switch"] else ""
        said = f": {item['outcome']}" if item["outcome"] else ""
        style = colour(item["status"])
        parts.append(Text(f"{item['what']} {item['status']}{by}{said}", style=style))
    if found["outcome"]:
        parts.append(Text(found["outcome"], style=colour(found["status"])))
    return Group(*parts)


def log_line(line: dict[str, Any]) -> Text:
    """Return one line of a batch's log for printing."""
    return Text.assemble((f"{clock(line['at'])} ", "dim"), line["sentence"])


def _settled(counts: dict[str, int]) -> int:
    return counts["done"] + counts["dropped"]
