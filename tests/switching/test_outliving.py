"""Redis is started again: no worker may end because of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kombu.transport import redis

from tasks.app import app
from tasks.outliving import ForgivingQoS


class Channel:
    """A channel with one task that was not acknowledged."""

    do_restore = True

    def __init__(self, client: object) -> None:
        self.connection = SimpleNamespace(client=client)

    def conn_or_acquire(self, client: Any = None) -> Any:
        raise AttributeError("'NoneType' object has no attribute 'hostname'")


def quality(client: object) -> ForgivingQoS:
    made = ForgivingQoS(Channel(client))
    made._delivered["tag"] = object()
    return made


def test_the_workers_of_this_application_use_it() -> None:
    assert app.main == "hadash"
    assert redis.Channel.QoS is ForgivingQoS


def test_what_cannot_be_given_back_is_forgotten() -> None:
    lost = quality(None)
    lost.restore_unacked_once()
    assert not lost._delivered


def test_over_a_connection_that_stands_it_is_given_back() -> None:
    standing = quality(object())
    with pytest.raises(AttributeError, match="hostname"):
        standing.restore_unacked()
    standing._delivered.clear()  # or it tries again at the end of this process
