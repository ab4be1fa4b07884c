"""Redis is started again: no worker may end because of it.

The channel is a false one: when a real connection breaks cannot be chosen. Real workers lose a real Redis in
each stage of a switch in ``make fault``.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from kombu.transport import redis

from tasks.app import app
from tasks.outliving import ForgivingQoS


class Channel:
    """A channel with one task that was not acknowledged."""

    do_restore = True

    def __init__(self, connection: object) -> None:
        self.connection = connection

    def conn_or_acquire(self, client: Any = None) -> Any:
        raise AttributeError("'NoneType' object has no attribute 'hostname'")


#: Of a channel whose connection stands, of one whose connection has forgotten whose it was, and of one that
#: has none any more.
STANDS, BROKEN, CLOSED = SimpleNamespace(client=object()), SimpleNamespace(client=None), None


def quality(connection: object) -> ForgivingQoS:
    made = ForgivingQoS(Channel(connection))
    made._delivered["tag"] = object()
    return made


def test_the_workers_of_this_application_use_it() -> None:
    assert app.main == "hadash"
    assert redis.Channel.QoS is ForgivingQoS


@pytest.mark.parametrize("connection", [BROKEN, CLOSED])
def test_what_cannot_be_given_back_is_forgotten(connection: object) -> None:
    lost = quality(connection)
    lost.restore_unacked_once()
    assert not lost._delivered


@pytest.mark.parametrize("connection", [BROKEN, CLOSED])
@pytest.mark.parametrize("end", [ForgivingQoS.ack, ForgivingQoS.reject])
def test_what_ends_after_its_connection_is_done_with(
    connection: object, end: Callable[[ForgivingQoS, str], None]
) -> None:
    """Its stage has been carried out: nobody else need be told."""
    lost = quality(connection)
    end(lost, "tag")
    lost.restore_unacked_once()
    assert not lost._delivered


def test_over_a_connection_that_stands_it_is_given_back_or_acknowledged() -> None:
    standing = quality(STANDS)
    for end in (
        standing.restore_unacked,
        lambda: standing.ack("tag"),
        lambda: standing.reject("tag", requeue=True),
    ):
        with pytest.raises(AttributeError, match="hostname"):
            end()
    standing._delivered.clear()  # or it tries again at the end of this process
