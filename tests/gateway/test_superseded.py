"""What a Gateway does that finds another process under its name, in which order."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from kazoo.exceptions import ConnectionLoss

from hadash.gateway.membership import Membership


def done_by(fault: Exception | None) -> list[str]:
    """:param fault: what comes of telling ZooKeeper."""
    done: list[str] = []

    def tell() -> None:
        done.append("told")
        if fault is not None:
            raise fault

    async def abort() -> None:
        done.append("aborted")

    member: Any = SimpleNamespace(expect_everybody_back=tell)
    nothing: Any = SimpleNamespace()
    asyncio.run(Membership(nothing, member, nothing, lambda: None).give_way(abort))
    return done


def test_zookeeper_hears_who_may_come_back_before_anybody_is_cut_off() -> None:
    assert done_by(None) == ["told", "aborted"]


def test_without_zookeeper_it_stops_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        assert done_by(ConnectionLoss()) == ["told", "aborted"]
    assert "ZooKeeper could not be told whose clients may send again" in caplog.text
