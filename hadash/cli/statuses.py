"""The statuses of switches, batches and changes, as the command line prints them. (Words and looks of pages are of
Django's models, which this program does not load; a test compares them.)
"""

from __future__ import annotations

from rich.text import Text

#: status → colour, as pages have it: yellow for what waits or runs, green for what is well, red for what needs
#: somebody; other statuses have none.
COLOURS = {
    "awaiting_approval": "yellow",
    "approved": "yellow",
    "running": "yellow",
    "paused": "yellow",
    "succeeded": "green",
    "finished": "green",
    "applied": "green",
    "done": "green",
    "needs_attention": "red",
    "stopped": "red",
    "failed": "red",
}

#: Statuses in which something still happens by itself, or as soon as somebody approves it.
GOING_ON = ("awaiting_approval", "approved", "running")


def colour(status: str) -> str:
    return COLOURS.get(status, "")


def status(value: str) -> Text:
    """Return a status for printing, in its colour."""
    return Text(value.replace("_", " "), style=colour(value))
