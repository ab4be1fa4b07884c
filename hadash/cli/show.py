"""What the commands print: tables and sentences on a terminal.

Names are :class:`Text`: rich would take the brackets of a client.id such as ``web[blue]`` for markup.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hadash.cli.statuses import colour, status
from hadash.switching.machines.switches import KINDS, Kind, KindSpec

#: result of a stage → (sign, colour).
MARKS = {
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "running": ("…", "yellow"),
    "interrupted": ("!", "yellow"),
    "unknown": ("?", "yellow"),
}

#: Most members and clients that are listed; the page has all of them.
LISTED = 40


def scope(value: dict[str, Any]) -> str:
    """Return a scope as text.
    >>> scope({"kind": "instance", "appid": "shop", "instance_id": "carts", "topics": []})
    'shop › carts'
    """
    match value["kind"]:
        case "appid":
            return str(value["appid"])
        case "instance":
            return f"{value['appid']} › {value['instance_id']}"
        case "topics":
            return f"Topics {', '.join(value['topics'])}"
        case "several":
            return ", ".join(key.partition(":")[2] for key in value["roots"])
    return "everything"


def plan(proposal: dict[str, Any]) -> RenderableType:
    """Return a plan for printing: its members, why they move, and its blockers."""
    found = proposal["plan"]
    head = Text.assemble(
        (scope(found["scope"]), "bold"),
        f": {found['source']} → {found['target']}  ",
        (proposal["plan_digest"], "dim"),
    )
    members = Table("", "member", "because", box=None, pad_edge=False)
    for member in proposal["members"][:LISTED]:
        why = f"{member['why']}{' (there already)' if member['already'] else ''}"
        members.add_row(*map(Text, (member["kind"], member["name"], why)))
    parts: list[RenderableType] = [head, members]
    if len(proposal["members"]) > LISTED:
        parts.append(Text(f"… and {len(proposal['members']) - LISTED} more", style="dim"))
    if pools := found.get("pools"):  # (an older server tells none)
        names = ", ".join(f"{each['pool']} › {each['topic']}" for each in pools)
        parts.append(Text(f"Consumer pools whose members move: {names}"))
    risk = proposal["records_at_risk"]
    parts.append(
        Text(
            f"{'Readers' if _is_split(proposal) else 'Writes'} wait for about "
            f"{proposal['expected_pause_seconds']:g} s. "
            f"Not in the mirror yet: {'not known' if risk is None else risk} records."
        )
    )
    parts += [
        Text(
            f"✗ {use['appid']} › {use['client_id'] or '(no client.id)'} has no InstanceID ({use['kind']} "
            f"{use['resource']})",
            "red",
        )
        for use in proposal["uncovered"][:LISTED]
    ]
    if holder := proposal["held_by"]:
        parts.append(Text(f"✗ {holder['kind']} {holder['key']} holds part of it", "red"))
    parts += [Text(f"✗ {reason}", "red") for reason in proposal["blockers"]]
    if note := _OF_CHECKS.get(proposal["checks"]):
        parts.append(Text(note, style="dim"))
    return Group(*parts)


#: ``checks`` of the API's plan → the sentence about them.
_OF_CHECKS = {
    "hold": "All checks hold.",
    "failed": "The checks stop at the first that fails: there may be more.",
    "not made": "Clusters, Gateways, mirrors and users are checked when the plan has no blockers.",
}


def switches(rows: Iterable[dict[str, Any]]) -> Table:
    """Return a table of switches for printing."""
    table = Table("key", "what", "from", "to", "status", "requested by", "at", box=None, pad_edge=False)
    for row in rows:
        at = moment(row["requested_at"])
        table.add_row(
            Text(row["key"]),
            Text(scope(row["scope"])),
            Text(row["source"]),
            Text(row["target"]),
            status(row["status"]),
            Text(row["requested_by"]),
            at,
        )
    return table


def switch(found: dict[str, Any], log: Iterable[dict[str, Any]] = ()) -> RenderableType:
    """Return a switch for printing, with a progress bar over its stages."""
    head = Text.assemble(
        (scope(found["scope"]), "bold"), f": {found['source']} → {found['target']}  ", status(found["status"])
    )
    parts: list[RenderableType] = [head, Text(f"{found['reason']} ({found['requested_by']})", style="dim")]
    if found["status"] == "awaiting_approval":
        parts.append(
            Text(f"{len(found['approvals'])} of {found['approvals_needed']} approvals", style="yellow")
        )
    if found["stages"]:
        parts += [_bar(found), _stages(found)]
    if found["blocked"]:
        parts.append(Text("Readers wait." if _is_split(found) else "Writes are blocked.", style="bold red"))
    parts += [_line(line) for line in log]
    if found["outcome"]:
        parts.append(Text(found["outcome"], style=colour(found["status"])))
    if found["retirement"] is not None:
        parts.append(_retirement(found))
    if found["refused_seconds"] is not None:
        what = "Readers waited" if _is_split(found) else "Writes were refused"
        parts.append(Text(f"{what} for {found['refused_seconds']:.2f} s.", style="dim"))
    return Group(*parts)


def _retirement(found: dict[str, Any]) -> Text:
    held = found["retirement"]
    text = f"Old Topics on {found['source']}: {held['status']}"
    if held["status"] == "waiting":
        text += f", deleted on {moment(held['due_at'])}"
    return Text(f"{text}. {held['outcome']}".strip(), style="red" if held["status"] == "failed" else "")


def spec(found: dict[str, Any]) -> KindSpec:
    """Return the specification of a switch's kind; a kind that only a newer server knows is taken for a planned one."""
    return KINDS.get(found["kind"], KINDS[Kind.PLANNED])


def _is_split(found: dict[str, Any]) -> bool:
    """Whether a switch is a read split, which blocks no writes."""
    return spec(found).readers_only


def _newest(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {attempt["stage"]: attempt for attempt in found["stages"]}


def _bar(found: dict[str, Any]) -> ProgressBar:
    done = sum(attempt["result"] == "done" for name, attempt in _newest(found).items() if name != "return")
    return ProgressBar(total=len(spec(found).way), completed=done, width=48)


def _stages(found: dict[str, Any]) -> Text:
    newest = _newest(found)
    words: list[Any] = []
    way = spec(found).way
    for name in (*way, *(["return"] if "return" in newest else [])):
        mark, colour = MARKS.get(newest[name]["result"], ("·", "")) if name in newest else ("·", "dim")
        words += [(f"{mark} {name}", colour), "  "]
    return Text.assemble(*words)


def _line(line: dict[str, Any]) -> Text:
    return Text.assemble((f"{clock(line['at'])} ", "dim"), (f"{line['stage']:>9} ", "cyan"), line["sentence"])


def log_line(line: dict[str, Any]) -> Text:
    """Return one line of a switch's log for printing."""
    return _line(line)


def moment(text: str) -> str:
    """Return a time of the API in local time, with the day."""
    return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}"


def clock(text: str) -> str:
    """Return a time of the API in local time, without the day."""
    return f"{datetime.fromisoformat(text).astimezone():%H:%M:%S}"
