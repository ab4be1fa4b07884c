"""How the processes of pools begin and end: coordinators, members, auditors."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hadash.bindings.errors import StoreUnavailable

#: Exit code for settings that cannot be used: to start again does not help.
WRONG_SETTINGS = 2
#: Exit code while ZooKeeper does not answer: to start again helps.
UNAVAILABLE = 1


@contextmanager
def exit_codes(log: logging.Logger, *wrong: type[Exception]) -> Iterator[None]:
    """Log what prevents the start, and exit with a code that says whether to start again helps.

    :param wrong: errors that settings lead to, besides ``ValueError`` and ``OSError``.
    :raises SystemExit: the body has raised one of them, or ZooKeeper does not answer.
    """
    of_settings: tuple[type[Exception], ...] = (ValueError, OSError, *wrong)
    try:
        yield
    except of_settings as error:
        log.error("%s", error)
        raise SystemExit(WRONG_SETTINGS) from None
    except StoreUnavailable as error:
        log.error("%s", error)
        raise SystemExit(UNAVAILABLE) from None


def stop_on_signals(stop: Callable[[], None]) -> None:
    """Call ``stop`` at SIGTERM and SIGINT."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop())
