"""Whether a process lives, can serve, and moves: pure but for threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.checks import ERROR

from hadash.monitoring.checks import health_address_is_one
from hadash.monitoring.health import Health, Progress, readiness
from hadash.monitoring.probes import Answer, Probe, ask_all
from hadash.monitoring.process_server import parse_address


def answered(name: str, holds: bool | None, *, is_needed: bool) -> Answer:
    return Answer(name, holds, "", is_needed, 0.0)


class TestReadiness:
    @pytest.mark.parametrize(
        ("answers", "status", "http_status"),
        [
            ([], "ok", 200),
            (
                [answered("postgresql", True, is_needed=True), answered("kafka", True, is_needed=False)],
                "ok",
                200,
            ),
            (
                [answered("postgresql", True, is_needed=True), answered("kafka", False, is_needed=False)],
                "degraded",
                200,
            ),
            (
                [answered("postgresql", True, is_needed=True), answered("kafka", None, is_needed=False)],
                "degraded",
                200,
            ),
            ([answered("postgresql", False, is_needed=True)], "not ready", 503),
            ([answered("postgresql", None, is_needed=True)], "not ready", 503),
        ],
    )
    def test_only_what_is_needed_makes_it_not_ready_and_not_known_is_not_fine(
        self, answers: list[Answer], status: str, http_status: int
    ) -> None:
        found = readiness("web", answers)
        assert (found.status, found.http_status) == (status, http_status)

    def test_strangers_hear_the_status_only(self) -> None:
        found = readiness("web", [Answer("redis", False, "refused at 10.1.2.3", False, 0.1)])
        assert found.to_json(whole=False) == {"status": "degraded"}
        (check,) = found.to_json()["checks"]
        assert (check["name"], check["ok"], check["says"]) == ("redis", False, "refused at 10.1.2.3")

    def test_one_that_is_stuck_is_to_be_started_again(self) -> None:
        assert Health("worker", "stuck").http_status == 503


class TestProgress:
    """Observed every few seconds; patience is 60 s."""

    def observe(self, *observations: tuple[float, bool | None, int]) -> Progress:
        progress = Progress(patience=60)
        for now, could, done in observations:
            progress.observe(now, could_move=could, done=done)
        return progress

    def test_who_could_and_does_nothing_for_too_long_is_stuck(self) -> None:
        progress = self.observe((0, True, 7), (30, True, 7), (61, True, 7))
        assert (progress.is_stuck(60), progress.is_stuck(61)) == (False, True)

    def test_who_does_something_is_not(self) -> None:
        assert not self.observe((0, True, 7), (50, True, 8), (100, True, 9)).is_stuck(109)

    def test_who_has_nothing_to_do_is_not(self) -> None:
        assert not self.observe((0, False, 7), (500, False, 7)).is_stuck(1000)

    def test_the_time_before_there_was_something_to_do_does_not_count(self) -> None:
        progress = self.observe((0, False, 7), (500, True, 7))
        assert (progress.is_stuck(559), progress.is_stuck(561)) == (False, True)

    def test_nobody_knows_while_redis_is_away_so_nothing_is_said(self) -> None:
        assert not self.observe((0, True, 7), (50, None, 7), (100, True, 7)).is_stuck(110)


class Hanging:
    """A server that answers when it is let go."""

    def __init__(self) -> None:
        self.asked = 0
        self.answers = threading.Event()

    def ask(self) -> str:
        self.asked += 1
        self.answers.wait(30)
        return "answers"


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    server = Hanging()
    yield server
    server.answers.set()


class TestProbes:
    def test_what_each_says(self) -> None:
        def fails() -> str:
            raise ValueError("no route\nto host")

        good, bad = Probe("good", lambda: "answers", is_needed=True), Probe("bad", fails, is_needed=False)
        first, second = ask_all([good, bad], 5)
        assert (first.holds, first.says, first.is_needed) == (True, "answers", True)
        assert (second.holds, second.says, second.is_needed) == (False, "no route", False)

    def test_one_that_hangs_is_not_known_and_keeps_nobody_waiting(self, hanging: Hanging) -> None:
        first, second = ask_all(
            [Probe("hangs", hanging.ask, is_needed=True), Probe("good", lambda: "yes", is_needed=True)], 0.1
        )
        assert (first.holds, second.holds) == (None, True)
        assert first.says.startswith("no answer for")

    def test_it_is_asked_once_however_often_the_page_is(self, hanging: Hanging) -> None:
        probe = Probe("hangs", hanging.ask, is_needed=True)
        for _ in range(5):
            ask_all([probe], 0.01)
        assert hanging.asked == 1
        hanging.answers.set()
        (answer,) = ask_all([probe], 5)
        assert answer.holds is True


class TestAddress:
    def test_good_ones(self) -> None:
        assert parse_address("0.0.0.0:9101") == ("0.0.0.0", 9101)
        assert parse_address("[::]:9101") == ("::", 9101)

    @pytest.mark.parametrize("text", ["9101", "host:", ":9101", "host:http", "host:0", "host:70000"])
    def test_others_are_refused_with_what_to_write(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"is not host:port, such as 127\.0\.0\.1:9101"):
            parse_address(text)

    def test_a_process_does_not_start_with_such_a_one(self, settings: Any) -> None:
        settings.HEALTH_ADDRESS = "9101"
        (found,) = health_address_is_one(None)
        assert (found.id, found.level) == ("hadash.E017", ERROR)
        settings.HEALTH_ADDRESS = ""
        assert health_address_is_one(None) == []
