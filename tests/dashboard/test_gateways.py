"""The pages of Gateways: what each does now, and what it has done."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.parts import PASSWORD, cluster, gateway, signed_in
from hadash.accounts.roles import ensure_user
from hadash.dashboard.charts.lines import lines
from hadash.inventory import gateway_samples
from hadash.inventory.gateway_rates import Counted, rates, thinned
from hadash.inventory.models import GatewayHour, GatewaySample, Pair
from hadash.presentation.engines import Engines
from hadash.presentation.tables import Column

AT = datetime(2026, 11, 25, 10, 0, tzinfo=UTC)

STATUS: dict[str, Any] = {
    "applied": 7,
    "connections_by_cluster": {"east": 3, "west": 1},
    "reached": {"east": True, "west": True},
    "parked": 2,
    "expired": 0,
    "overflowed": 0,
    "refused": {"unknown user": 4},
    "requests": [["FETCH", "east", 100, 1000, 50_000], ["FETCH", "west", 10, 100, 5000], ["PRODUCE", "east", 5, 9, 9]],
    "cpu_seconds": 1.5,
    "memory_bytes": 150_000_000,
    "started": AT.timestamp(),
}  # fmt: skip


def counted(
    second: int, fetches: int, *, started: int = -100, cpu: float | None = 1.0, refused: int = 0
) -> Counted:
    return Counted(
        AT + timedelta(seconds=second), AT + timedelta(seconds=started), {"east": 1}, 0, 0, 0, {"no": refused},
        {"FETCH": [fetches, 10 * fetches, 100 * fetches]}, cpu, 5,
    )  # fmt: skip


class TestRates:
    def test_what_went_on_between_two_samples_a_second(self) -> None:
        [rate] = rates([counted(0, 100, cpu=1.0, refused=1), counted(10, 150, cpu=1.5, refused=6)])
        assert (rate.requests, rate.bytes_in, rate.bytes_out) == (
            {"FETCH": 5.0}, {"FETCH": 50.0}, {"FETCH": 500.0},
        )  # fmt: skip
        assert (rate.cpu, rate.refused) == (0.05, {"no": 0.5})

    def test_a_restarted_process_counts_from_zero(self) -> None:
        [rate] = rates([counted(0, 100_000), counted(20, 40, started=10)])
        assert rate.requests == {"FETCH": 4.0}

    def test_what_the_system_does_not_tell_is_not_known(self) -> None:
        assert rates([counted(0, 0, cpu=None), counted(10, 0, cpu=None)])[0].cpu is None
        assert rates([counted(0, 0, cpu=None), counted(10, 0, cpu=1.0)])[0].cpu is None

    def test_of_a_long_time_each_step_has_its_peaks(self) -> None:
        one = rates([counted(0, 0), counted(10, 5000), counted(20, 5010)])
        [step] = thinned(one, most=1)
        assert (step.at, step.requests) == (one[-1].at, {"FETCH": 500.0})
        assert thinned(one, most=2) == one

    def test_of_one_sample_nothing_follows(self) -> None:
        assert rates([counted(0, 5)]) == []


class TestLines:
    def chart(self, at: list[datetime], series: dict[str, list[float | None]]) -> Any:
        return lines("x", "X", at, series, span=(AT, AT), every=timedelta(seconds=10), unit="u")

    def test_missing_samples_are_a_gap(self) -> None:
        at = [AT, AT + timedelta(seconds=10), AT + timedelta(seconds=90)]
        assert self.chart(at, {"a": [1, 2, 3]}).traces[0]["y"] == [1, 2, None, 3]

    def test_a_sample_between_two_gaps_is_a_mark(self) -> None:
        """(A line alone would not show it: samples of a slow round would not be there at all.)"""
        spread = [AT + timedelta(seconds=60 * n) for n in range(50)]
        alone = self.chart(spread, {"a": [1] * 50}).traces[0]
        assert alone["mode"] == "lines+markers"
        sizes = dict(zip(alone["x"], alone["marker"]["size"], strict=True))
        assert all(sizes[at] for at, value in zip(alone["x"], alone["y"], strict=True) if value is not None)
        close = [AT + timedelta(seconds=10 * n) for n in range(50)]
        assert self.chart(close, {"a": [1] * 50}).traces[0]["mode"] == "lines"

    def test_of_many_the_highest_are_drawn_and_all_are_in_the_table(self) -> None:
        chart = self.chart([AT], {f"kind-{n}": [n] for n in range(9)})
        assert [trace["name"] for trace in chart.traces] == [f"kind-{n}" for n in (8, 7, 6, 5, 4)]
        assert len(chart.rows[0]) == 10

    def test_where_there_may_be_hundreds_the_table_has_a_row_for_each_value_and_no_column_for_each_line(
        self,
    ) -> None:
        at = [AT, AT + timedelta(seconds=10)]
        series = {"orders": [1.0, 7.0], "people": [2.0, None], "clicks": [3.0, 9.0]}
        named = Column("topic", "Topic"), Column("records", "Records", "number")
        chart = lines("x", "X", at, series, span=(AT, AT), every=timedelta(seconds=10), unit="u", named=named)
        assert [column.name for column in chart.columns] == ["at", "topic", "records"]
        newest = [("people", None), ("clicks", 9.0), ("orders", 7.0)]
        before = [("clicks", 3.0), ("people", 2.0), ("orders", 1.0)]
        assert chart.rows == [*((at[1], *row) for row in newest), *((at[0], *row) for row in before)]

    def test_lines_are_told_apart_by_more_than_their_colour(self) -> None:
        traces = self.chart([AT], {"a": [1], "b": [2], "c": [3]}).traces
        assert len({trace["line"]["dash"] for trace in traces}) == 3


def test_kinds_of_requests_are_added_up_over_clusters() -> None:
    sample = gateway_samples.sample_of("gateway-1", STATUS, AT)
    assert sample.requests == {"FETCH": [110, 1100, 55_000], "PRODUCE": [5, 9, 9]}
    assert (sample.connections, sample.started) == ({"east": 3, "west": 1}, AT)


def test_one_of_an_older_version_gives_no_sample() -> None:
    with pytest.raises(KeyError):
        gateway_samples.sample_of("gateway-1", {"applied": 1}, AT)


@pytest.mark.stack
@pytest.mark.django_db
class TestPages:
    @pytest.fixture
    def sampled(self, engines: SimpleNamespace, fleet: SimpleNamespace) -> SimpleNamespace:
        engines.look = Engines({}, 7, (gateway("gateway-1"), gateway("gateway-9", live=False)))
        now = timezone.now()
        for age, fetches in ((30, 100), (15, 400)):
            requests = [["FETCH", "east", fetches, fetches, fetches]]
            gateway_samples.sample_of(
                "gateway-1", {**STATUS, "requests": requests}, now - timedelta(seconds=age)
            ).save()
        return engines

    def test_every_gateway_that_can_be_asked_is_sampled(
        self, monkeypatch: pytest.MonkeyPatch, fleet: Any
    ) -> None:
        members = [gateway("gateway-1"), gateway("gateway-2"), gateway("gateway-9", live=False)]
        monkeypatch.setattr(gateway_samples, "gateway_members", lambda: members)

        def ask(member: Any, path: str) -> dict[str, Any]:
            return STATUS if member.id == "gateway-1" else {"id": member.id}

        monkeypatch.setattr(gateway_samples, "ask", ask)
        assert gateway_samples.sample_gateways() == 1
        assert [sample.gateway for sample in GatewaySample.objects.all()] == ["gateway-1"]

    def test_the_list_says_what_each_does_and_what_is_not_known(self, as_arne: Client, sampled: Any) -> None:
        page = as_arne.get(reverse("gateways")).content.decode()
        assert "20.0" in page, "requests a second"
        assert "does not answer" in page and page.count('class="blank"') >= 4
        answer = as_arne.get(reverse("gateways"), {"format": "csv"})
        text = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
        assert "gateway-1" in text and "gateway-9" in text

    @pytest.mark.parametrize("window", ["hour", "day", "month", "nonsense"])
    def test_one_gateway(self, as_arne: Client, sampled: Any, window: str) -> None:
        page = as_arne.get(reverse("gateway", args=["gateway-1"]), {"window": window}).content.decode()
        assert "Requests" in page and ("FETCH" in page or window == "month")
        answer = as_arne.get(reverse("gateway", args=["gateway-1"]), {"csv": "connections"})
        assert len(b"".join(answer.streaming_content).decode().splitlines()) == 2  # type: ignore[attr-defined]

    def test_the_most_of_each_hour_is_kept_for_a_month(self, as_arne: Client, fleet: Any) -> None:
        """A peak of parked requests and a restart, in the last complete hour but one; then an hour without samples."""
        until = timezone.now().replace(minute=0, second=0, microsecond=0)
        begin = until - timedelta(hours=2)
        for minutes, parked, fetches in ((-1, 0, 0), (10, 0, 660), (11, 42, 1260), (12, 3, 1260)):
            at = begin + timedelta(minutes=minutes)
            counts = {"parked": parked, "requests": [["FETCH", "east", fetches, 0, 0]]}
            gateway_samples.sample_of("gateway-1", {**STATUS, **counts}, at).save()
        assert gateway_samples.keep_hours(timezone.now()) == 1
        assert gateway_samples.keep_hours(timezone.now()) == 0, "once"
        [hour] = GatewayHour.objects.all()
        assert (hour.at, hour.most["parked"], hour.most["requests"]) == (begin, 42, {"FETCH": 10.0})
        address = reverse("gateway", args=["gateway-1"])
        answer = as_arne.get(address, {"window": "month", "csv": "parked"})
        lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert [line.split(",")[1] for line in lines[1:]] == ["42"]
        gateway_samples.trim(timezone.now() + timedelta(days=32))
        assert not GatewayHour.objects.exists() and not GatewaySample.objects.exists()

    def test_how_far_it_was_behind_the_others(self, as_arne: Client, sampled: Any) -> None:
        now = timezone.now()
        for age, applied in ((30, 7), (15, 9)):
            gateway_samples.sample_of(
                "gateway-2", {**STATUS, "applied": applied}, now - timedelta(seconds=age)
            ).save()
        for name, behind in (("gateway-1", ["2"]), ("gateway-2", ["0"])):
            answer = as_arne.get(reverse("gateway", args=[name]), {"csv": "epochs-behind"})
            lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
            assert [line.split(",")[1] for line in lines[1:]] == behind

    def test_one_that_left_is_shown_as_long_as_its_samples_are_kept(
        self, as_arne: Client, sampled: Any
    ) -> None:
        GatewaySample.objects.update(gateway="gateway-7")
        page = as_arne.get(reverse("gateway", args=["gateway-7"])).content.decode()
        assert "It is no member any more." in page
        assert as_arne.get(reverse("gateway", args=["gateway-8"])).status_code == 404

    def test_while_zookeeper_is_away_nothing_is_said_of_members(self, as_arne: Client, sampled: Any) -> None:
        sampled.look = Engines(fault="no answer within 1.5 s")
        page = as_arne.get(reverse("gateways")).content.decode()
        assert "Not known while ZooKeeper does not answer." in page and "gateway-1" not in page

    def test_without_a_role_nothing_is_shown(self, sampled: Any) -> None:
        nobu = signed_in(User.objects.create_user("nobu"))
        page = nobu.get(reverse("gateways")).content.decode()
        assert "You have no role yet" in page and "gateway-1" not in page
        assert nobu.get(reverse("gateway", args=["gateway-1"])).status_code == 404

    def test_clusters_of_other_pairs_are_not_named(self, sampled: Any) -> None:
        north, south = cluster("north", 8), cluster("south", 9)
        other = Pair.objects.create(name="other", first=north, second=south, default=north)
        pia = signed_in(ensure_user("pia", PASSWORD, "viewer", pair=other))
        page = pia.get(reverse("gateway", args=["gateway-1"])).content.decode()
        assert "east" not in page and "west" not in page
