"""What pages say of each action on a pool: a title, what follows from it, and its button."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from hadash.pools.actions import Action


@dataclass(frozen=True, slots=True)
class ActionWords:
    """The words of an action. :param title: ``None``: what the change does, in words."""

    explains: Any
    button: Any
    title: Any = None


WORDS: Mapping[Action, ActionWords] = {
    Action.ISOLATE: ActionWords(
        _(
            "Its partitions go to other members at once, whether it still reads them or not. If it is only cut off "
            "from hadash it reads on, and both handle the same records: make sure that its process is gone or has "
            "stopped."
        ),
        _("Isolate"),
    ),
    Action.TAKE_BACK: ActionWords(
        _("It comes back when it answers and reads nothing any more; then partitions move to it again."),
        _("Take back"),
    ),
    Action.STOP: ActionWords(
        _(
            "All members of the pool commit and stop. They keep their partitions, and nothing is read until somebody "
            "lets them read again."
        ),
        _("Stop all members"),
    ),
    Action.START: ActionWords(_("Members go on where they have committed."), _("Let them read")),
    Action.STRATEGY: ActionWords(
        _("Partitions move as soon as it is chosen. As a shadow strategy it can be tried before."),
        _("Choose"),
        _("Choose the strategy"),
    ),
    Action.SHADOW: ActionWords(
        _("It moves nothing: the page shows how many partitions it would move, and how even they would be."),
        _("Choose"),
        _("Choose the shadow strategy"),
    ),
    Action.REMOVE_TOPIC: ActionWords(
        _("Its members commit and stop. What its group has committed stays on the cluster."),
        _("Read it no longer"),
    ),
    Action.RELEASE: ActionWords(
        _(
            "A switch has had its members stop, and is over without having let them go on. They read on where they "
            "have committed, on the cluster that they read before."
        ),
        _("Let it be read again"),
    ),
    Action.DELETE: ActionWords(
        _(
            "It has to read no Topic and to have no member. What its groups have committed stays on the clusters, and "
            "what was done to it stays in the audit log."
        ),
        _("Delete the pool"),
    ),
}
