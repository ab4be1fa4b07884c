"""The ``hadash`` command.

Its commands are plan, request, restore, approve, decline, cancel, resume, watch, abort, retry, close, review, list and
show; for migrations postpone, keep and retire; for a lost cluster abandon and rebuild; for bindings by hand bind,
unbind, changes, approve-change, decline-change and cancel-change. ``declarations``, and ``batch`` for many radii,
have commands of their own.

``HADASH_URL`` is the server's address, ``HADASH_TOKEN`` a token (the page “Your tokens” issues them). Exit codes:
0 done, 1 refused or not successful, 2 wrong usage, 3 no answer or the outcome is not known.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console

from hadash.cli import batches, bindings, declarations, show
from hadash.cli.client import Api, ApiError
from hadash.cli.prompts import WrongUsage, confirmed
from hadash.cli.statuses import GOING_ON
from hadash.cli.watching import NO_ANSWER, REFUSED, watched
from hadash.switching.machines.switches import KINDS, Kind

#: The kinds that ``--kind`` takes. What goes back from a switch is asked for with ``restore`` and that switch's key.
ASKED_BY_KIND = tuple(kind for kind, spec in KINDS.items() if not spec.goes_back)


def main(
    arguments: Sequence[str] | None = None, console: Console | None = None, api: Api | None = None
) -> int:
    """Run a command and return the exit code."""
    out = console or Console()
    options = _parser().parse_args(arguments)
    token = os.environ.get("HADASH_TOKEN", "")
    fault = "" if api is not None else _fault_of(options.url, token)
    if fault:
        out.print(fault, style="red", markup=False)
        return 2
    try:
        with api or Api(options.url, token, options.language) as connected:
            return _COMMANDS[options.command](connected, options, out)
    except ApiError as error:
        out.print(error.title, style="bold red", markup=False)
        for reason in error.reasons:
            out.print(f"  {reason}", markup=False)
        return NO_ANSWER if error.code == 0 or error.code >= 500 else REFUSED
    except WrongUsage as error:
        out.print(str(error), style="red", markup=False)
        return 2
    except KeyboardInterrupt:
        return 130


def _fault_of(url: str, token: str) -> str:
    """Return what is wrong with the address or the token; empty if nothing is. (It does not repeat the token:
    screens are shared.)
    """
    if not token:
        return "Set HADASH_TOKEN to a token of yours: hadash's page “Your tokens” issues one."
    if not (token.isascii() and token.isprintable()) or " " in token:
        return "HADASH_TOKEN is no token: one has letters, digits and signs, and no blanks or line ends."
    if not url.startswith(("http://", "https://")) or not url.split("://", 1)[1].strip("/"):
        return f"{url!r} is no address of hadash: it begins with http:// or https:// (HADASH_URL or --url)."
    return ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hadash", description="hadash from a terminal.")
    url = os.environ.get("HADASH_URL", "http://127.0.0.1:8000")
    parser.add_argument("--url", default=url, help="hadash's address (HADASH_URL)")
    parser.add_argument("--language", default=os.environ.get("HADASH_LANGUAGE", "en"), help="en or zh-hans")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("plan", "what would move, and what blocks it"),
        ("request", "ask for a switch"),
    ):
        asked = commands.add_parser(name, help=text)
        asked.add_argument("--pair", required=True)
        asked.add_argument("--to", required=True, help="the cluster to move to")
        asked.add_argument("--appid", default="")
        asked.add_argument("--instance", default="", help="one InstanceID of the AppID")
        asked.add_argument("--topic", action="append", default=[], help="a Topic; may be repeated")
        asked.add_argument("--everything", action="store_true", help="all that is on the other cluster")
        asked.add_argument("--by-appid", action="store_true", help="AppIDs move as a whole")
        asked.add_argument(
            "--widen", action="store_true", help="clients without an InstanceID take their AppID along"
        )
        asked.add_argument(
            "--kind",
            choices=[kind.value for kind in ASKED_BY_KIND],
            default=Kind.PLANNED.value,
            help=" ".join(f"{KINDS[kind].choice}." for kind in ASKED_BY_KIND).replace("%", "%%"),
        )
        if name == "request":
            asked.add_argument("--reason", required=True)
            asked.add_argument(
                "--confirm",
                default="",
                metavar="CLUSTER",
                help="; ".join(
                    f"{kind}: the {KINDS[kind].confirm}'s name once more"
                    for kind in ASKED_BY_KIND
                    if KINDS[kind].confirm
                ),
            )
            asked.add_argument(
                "--retire-after-days",
                type=int,
                metavar="DAYS",
                help="of a migration: days from its success until the mirror and the old Topics are deleted",
            )
            asked.add_argument(
                "--pause-after-precheck",
                action="store_true",
                help="pause when all checks hold, until somebody resumes it",
            )
            asked.add_argument("--plan", default="", help="only if the plan still has this digest")
            asked.add_argument("--watch", action="store_true", help="stay and watch")
    restore = commands.add_parser("restore", help="ask for going back from a switch")
    restore.add_argument("key")
    restore.add_argument("--reason", required=True)
    restore.add_argument("--watch", action="store_true", help="stay and watch")
    listed = commands.add_parser("list", help="switches, newest first")
    listed.add_argument("--inbox", choices=["all", "waiting", "mine"], default="all")
    listed.add_argument("--status")
    approve = commands.add_parser("approve", help="approve the plan that you have looked at")
    approve.add_argument("key")
    approve.add_argument("--plan", help="the digest of the plan; without it you are asked")
    approve.add_argument("--watch", action="store_true", help="stay and watch")
    for name, text in (
        ("keep", "let the old Topics of a migration stay for good"),
        ("postpone", "let the old Topics of a migration stay for some days more"),
        ("decline", "decline a request"),
        ("cancel", "take a request back"),
        ("close", "end a switch that needs attention, as it is"),
        ("review", "say afterwards what is to be said of an emergency"),
        ("abandon", "end a switch whose target was lost before its mirror was turned"),
    ):
        reasoned = commands.add_parser(name, help=text)
        reasoned.add_argument("key")
        reasoned.add_argument("--reason", required=True)
        if name == "postpone":
            reasoned.add_argument("--days", type=int, required=True)
        if name == "abandon":
            reasoned.add_argument(
                "--confirm", required=True, metavar="CLUSTER", help="the lost target's name"
            )
    rebuild = commands.add_parser("rebuild", help="build the lost side of a forced switch again")
    rebuild.add_argument("key")
    rebuild.add_argument(
        "--confirm", required=True, metavar="CLUSTER", help="the name of the cluster that was lost"
    )
    rebuild.add_argument("--note", required=True, help="what became of its records that were not mirrored")
    retire = commands.add_parser("retire", help="delete the old Topics of a migration now")
    retire.add_argument("key")
    retire.add_argument("--confirm", required=True, metavar="CLUSTER", help="the old cluster's name")
    for name, text in (
        ("show", "a switch as it stands now"),
        ("watch", "a switch until its end"),
        ("pause", "let a switch that has not moved anybody yet pause after its checks"),
        ("resume", "resume a switch that is paused"),
        ("abort", "let a running switch return to the start"),
        ("retry", "run the stage again in which a switch asked for a person"),
    ):
        commands.add_parser(name, help=text).add_argument("key")
    declarations.add_to(commands)
    bindings.add_parsers(commands)
    batches.add_to(commands)
    return parser


# -- commands ------------------------------------------------------------------------------------------------------


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    kind = (
        "pair"
        if options.everything
        else "topics"
        if options.topic
        else "instance"
        if options.instance
        else "appid"
    )
    return {
        "pair": options.pair,
        "target": options.to,
        "kind": options.kind,
        "scope": {
            "kind": kind,
            "appid": options.appid,
            "instance_id": options.instance,
            "topics": options.topic,
            "dimension": "appid" if options.by_appid else "instance",
            "widen": options.widen,
        },
    }


def _plan(api: Api, options: argparse.Namespace, out: Console) -> int:
    proposal = api.post("plans/", _asked(options))
    out.print(show.plan(proposal))
    if proposal["held_by"]:
        return REFUSED
    # (The blockers then say that the state is not known: a script may try again, unlike after a refusal.)
    if proposal["checks"] == "unknown":
        return NO_ANSWER
    return REFUSED if proposal["blockers"] else 0


def _request(api: Api, options: argparse.Namespace, out: Console) -> int:
    body = {
        **_asked(options),
        "reason": options.reason,
        "confirm": options.confirm,
        "pause_after_precheck": options.pause_after_precheck,
        "plan_digest": options.plan,
    }
    if options.retire_after_days is not None:
        body["retire_after_days"] = options.retire_after_days
    return _requested(api, api.post("switches/", body), options, out)


def _requested(api: Api, made: dict[str, Any], options: argparse.Namespace, out: Console) -> int:
    out.print(f"{made['key']}: {show.spec(made).requested}", markup=False)
    return _watched(api, made["key"], out) if options.watch else 0


def _restore(api: Api, options: argparse.Namespace, out: Console) -> int:
    before = _one(api, options.key)
    body = {
        "pair": before["pair"],
        "scope": before["scope_back"],
        "target": before["source"],
        "reason": options.reason,
        "kind": Kind.RESTORE.value,
        "restores": options.key,
    }
    return _requested(api, api.post("switches/", body), options, out)


def _list(api: Api, options: argparse.Namespace, out: Console) -> int:
    found = api.get("switches/", inbox=options.inbox, status=options.status)
    out.print(show.switches(found["results"]))
    if found["next"]:
        out.print(f"{found['count']} in all; these are the newest.", style="dim")
    return 0


def _show(api: Api, options: argparse.Namespace, out: Console) -> int:
    out.print(show.switch(_one(api, options.key), api.get(f"switches/{options.key}/log/")))
    return 0


def _approve(api: Api, options: argparse.Namespace, out: Console) -> int:
    found = _one(api, options.key)
    digest = options.plan
    if not digest:
        body = {name: found[name] for name in ("pair", "scope", "target", "kind")}
        proposal = api.post("plans/", {**body, "restores": found["restores"] or ""})
        if proposal["held_by"] and proposal["held_by"]["key"] == options.key:
            proposal["held_by"] = None  # a switch does not block itself
        out.print(show.switch(found), show.plan(proposal))
        if not confirmed(out, options.key, "plan", "--plan"):
            return REFUSED
        digest = proposal["plan_digest"]
    held = api.post(
        f"switches/{options.key}/approve/", {"plan_digest": digest, "approvals": len(found["approvals"])}
    )
    out.print(show.switch(held))
    return _watched(api, options.key, out) if options.watch else 0


def _action(name: str) -> Callable[[Api, argparse.Namespace, Console], int]:
    def carry_out(api: Api, options: argparse.Namespace, out: Console) -> int:
        values = vars(options)
        fields = ("reason", "days", "confirm", "note")
        body: dict[str, Any] = {field: values[field] for field in fields if field in values}
        out.print(show.switch(api.post(f"switches/{options.key}/{name}/", body)))
        return 0

    return carry_out


def _watch(api: Api, options: argparse.Namespace, out: Console) -> int:
    return _watched(api, options.key, out)


def _watched(api: Api, key: str, out: Console) -> int:
    """Watch until the switch no longer changes by itself. Return 0 when it succeeded."""

    def look(after: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        return _one(api, key), api.get(f"switches/{key}/log/", after=after)

    found = watched(look, show.log_line, show.switch, GOING_ON, out)
    return 0 if found["status"] == "succeeded" else REFUSED


def _one(api: Api, key: str) -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"switches/{key}/")
    return found


_ACTIONS = ("decline", "cancel", "pause", "resume", "abort", "retry", "close", "review")

_COMMANDS: dict[str, Callable[[Api, argparse.Namespace, Console], int]] = {
    "plan": _plan,
    "request": _request,
    "restore": _restore,
    "declarations": declarations.run,
    "list": _list,
    "show": _show,
    "approve": _approve,
    "watch": _watch,
    **{name: _action(name) for name in (*_ACTIONS, "postpone", "keep", "retire", "abandon", "rebuild")},
    **bindings.COMMANDS,
    "batch": batches.run,
}


if __name__ == "__main__":
    sys.exit(main())
