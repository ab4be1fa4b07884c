"""Draws ``docs/states.md`` from the tables in :mod:`hadash.switching.machines`, and of a client's session in
:mod:`hadash.gateway.session.states`, so that page and tables cannot differ.

Run it after a change of the tables: ``.venv/bin/python docs/draw_states.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from hadash.coordinator.states import MACHINE as ASSIGNMENT  # noqa: E402
from hadash.full_audits import machine as full_audit  # noqa: E402
from hadash.gateway.session.states import CLIENT, LINE, SERVICE  # noqa: E402
from hadash.machines import Machine  # noqa: E402
from hadash.outbox.states import MACHINE as DELIVERY  # noqa: E402
from hadash.pools import machine as pool_change  # noqa: E402
from hadash.switching.machines import batches  # noqa: E402
from hadash.switching.machines import binding_changes as by_hand  # noqa: E402
from hadash.switching.machines.retirements import MOVES as RETIREMENT_MOVES  # noqa: E402
from hadash.switching.machines.retirements import Status as RetirementStatus  # noqa: E402
from hadash.switching.machines.retirements import Step  # noqa: E402
from hadash.switching.machines.switches import (  # noqa: E402
    FIRST,
    KINDS,
    MACHINE,
    STAGES,
    Event,
    Kind,
    Stage,
    Status,
    after_failure,
    after_success,
)
from hadash.switching.machines.unreplicated import UNREPLICATED_MACHINE  # noqa: E402
from hadash.switching.stages.ways import RUNS  # noqa: E402

PAGE = ROOT / "docs" / "states.md"

#: Most characters of a line of prose.
WIDTH = 120


def page() -> str:
    """The whole of ``docs/states.md``."""
    return "\n".join(
        line
        if line.startswith((" ", "|"))
        else fill(line, WIDTH, break_long_words=False, break_on_hyphens=False)
        for line in [
            "# The states of a switch",
            "",
            "Drawn by `docs/draw_states.py` from the tables in `hadash/switching/machines/switches.py` and "
            "`hadash/switching/machines/batches.py`. Do not edit.",
            "",
            "## Its life",
            "",
            "What is not drawn is refused, and the switch stays as it is.",
            "",
            *_mermaid(_life(MACHINE)),
            "",
            "## Its stages, while it is running",
            "",
            "Blue: clients wait. A stage that was cut off is begun again and comes to the same end.",
            "",
            *_mermaid(_stages()),
            "",
            "| stage | phase | expected | clients wait | does | when it fails |",
            "|---|---|---|---|---|---|",
            *_rows(),
            "",
            "## After a migration: the old Topics",
            "",
            "From the tables in `hadash/switching/machines/retirements.py`. *defer*: a server did not "
            "answer, it is tried again. *fail*: something "
            "blocks it, a person has to look.",
            "",
            *_mermaid(_retirement()),
            "",
            f"A removal that runs takes away, in this order: {', '.join(Step)}. Before each it looks at "
            f"everything again.",
            "",
            "## A change of bindings by hand",
            "",
            "Drawn from `hadash/switching/machines/binding_changes.py`; see [bindings.md](bindings.md).",
            "",
            *_mermaid(_life(by_hand.MACHINE)),
            "",
            "## A change of a pool of consumers",
            "",
            "Drawn from `hadash/pools/machine.py`; see [coordinator.md](coordinator.md).",
            "",
            *_mermaid(_life(pool_change.MACHINE)),
            "",
            "## A full audit",
            "",
            "Drawn from `hadash/full_audits/machine.py`; see [auditors.md](auditors.md).",
            "",
            *_mermaid(_life(full_audit.MACHINE)),
            "",
            "# The states of a batch",
            "",
            *_mermaid(_life(batches.MACHINE)),
            "",
            "## Its items",
            "",
            "Each is one radius, moved by a switch.",
            "",
            *_mermaid(_life(batches.ITEM_MACHINE)),
            "",
            "# The states of the unreplicated records of a forced switch",
            "",
            "From `hadash/switching/machines/unreplicated.py`; see [switching.md](switching.md).",
            "",
            *_mermaid(_life(UNREPLICATED_MACHINE)),
            "",
            "# The states of a Topic's assignment",
            "",
            "Of the partitions that a consumer pool reads, from `hadash/coordinator/states.py`. What follows from "
            "what is known is decided in `hadash/coordinator/decisions.py`.",
            "",
            *_mermaid(_life(ASSIGNMENT)),
            "",
            "# The states of a delivery",
            "",
            "Of a mail or a message, from `hadash/outbox/states.py`, where each state is explained. It changes only "
            "from the state in which it was read, and only while the claim of its sender holds.",
            "",
            *_mermaid(_life(DELIVERY)),
            "",
            "# The states of a client's session in a Gateway",
            "",
            "From the tables in `hadash/gateway/session/states.py`, where each state is explained. The three do not "
            "follow from one another. What is not drawn changes nothing: these events come from a network, "
            "whenever they like.",
            "",
            "## The line: what the network has told",
            "",
            *_mermaid(_life(LINE)),
            "",
            "## The service: what the Gateway does for the connection",
            "",
            *_mermaid(_life(SERVICE)),
            "",
            "## The client, once it has signed in",
            "",
            "It can outlive the line: its writes are followed until the broker has answered them.",
            "",
            *_mermaid(_life(CLIENT)),
            "",
        ]
    )


def _mermaid(lines: Iterator[str]) -> list[str]:
    return ["```mermaid", "stateDiagram-v2", *(f"    {line}" for line in lines), "```"]


def _life(machine: Machine[Any, Any]) -> Iterator[str]:
    for status in machine.moves:
        yield f'state "{_shown(status)}" as {status.name.lower()}'
        if status in machine.starts:
            yield f"[*] --> {status.name.lower()}"
    for status, moves in machine.moves.items():
        for event, after in moves.items():
            yield f"{status.name.lower()} --> {after.name.lower()}: {event}"
    for status, moves in machine.moves.items():
        if not moves:
            yield f"{status.name.lower()} --> [*]"


def _retirement() -> Iterator[str]:
    yield f"[*] --> {RetirementStatus.WAITING}"
    for status, moves in RETIREMENT_MOVES.items():
        for event, after in moves.items():
            yield f"{status} --> {after}: {event}"
        if not moves:
            yield f"{status} --> [*]"


def _stages() -> Iterator[str]:
    ends = [following for stage in Stage for following in _after(stage) if isinstance(following, Event)]
    for stage in Stage:
        yield f'state "{stage}" as {_id(stage)}'
    for event in dict.fromkeys(ends):
        yield f'state "{_shown(_end(event))}" as {_id(event)}'
    yield f"[*] --> {_id(FIRST)}"
    for stage in Stage:
        well, badly = _after(stage)
        yield f"{_id(stage)} --> {_id(well)}"
        yield f"{_id(stage)} --> {_id(badly)}: fails"
    drawn = {(stage, _after(stage)[0]) for stage in Stage}
    for kind, way in ((kind, spec.way) for kind, spec in KINDS.items()):
        for stage, following in pairwise(way):
            if (stage, following) not in drawn:
                drawn.add((stage, following))
                yield f"{_id(stage)} --> {_id(following)}: of a {kind.replace('-', ' ')}"
    blocked = [_id(stage) for stage, rule in STAGES.items() if rule.writes_blocked]
    yield "classDef waiting fill:#cfe2ff,stroke:#084298,color:#052c65"
    yield f"class {','.join(blocked)} waiting"


def _rows() -> Iterator[str]:
    for stage, rule in STAGES.items():
        first_paragraph = (RUNS[stage].__doc__ or "").split("\n\n")[0]
        does = " ".join(first_paragraph.split())
        failure = after_failure(stage)
        leads = f"{failure}" if isinstance(failure, Stage) else _shown(_end(failure))
        waits = "yes" if rule.writes_blocked else ""
        yield f"| {stage} | {rule.phase} | {rule.expected_seconds:g} s | {waits} | {does} | {leads} |"


def _after(stage: Stage) -> tuple[Stage | Event, Stage | Event]:
    kind = next(
        (kind for kind, way in ((kind, spec.way) for kind, spec in KINDS.items()) if stage in way),
        Kind.PLANNED,
    )
    return after_success(stage, kind), after_failure(stage)


def _end(event: Event) -> Status:
    return MACHINE.after(Status.RUNNING, event)


def _id(node: Stage | Event) -> str:
    """A name that no word of Mermaid's is equal to."""
    return f"stage_{node}" if isinstance(node, Stage) else str(_end(node))


def _shown(status: StrEnum) -> str:
    return status.replace("_", " ")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"Wrote {PAGE.relative_to(ROOT)}.")
