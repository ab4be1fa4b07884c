"""Workers that say that they are there, and the figures of each day."""

from __future__ import annotations

from datetime import UTC, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone
from support.waiting import eventually

from hadash import VERSION
from hadash.inventory import daily, workers
from hadash.inventory.models import Cluster, DailyFigure, Pair, Worker

stack = pytest.mark.stack


@stack
@pytest.mark.django_db(transaction=True)
class TestPresence:
    def test_a_worker_is_there_until_it_is_stopped(self) -> None:
        presence = workers.Presence("celery@here", ["pipeline", "celery"])
        presence.start()
        eventually(lambda: Worker.objects.exists(), "the worker's first word")
        [worker] = workers.known()
        assert (worker.name, worker.queues, worker.version) == (
            "celery@here",
            ["celery", "pipeline"],
            VERSION,
        )
        assert workers.is_there(worker, timezone.now())
        presence.stop()
        assert workers.known() == []

    def test_one_that_was_started_anew_under_its_name_is_not_forgotten_with_the_old_one(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old, new = (workers.Presence("celery@here", ["celery"]) for _ in range(2))
        old.start()
        eventually(lambda: Worker.objects.exists(), "the first word of the old one")
        before = Worker.objects.get().began_at
        new.start()
        eventually(lambda: Worker.objects.get().began_at > before, "the first word of the new one")
        old.stop()
        assert Worker.objects.count() == 1
        new.stop()

    def test_a_database_that_is_away_for_a_while_ends_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(settings, "WORKER_PRESENCE_SECONDS", 0.05)
        said: list[str] = []
        note = workers.Presence._note

        def at_first_in_vain(self: workers.Presence, began: Any) -> None:
            said.append("")
            if len(said) < 3:
                raise DatabaseError("away")
            note(self, began)

        monkeypatch.setattr(workers.Presence, "_note", at_first_in_vain)
        presence = workers.Presence("celery@here", ["celery"])
        presence.start()
        eventually(lambda: Worker.objects.exists(), "its word once PostgreSQL is back")
        presence.stop()


@stack
@pytest.mark.django_db
class TestKnown:
    def worker(self, name: str, seconds_ago: float) -> Worker:
        now = timezone.now()
        return Worker.objects.create(
            name=name,
            queues=["celery"],
            version="1",
            began_at=now,
            seen_at=now - timedelta(seconds=seconds_ago),
        )

    def test_one_that_was_killed_is_missed_and_after_a_day_forgotten(self) -> None:
        here, killed = self.worker("here", 1), self.worker("killed", 60)
        self.worker("old", 90_000)
        assert workers.known() == [here, killed]
        assert [workers.is_there(each, timezone.now()) for each in workers.known()] == [True, False]
        workers.trim()
        assert Worker.objects.count() == 2


@stack
@pytest.mark.django_db
class TestDaily:
    @pytest.fixture(autouse=True)
    def said(self, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
        """What the Gateways say; change it."""
        clusters = [
            Cluster.objects.create(
                name=name,
                number=number,
                bootstrap_servers="127.0.0.1:1",
                admin_username="a",
                admin_password="a",
                mirror_username="m",
                mirror_password="m",
            )
            for number, name in enumerate(("east", "west"), 1)
        ]
        Pair.objects.create(name="main", first=clusters[0], second=clusters[1], default=clusters[0])
        found = SimpleNamespace(gateways=1, connected=[])
        member = SimpleNamespace(admin_url="http://127.0.0.1:1", excluded=False)
        monkeypatch.setattr(daily, "live_gateways", lambda: [member] * found.gateways)
        monkeypatch.setattr(daily, "ask_all", lambda path, key, gateways: found.connected)
        return found

    def figures(self) -> dict[str, int]:
        return {each.name: each.value for each in DailyFigure.objects.exclude(name="workers")}

    def test_the_worst_of_a_day_stays(self, said: SimpleNamespace) -> None:
        said.connected = [
            ["shop", "web", "east", 3, 0],
            ["shop", "web", "west", 1, 0],
            ["shop", "job", "east", 1, 0],
            ["x", "y", "far", 1, 0],
        ]
        Cluster.objects.filter(name="east").update(
            looked_at=timezone.now()
        )  # the other one: by nobody lately
        daily.note(timezone.now() - timedelta(minutes=12, seconds=5))
        assert self.figures() == {"clients": 2, "clusters": 1, "gateways": 1, "facts_age": 12}
        said.connected, said.gateways = [], 2
        Cluster.objects.filter(name="east").update(fault="No broker answers.")
        daily.note(timezone.now())
        assert self.figures() == {"clients": 2, "clusters": 0, "gateways": 1, "facts_age": 12}

    def test_facts_that_were_never_there_have_no_age(self, said: SimpleNamespace) -> None:
        daily.note(None)
        assert "facts_age" not in self.figures()

    def test_what_no_trend_has_any_more_is_forgotten(self, said: SimpleNamespace) -> None:
        today = timezone.now().astimezone(UTC).date()
        for age in (0, settings.DAILY_FIGURES_KEPT_DAYS + 1):
            DailyFigure.objects.create(day=today - timedelta(days=age), name="clients", value=1)
        daily.trim()
        assert DailyFigure.objects.count() == 1
