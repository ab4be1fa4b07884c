"""``hadash batch …``: plan, request, list, show, watch, approve, decline, cancel, stop, resume, end."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from hadash.cli import show_batches as show
from hadash.cli.client import Api
from hadash.cli.prompts import confirmed, text_of
from hadash.cli.statuses import GOING_ON
from hadash.cli.watching import REFUSED, watched
from hadash.switching.batches.waves import read_list

#: Statuses of the items that are shown one by one.
SHOWN = ("failed", "running")


def add_to(commands: Any) -> None:
    """Add the command ``batch`` and its own commands to argparse's sub-commands."""
    own = commands.add_parser("batch", help="many radii in waves").add_subparsers(
        dest="action", required=True
    )
    for name, text in (
        ("plan", "the waves, and what blocks them"),
        ("request", "ask for a batch"),
    ):
        asked = own.add_parser(name, help=text)
        asked.add_argument("--pair", required=True)
        asked.add_argument("--to", required=True, help="the cluster to move to")
        asked.add_argument(
            "--list",
            type=Path,
            metavar="FILE",
            help="names, one a line, each with its wave if you like (orders; 2)",
        )
        asked.add_argument("--appid", action="append", default=[], help="an AppID; may be repeated")
        asked.add_argument("--topics", action="store_true", help="the list names Topics, not AppIDs")
        asked.add_argument("--by-appid", action="store_true", help="AppIDs move as a whole")
        asked.add_argument(
            "--widen", action="store_true", help="clients without an InstanceID take their AppID along"
        )
        asked.add_argument("--wave-size", type=int, help="radii of a wave")
        asked.add_argument("--first-wave", type=int, help="radii of the first wave")
        asked.add_argument("--parallelism", type=int, help="switches that run at once, at most")
        asked.add_argument("--leave-out", action="store_true", help="leave out what cannot move")
        if name == "request":
            asked.add_argument("--reason", required=True)
            asked.add_argument(
                "--digest", default="", help="only if it would still move what had this digest"
            )
            asked.add_argument("--watch", action="store_true", help="stay and watch")
    listed = own.add_parser("list", help="batches, newest first")
    listed.add_argument("--inbox", choices=["all", "waiting", "mine"], default="all")
    listed.add_argument("--status")
    approve = own.add_parser("approve", help="approve the batch that you have looked at")
    approve.add_argument("key")
    approve.add_argument("--digest", help="of what you have looked at; without it you are asked")
    approve.add_argument("--watch", action="store_true", help="stay and watch")
    resume = own.add_parser("resume", help="resume a stopped batch, with what failed again")
    resume.add_argument("key")
    resume.add_argument("--without", action="store_true", help="leave out what failed")
    resume.add_argument("--reason", default="")
    for name, text in (
        ("decline", "decline a batch"),
        ("cancel", "take a batch back before it runs"),
        ("end", "abandon the rest of a stopped batch"),
    ):
        reasoned = own.add_parser(name, help=text)
        reasoned.add_argument("key")
        reasoned.add_argument("--reason", required=True)
    for name, text in (
        ("show", "a batch as it stands now"),
        ("watch", "a batch until its end, or until it stops"),
        ("stop", "let nothing new start"),
    ):
        own.add_parser(name, help=text).add_argument("key")


def run(api: Api, options: argparse.Namespace, out: Console) -> int:
    """Run a ``batch`` command and return the exit code.

    :raises ApiError: it was refused, or there was no answer.
    :raises WrongUsage: a file cannot be read, or there is no terminal to confirm at.
    """
    return _ACTIONS[options.action](api, options, out)


def _asked(options: argparse.Namespace, out: Console) -> dict[str, Any] | None:
    """Return the body of a request; ``None`` when the list has faults, which are printed.

    :raises WrongUsage: the list cannot be read.
    """
    body: dict[str, Any] = {
        "pair": options.pair,
        "target": options.to,
        "names": "topics" if options.topics else "appids",
        "dimension": "appid" if options.by_appid else "instance",
        "widen": options.widen,
        "leave_out": options.leave_out,
    }
    for name in ("wave_size", "first_wave", "parallelism"):
        if getattr(options, name) is not None:
            body[name] = getattr(options, name)
    text = "\n".join(options.appid)
    if options.list is not None:
        text = f"{text_of(options.list)}\n{text}"
    lines, faults = read_list(text)
    for fault in faults:
        out.print(str(fault), style="red", markup=False)
    if options.list is not None or options.appid:
        body["list"] = [{"name": line.name, "wave": line.wave} for line in lines]
    return None if faults else body


