"""Handing work to a worker: counted, and never an error for the person who asked for the work, because beat picks it up."""

from __future__ import annotations

import logging
from typing import Any

from kombu.exceptions import OperationalError

from hadash.switching.handovers.counting import count
from hadash.switching.handovers.models import Way, Work

log = logging.getLogger(__name__)


def hand_over(work: Work, task: Any, *arguments: Any) -> bool:
    """Give ``task`` with ``arguments`` to Redis; whether Redis took it. If not, beat's next look finds the work."""
    try:
        task.delay(*arguments)
    except OperationalError:
        log.exception("%s%r could not be handed to a worker; beat picks it up", task.name, arguments)
        count(work, Way.REFUSED)
        return False
    count(work, Way.HANDED_OVER)
    return True
