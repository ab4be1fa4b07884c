"""Clients of the libraries that need nothing but Python and Java, unchanged, across real switches. (``make
clients-check`` has those in Go and JavaScript besides. The name puts it before the tests that share one demo:
two stacks at once are too much for a small machine.)
"""

from __future__ import annotations

import pytest

from hadash_sandbox.clients.check import measure
from hadash_sandbox.clients.libraries import PHASES, WITHOUT_PROGRAMS, Phase

pytestmark = [pytest.mark.stack, pytest.mark.long]


@pytest.mark.parametrize("phase", [p for p in PHASES if p.offsets == "shifted"], ids=lambda p: p.scope)
def test_clients_of_every_library_move_there_and_back(phase: Phase) -> None:
    """librdkafka, kafka-python, aiokafka, and Kafka's own tools of three versions, each a producer and a group."""
    cells = measure(WITHOUT_PROGRAMS, [phase])
    # (Libraries that move together come one after the other.)
    assert sorted(cell.library for cell in cells) == sorted(WITHOUT_PROGRAMS)
    assert {cell.library: cell.described() for cell in cells if not cell.clean} == {}
    # (Where a library loses its place by itself, hadash has to refuse the switch: clean is only who was refused so.)
    assert {cell.library for cell in cells if cell.acked <= 100} == {
        cell.library for cell in cells if cell.to_be_refused
    }
