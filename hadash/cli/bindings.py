"""The commands for bindings by hand: bind, unbind, changes, approve-change, decline-change, cancel-change."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from hadash.cli.client import Api
from hadash.cli.prompts import confirmed
from hadash.cli.statuses import status

REFUSED = 1


def add_parsers(commands: Any) -> None:
    """Add the commands to argparse's sub-commands."""
    for name, text in (
        ("bind", "ask to bind something to the cluster that serves it now"),
        ("unbind", "ask to unbind something, where nobody moves by it"),
    ):
        asked = commands.add_parser(name, help=text)
        asked.add_argument("--pair", required=True)
        asked.add_argument("--appid", required=True)
        asked.add_argument("--instance", default="", help="an InstanceID of it")
        asked.add_argument("--topic", action="append", default=[], help="a Topic; several are one Topic list")
        asked.add_argument("--group", default="", help="a consumer group")
        asked.add_argument("--reason", required=True)
        if name == "bind":
            asked.add_argument(
                "--register", action="store_true", help="register the InstanceID if it is not registered"
            )
    listed = commands.add_parser("changes", help="changes of bindings by hand, newest first")
    listed.add_argument("--inbox", choices=["all", "waiting", "mine"], default="all")
    approve = commands.add_parser("approve-change", help="approve a change that you have looked at")
    approve.add_argument("key")
    approve.add_argument("--digest", help="of the change; without it you are asked")
    for name, text in (("decline-change", "decline a change"), ("cancel-change", "take a change back")):
        reasoned = commands.add_parser(name, help=text)
        reasoned.add_argument("key")
        reasoned.add_argument("--reason", required=True)


def shown(change: dict[str, Any]) -> RenderableType:
    """Return a change, its edits and its outcome, for printing."""
    head = Text.assemble(
        (change["key"], "bold"),
        "  ",
        status(change["status"]),
        "  ",
        (change["digest"], "dim"),
        f"  {change['reason']}",
    )
    edits = Table("identity", "becomes", box=None, pad_edge=False)
    for edit in change["edits"]:
        edits.add_row(Text(edit["identity"]), Text(edit["cluster"] or "unbound"))
    return Group(head, edits, *(Text(said) for said in change["outcome"]))


def _asked(name: str) -> Callable[[Api, argparse.Namespace, Console], int]:
    def carry_out(api: Api, options: argparse.Namespace, out: Console) -> int:
        identity = {"instance_id": options.instance, "topics": options.topic, "group": options.group}
        body = {"pair": options.pair, "appid": options.appid, name: [identity]}
        if name == "bind":
            body["register"] = options.register
        made = api.post("binding-changes/", {**body, "reason": options.reason})
        out.print(shown(made))
        out.print(f"Change {made['key']} is requested. Somebody else has to approve it.", markup=False)
        return 0

    return carry_out


def _changes(api: Api, options: argparse.Namespace, out: Console) -> int:
    found = api.get("binding-changes/", inbox=options.inbox)
    for change in found["results"]:
        out.print(shown(change))
    if found["next"]:
        out.print(f"{found['count']} in all; these are the newest.", style="dim")
    return 0


def _approve(api: Api, options: argparse.Namespace, out: Console) -> int:
    found = api.get(f"binding-changes/{options.key}/")
    digest = options.digest
    if not digest:
        out.print(shown(found))
        if not confirmed(out, options.key, "change", "--digest"):
            return REFUSED
        digest = found["digest"]
    body = {"digest": digest, "approvals": len(found["approvals"])}
    out.print(shown(api.post(f"binding-changes/{options.key}/approve/", body)))
    return 0


def _action(name: str) -> Callable[[Api, argparse.Namespace, Console], int]:
    def carry_out(api: Api, options: argparse.Namespace, out: Console) -> int:
        body = {"reason": options.reason} if hasattr(options, "reason") else {}
        out.print(shown(api.post(f"binding-changes/{options.key}/{name}/", body)))
        return 0

    return carry_out


COMMANDS: dict[str, Callable[[Api, argparse.Namespace, Console], int]] = {
    "bind": _asked("bind"),
    "unbind": _asked("unbind"),
    "changes": _changes,
    "approve-change": _approve,
    "decline-change": _action("decline"),
    "cancel-change": _action("cancel"),
}
