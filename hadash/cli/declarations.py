"""``hadash declarations``: list, declare, adopt, remove, import, export."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hadash.cli.client import Api, ApiError
from hadash.cli.prompts import text_of

#: Rows of a page, and rows of differences that are printed.
PAGE_SIZE = 200
LISTED = 40

STATES = {
    "undeclared": ("seen, not declared", "yellow"),
    "unseen": ("declared, never seen", ""),
    "agreed": ("both", "green"),
}


def add_to(commands: Any) -> None:
    """Add the command ``declarations`` and its own commands to argparse's sub-commands."""
    parser = commands.add_parser("declarations", help="who is declared to use what, beside what was seen")
    actions = parser.add_subparsers(dest="action", required=True)
    for name, text in (
        ("list", "what is declared beside what was seen"),
        ("export", "the file that can be imported"),
    ):
        shown = _of_pair(actions, name, text)
        shown.add_argument("--query", default="", help="a part of the AppIDs' names")
        shown.add_argument("--state", choices=sorted(STATES))
        if name == "list":
            shown.add_argument("--appid", help="one AppID, by its exact name")
        else:
            shown.add_argument("file", nargs="?", type=Path, help="without it the file is printed")
    declare = _of_appid(actions, "declare", "declare what an InstanceID, or its AppID as a whole, uses")
    declare.add_argument("--instance", default="", help="the client.id; without it the AppID as a whole")
    declare.add_argument("--topic", action="append", default=[], help="may be repeated")
    declare.add_argument("--produce", action="store_true", help="it writes to the Topics")
    declare.add_argument("--consume", action="store_true", help="it reads them")
    declare.add_argument("--group", action="append", default=[], help="it is a member; may be repeated")
    declare.add_argument("--note", default="")
    declare.add_argument("--each", action="store_true", help="every Topic gets a new InstanceID of its own")
    adopt = _of_appid(actions, "adopt", "declare all that was seen of an AppID and is not declared")
    adopt.add_argument("--whole", action="store_true", help="of the AppID as a whole, instead of each client")
    adopt.add_argument("--client", action="append", help="only of this client.id; may be repeated")
    remove = _of_appid(actions, "remove", "take a declaration back")
    remove.add_argument("--instance", default="", help="without it that of the AppID as a whole")
    remove.add_argument("--kind", choices=["produce", "consume", "group"], required=True)
    remove.add_argument("--resource", required=True, help="the Topic, or the group")
    read = _of_pair(actions, "import", "what a file would change; with --apply it is made so")
    read.add_argument("file", type=Path)
    read.add_argument(
        "--whole", action="store_true", help="it says all about its AppIDs: what it leaves out is withdrawn"
    )
    read.add_argument(
        "--apply", action="store_true", help="make it so, if nothing has changed since it was compared"
    )


