from __future__ import annotations

import pytest
from support.kafka import Clusters

from hadash.inventory.models import Pair

from .board import Board


@pytest.fixture
def board(kafka: Clusters, transactional_pair: Pair) -> Board:
    return Board(kafka, transactional_pair)


@pytest.fixture
def transactional_pair(transactional_db: None, stack_pair: Pair) -> Pair:
    return stack_pair
