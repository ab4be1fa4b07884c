"""Every client library, unchanged, across two real switches. (The name puts it before the tests that share one demo: two
stacks at once are too much for a small machine.)"""

from __future__ import annotations

import json

import pytest

from hadash.sandbox.check import demo_check
from hadash.sandbox.world import LIBRARY_NAMES

pytestmark = [pytest.mark.stack, pytest.mark.long]


def test_clients_of_every_library_move_there_and_back(capsys: pytest.CaptureFixture[str]) -> None:
    """librdkafka, kafka-python, aiokafka, and Kafka's own tools of three versions, each a producer and a group."""
    code = demo_check(world="libraries")
    report = json.loads(capsys.readouterr().out)
    assert [switch["status"] for switch in report["switches"]] == ["succeeded", "succeeded"]
    found = {
        group["group"]: (group["lost"], group["duplicated"], group["out_of_order"])
        for group in report["groups"]
    }
    assert found == {f"audit.{library}.group": (0, 0, 0) for library in LIBRARY_NAMES}
    assert all(group["acked"] > 100 for group in report["groups"])
    assert (report["delivery_failures"], report["clients_restarted"]) == (0, [])
    assert code == 0
