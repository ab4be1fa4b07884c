from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from kazoo.client import KazooClient

from .pools import World


@pytest.fixture
def world(connect_client: Callable[..., KazooClient]) -> Iterator[World]:
    """A pool of nobody yet, with a Topic of eight partitions."""
    made = World(connect_client)
    yield made
    made.end()
    assert made.board.twice == []
