"""What is kept of the tasks of a connector: how each is, what went wrong last, how often it has begun again."""

from __future__ import annotations

from typing import Any

from hadash.kafka.connect import ConnectorStatus, TaskStatus
from hadash.mirroring.tasks import counted, unseen


def status(state: str = "RUNNING", worker: str = "w1:8083", trace: str = "") -> ConnectorStatus:
    return ConnectorStatus("RUNNING", (state,), trace, (TaskStatus(0, state, worker, trace),))


def after(*looks: ConnectorStatus | str, connector: str = "east-west") -> dict[str, Any]:
    """The one task after some looks; "silent": Connect did not answer."""
    kept: list[dict[str, Any]] = []
    for number, look in enumerate(looks):
        at = f"2026-11-25T10:00:{number:02d}+00:00"
        kept = unseen(kept) if isinstance(look, str) else counted(kept, connector, look, at)
    return kept[0]


def test_one_that_has_always_run_has_not_begun_anew() -> None:
    task = after(status(), status(), status())
    assert (task["restarts"], task["since"], task["error"]) == (0, "2026-11-25T10:00:00+00:00", "")


def test_running_again_after_a_failure_is_a_restart_and_the_error_stays() -> None:
    task = after(status(), status("FAILED", trace="No space left on device"), status())
    assert (task["restarts"], task["state"]) == (1, "RUNNING")
    assert (task["error"], task["error_at"]) == ("No space left on device", "2026-11-25T10:00:01+00:00")


def test_the_same_error_again_is_newer() -> None:
    failed = status("FAILED", trace="away")
    assert after(failed, failed, status(), failed)["error_at"] == "2026-11-25T10:00:03+00:00"
    assert after(failed, failed)["error_at"] == "2026-11-25T10:00:00+00:00"


def test_running_on_another_worker_is_a_restart() -> None:
    assert after(status(), status(worker="w2:8083"))["restarts"] == 1


def test_while_connect_is_silent_nothing_is_known_and_nothing_is_forgotten() -> None:
    silent = after(status(), status("FAILED", trace="away"), status(), "silent")
    assert (silent["state"], silent["restarts"], silent["error"]) == ("UNKNOWN", 1, "away")
    assert after(status(), "silent", status())["restarts"] == 0, "it may have run all the time"
    assert after(status(), "silent", status(worker="w2:8083"))["restarts"] == 1


def test_the_other_directions_tasks_are_counted_by_themselves() -> None:
    kept = counted([], "east-west", status(), "a")
    kept = counted(kept, "east-west", status(worker="w2"), "b")
    assert counted(kept, "west-east", status(), "c")[0]["restarts"] == 0


def test_without_a_connector_there_are_no_tasks() -> None:
    assert counted(counted([], "c", status(), "a"), "c", None, "b") == []