def _of_pair(actions: Any, name: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(name, help=text)
    parser.add_argument("--pair", required=True)
    return parser


def _of_appid(actions: Any, name: str, text: str) -> argparse.ArgumentParser:
    parser = _of_pair(actions, name, text)
    parser.add_argument("--appid", required=True)
    return parser


def run(api: Api, options: argparse.Namespace, out: Console) -> int:
    """Run a ``declarations`` command and return the exit code.

    :raises ApiError: it was refused, or there was no answer.
    :raises WrongUsage: a file cannot be read.
    """
    return _ACTIONS[options.action](api, options, out)


# -- reading -------------------------------------------------------------------------------------------------------


def _all(api: Api, path: str, **query: Any) -> Iterator[dict[str, Any]]:
    """Yield every row of a list, page after page."""
    page = 1
    while True:
        found = api.get(path, page=page, page_size=PAGE_SIZE, **query)
        yield from found["results"]
        if not found["next"]:
            return
        page += 1


def _list(api: Api, options: argparse.Namespace, out: Console) -> int:
    query = {"q": options.query or None, "state": options.state, "appid": options.appid}
    table = Table("AppID", "InstanceID", "does", "Topic or group", "state", "note", box=None, pad_edge=False)
    for row in _all(api, f"pairs/{options.pair}/declarations/", **query):
        word, colour = STATES[row["state"]]
        names = (row["appid"], row["instance_id"], row["kind"], row["resource"])
        table.add_row(*map(Text, names), Text(word, colour), Text(row["note"]))
    out.print(table)
    return 0


def _export(api: Api, options: argparse.Namespace, out: Console) -> int:
    path = f"pairs/{options.pair}/declarations/export/"
    text = api.get(path, q=options.query or None, state=options.state)["csv"]
    if options.file is None:
        out.print(text, markup=False, highlight=False, end="", soft_wrap=True)
    else:
        options.file.write_text(text, encoding="utf-8", newline="")
        out.print(f"{options.file} is written.", markup=False)
    return 0


def _number(api: Api, options: argparse.Namespace) -> int:
    """Return the id of the AppID.

    :raises ApiError: there is no AppID of this name.
    """
    for row in _all(api, "appids/", pair=options.pair, q=options.appid):
        if row["name"] == options.appid:
            return int(row["id"])
    raise ApiError(
        404,
        f"Pair {options.pair} has no AppID {options.appid}",
        ["Bring one of its clients to a Gateway first."],
    )


# -- writing -------------------------------------------------------------------------------------------------------


def _declare(api: Api, options: argparse.Namespace, out: Console) -> int:
    kinds = [kind for kind in ("produce", "consume") if getattr(options, kind)]
    body = {
        "instance_id": options.instance,
        "topics": options.topic,
        "kinds": kinds,
        "groups": options.group,
        "note": options.note,
        "each": options.each,
    }
    return _told(api.post(f"appids/{_number(api, options)}/declarations/", body), out)


def _adopt(api: Api, options: argparse.Namespace, out: Console) -> int:
    body: dict[str, Any] = {"whole": options.whole}
    if options.client:
        seen = _all(api, f"pairs/{options.pair}/declarations/", appid=options.appid, state="undeclared")
        fields = ("instance_id", "kind", "resource")
        body["relations"] = [
            {field: row[field] for field in fields} for row in seen if row["instance_id"] in options.client
        ]
    return _told(api.post(f"appids/{_number(api, options)}/declarations/adopt/", body), out)


def _told(done: dict[str, Any], out: Console) -> int:
    for row in done["added"]:
        out.print(_line("+", row), markup=False, highlight=False)
    if done["registered"]:
        out.print(f"Registered with it: {', '.join(done['registered'])}.", markup=False)
    if not done["added"]:
        out.print("It was declared already.")
    for reason in done["left"]:
        out.print(f"Not declared: {reason}", style="yellow", markup=False)
    return 0


def _remove(api: Api, options: argparse.Namespace, out: Console) -> int:
    wanted = (options.instance, options.kind, options.resource)
    for row in _all(api, f"pairs/{options.pair}/declarations/", appid=options.appid):
        if row["id"] is not None and (row["instance_id"], row["kind"], row["resource"]) == wanted:
            api.delete(f"appids/{_number(api, options)}/declarations/{row['id']}/")
            out.print(_line("-", row), markup=False, highlight=False)
            return 0
    out.print("That is not declared.", style="yellow")
    return 1


def _import(api: Api, options: argparse.Namespace, out: Console) -> int:
    text = text_of(options.file)
    path, body = f"pairs/{options.pair}/declarations/import/", {"csv": text, "whole": options.whole}
    found = api.post(path, body)
    for mark, rows in (("+", found["added"]), ("~", found["noted"]), ("-", found["withdrawn"])):
        for row in rows[:LISTED]:
            out.print(_line(mark, row), markup=False, highlight=False)
        if len(rows) > LISTED:
            out.print(f"{mark} … and {len(rows) - LISTED} more", markup=False)
    counts = f"{len(found['added'])} newly declared, {len(found['noted'])} with another note"
    out.print(f"{counts}, {len(found['withdrawn'])} withdrawn, {found['same']} as they are.")
    if options.apply:
        api.post(path, {**body, "digest": found["digest"]})
        out.print("The file is imported.")
    else:
        out.print("Nothing was changed. With --apply it is made so.")
    return 0


def _line(mark: str, row: dict[str, Any]) -> str:
    who = f"{row['appid']} › {row['instance_id']}" if row["instance_id"] else row["appid"]
    return f"{mark} {who} {row['kind']} {row['resource']}"


_ACTIONS: dict[str, Callable[[Api, argparse.Namespace, Console], int]] = {
    "list": _list,
    "export": _export,
    "declare": _declare,
    "adopt": _adopt,
    "remove": _remove,
    "import": _import,
}
