"""The live pages of mirrors: what has changed is told once, and only to those who may see it."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import RequestFactory
from django.utils import timezone

from dashboard.parts import PASSWORD
from dashboard.test_live import parse
from hadash.accounts.roles import ensure_user
from hadash.dashboard.mirrors.history import WINDOWS
from hadash.dashboard.views import mirror_list, streaming
from hadash.dashboard.views import mirrors as views
from hadash.inventory.models import Pair
from hadash.mirroring.models import LagSample, Mirror, PairLag

AT = datetime(2026, 11, 25, 10, 0, tzinfo=UTC)
STEP = timedelta(seconds=10)
EVERY = timedelta(seconds=2)


def look(feed: streaming.Feed) -> dict[str, Any]:
    """What a viewer is told next, by event."""
    events = parse(b"".join(streaming.pool.submit(feed.look).result()))
    return {name: data for name, _id, data in events}


@pytest.mark.stack
@pytest.mark.django_db(transaction=True)
class TestTheStream:
    def feed(self, user: Any, **asked: str) -> views.Feed:
        request = RequestFactory().get("/", asked)
        request.user = user
        feed = views.Feed(request, "main", "shop")
        feed._looked_at_rights = math.inf  # (there is no session)
        return feed

    def test_new_points_are_told_once(
        self, people: SimpleNamespace, fleet: SimpleNamespace, one_thread: Any
    ) -> None:
        feed = self.feed(people.vera)
        first = look(feed)
        assert set(first) == {"lag", "state", "tasks", "audit", "topics", "incidents"}
        assert first["lag"]["at"] == sorted(first["lag"]["at"])
        LagSample.objects.create(
            mirror=fleet.mirror, at=timezone.now() - timedelta(seconds=4), records=77, seconds=1.5
        )
        again = look(feed)
        assert again["lag"]["records"][-1] == 77
        assert not set(again["lag"]["at"]) & set(first["lag"]["at"])

    @pytest.mark.parametrize("window", ["hour", "day", "month"])
    def test_beside_a_longer_past_the_present_is_told(
        self, people: SimpleNamespace, fleet: SimpleNamespace, one_thread: Any, window: str
    ) -> None:
        """What was once *running, 0.4 s behind* must not pass for the state of now."""
        feed = self.feed(people.vera, window=window)
        assert set(look(feed)) == {"state", "tasks", "audit", "topics"}
        Mirror.objects.filter(pk=fleet.mirror.pk).update(state="failed")
        assert "failed" in look(feed)["state"]["state"]

    def test_partitions_over_time_are_told_once_a_step(
        self, people: SimpleNamespace, fleet: SimpleNamespace, one_thread: Any, monkeypatch: Any
    ) -> None:
        now = timezone.now()
        LagSample.objects.create(
            mirror=fleet.mirror, at=now - timedelta(seconds=30), records=7, partitions={"carts-0": 7}
        )
        monkeypatch.setattr(views.timezone, "now", lambda: now)
        feed = self.feed(people.vera)
        assert "over-time" not in look(feed), "the page itself has loaded them"
        assert "over-time" not in look(feed)
        monkeypatch.setattr(views.timezone, "now", lambda: now + timedelta(seconds=10))
        assert "carts-0" in look(feed)["over-time"]["over-time"]

    def test_whoever_may_not_see_the_pair_is_told_nothing(
        self, people: SimpleNamespace, fleet: SimpleNamespace, one_thread: Any
    ) -> None:
        people.vera.groups.clear()
        assert look(self.feed(type(people.vera).objects.get(pk=people.vera.pk))) == {}


@pytest.mark.stack
@pytest.mark.django_db(transaction=True)
class TestTheStreamOfTheList:
    def feed(self, user: Any, **asked: str) -> mirror_list.Feed:
        request = RequestFactory().get("/", asked)
        request.user = user
        feed = mirror_list.Feed(request)
        feed._looked_at_rights = math.inf  # (there is no session)
        return feed

    def test_rows_and_chart_are_told_when_they_change(
        self, people: SimpleNamespace, fleet: SimpleNamespace, one_thread: Any, monkeypatch: Any
    ) -> None:
        now = timezone.now().replace(second=20, microsecond=0)
        monkeypatch.setattr(mirror_list.timezone, "now", lambda: now)
        PairLag.objects.create(pair=fleet.pair, at=now - timedelta(seconds=60), seconds=41.0, unknown=0)
        feed = self.feed(people.vera)
        first = look(feed)
        assert set(first) == {"rows", "chart"} and "carts" in first["rows"]["rows"]
        assert first["chart"]["chart"]["traces"][0]["y"] == [41.0]
        assert "Beyond its RPO within this time: main." in first["chart"]["chart"]["says"]
        assert look(feed) == {}, "nothing has changed"
        Mirror.objects.filter(name="shop").update(lag_records=4711, state="running", looked_at=now)
        assert set(look(feed)) == {"rows"}
        monkeypatch.setattr(mirror_list.timezone, "now", lambda: now + WINDOWS["live"].step)
        assert set(look(feed)) >= {"chart"}

    def test_rows_are_told_beside_a_longer_past(
        self, people: SimpleNamespace, fleet: SimpleNamespace, one_thread: Any
    ) -> None:
        assert set(look(self.feed(people.vera, window="month"))) == {"rows"}

    def test_it_follows_what_the_address_asks_for(
        self, people: SimpleNamespace, fleet: SimpleNamespace, one_thread: Any
    ) -> None:
        told = look(self.feed(people.vera, q="nobody"))
        assert "Nothing fits." in told["rows"]["rows"]
        told = look(self.feed(people.vera, sort="-lag"))
        assert 'href="?sort=lag"' in told["rows"]["rows"], "links lead to the page"

    def test_it_shows_the_mirrors_of_the_viewers_pairs_alone(
        self, people: SimpleNamespace, fleet: SimpleNamespace, one_thread: Any
    ) -> None:
        other = Pair.objects.create(name="other", first=fleet.east, second=fleet.west, default=fleet.east)
        Mirror.objects.create(pair=other, name="hidden", topics=[], source=fleet.east)
        told = look(self.feed(ensure_user("pia", PASSWORD, "viewer", pair=other)))
        assert "hidden" in told["rows"]["rows"] and "carts" not in told["rows"]["rows"]