def _plan(api: Api, options: argparse.Namespace, out: Console) -> int:
    body = _asked(options, out)
    if body is None:
        return REFUSED
    found = api.post("batch-plans/", body)
    out.print(show.proposal(found))
    return REFUSED if found["against"] else 0


def _request(api: Api, options: argparse.Namespace, out: Console) -> int:
    body = _asked(options, out)
    if body is None:
        return REFUSED
    made = api.post("batches/", {**body, "reason": options.reason, "digest": options.digest})
    out.print(f"Batch {made['key']} is requested. Somebody else has to approve it.", markup=False)
    return _watched(api, made["key"], out) if options.watch else 0


def _list(api: Api, options: argparse.Namespace, out: Console) -> int:
    found = api.get("batches/", inbox=options.inbox, status=options.status)
    out.print(show.batches(found["results"]))
    if found["next"]:
        out.print(f"{found['count']} in all; these are the newest.", style="dim")
    return 0


def _show(api: Api, options: argparse.Namespace, out: Console) -> int:
    out.print(show.batch(_one(api, options.key), _items(api, options.key)))
    return 0


def _approve(api: Api, options: argparse.Namespace, out: Console) -> int:
    found = _one(api, options.key)
    if not options.digest:
        out.print(show.batch(found))
        for item in _pages(api, f"batches/{options.key}/items/"):
            out.print(f"  {item['wave'] or 'left out'}  {item['what']}", markup=False)
        if not confirmed(out, options.key, "batch", "--digest"):
            return REFUSED
    digest = options.digest or found["digest"]
    body = {"digest": digest, "approvals": len(found["approvals"])}
    out.print(show.batch(api.post(f"batches/{options.key}/approve/", body)))
    return _watched(api, options.key, out) if options.watch else 0


def _action(name: str) -> Callable[[Api, argparse.Namespace, Console], int]:
    def carry_out(api: Api, options: argparse.Namespace, out: Console) -> int:
        body = {key: getattr(options, key) for key in ("reason", "without") if hasattr(options, key)}
        out.print(show.batch(api.post(f"batches/{options.key}/{name}/", body)))
        return 0

    return carry_out


def _watch(api: Api, options: argparse.Namespace, out: Console) -> int:
    return _watched(api, options.key, out)


def _watched(api: Api, key: str, out: Console) -> int:
    """Watch until the batch no longer changes by itself. Return 0 when it has finished."""

    def look(after: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        return _one(api, key), api.get(f"batches/{key}/log/", after=after)

    found = watched(look, show.log_line, lambda batch: show.batch(batch, _items(api, key)), GOING_ON, out)
    return 0 if found["status"] == "finished" else REFUSED


def _one(api: Api, key: str) -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"batches/{key}/")
    return found


def _items(api: Api, key: str) -> list[dict[str, Any]]:
    """Return the items that have failed or are running."""
    return [row for status in SHOWN for row in api.get(f"batches/{key}/items/", status=status)["results"]]


def _pages(api: Api, path: str) -> list[dict[str, Any]]:
    """Return all rows of a list, from all its pages."""
    rows: list[dict[str, Any]] = []
    page = 1
    while True:
        found = api.get(path, page=page, page_size=200)
        rows += found["results"]
        if not found["next"]:
            return rows
        page += 1


_ACTIONS: dict[str, Callable[[Api, argparse.Namespace, Console], int]] = {
    "plan": _plan,
    "request": _request,
    "list": _list,
    "show": _show,
    "approve": _approve,
    "watch": _watch,
    **{name: _action(name) for name in ("decline", "cancel", "stop", "resume", "end")},
}
