"""What passed: counted by client and cluster, sampled over time, and who uses what."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from hadash.gateway.reporting import samples
from hadash.gateway.reporting.traffic import AccessKey, Circumstances, Stream, Traffic
from hadash.lake.access import ALL_TOPICS, LISTING

EAST, WEST = Stream("shop", "web-1", "east"), Stream("shop", "web-1", "west")
OTHER = Stream("billing", "", "east")


class Clock:
    """Time that passes when a test says so."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def run(steps: Generator[None, None, None]) -> None:
    """Sliced work to its end."""
    for _ in steps:
        pass


class TestSamples:
    def setup_method(self) -> None:
        self.clock = Clock()
        self.traffic = Traffic(samples=3, clock=self.clock)

    def sample(self, parked: int = 0) -> None:
        self.clock.now += 1
        run(self.traffic.sample(parked))

    def test_a_sample_holds_what_moved_since_the_last(self) -> None:
        self.traffic.count_produced(EAST, 5)
        self.traffic.count_consumed(EAST, 2)
        self.sample()
        self.traffic.count_produced(EAST, 1)
        self.traffic.count_produced(WEST, 4)
        self.sample(parked=7)
        assert list(self.traffic.samples_since(0)) == [
            {"at": 101.0, "parked": 0, "clusters": {"east": [5, 2]}},
            {"at": 102.0, "parked": 7, "clusters": {"east": [1, 0], "west": [4, 0]}},
        ]

    def test_streams_of_a_cluster_are_added_up_and_others_left_out(self) -> None:
        self.traffic.count_produced(EAST, 5)
        self.traffic.count_produced(OTHER, 3)
        self.sample()
        (both,) = self.traffic.samples_since(0)
        (shop,) = self.traffic.samples_since(0, "shop")
        assert both["clusters"] == {"east": [8, 0]}
        assert shop["clusters"] == {"east": [5, 0]}

    def test_only_newer_samples_are_given(self) -> None:
        for _ in range(3):
            self.sample()
        assert [s["at"] for s in self.traffic.samples_since(102.0)] == [103.0]

    def test_a_silent_second_is_a_sample_too(self) -> None:
        self.sample()
        assert list(self.traffic.samples_since(0)) == [{"at": 101.0, "parked": 0, "clusters": {}}]

    def test_the_oldest_go(self) -> None:
        for _ in range(5):
            self.sample()
        assert [s["at"] for s in self.traffic.samples_since(0)] == [103.0, 104.0, 105.0]


class TestRoom:
    """Thousands of clients, each with a number in each of a thousand samples, were gigabytes."""

    def setup_method(self) -> None:
        self.clock = Clock()
        self.traffic = Traffic(samples=100, clock=self.clock)

    def sample(self) -> None:
        self.clock.now += 1
        for number in range(3):
            self.traffic.count_produced(Stream("shop", f"web-{number}", "east"), 5)
        self.traffic.count_consumed(WEST, 2)
        self.traffic.count_produced(OTHER, 1)
        run(self.traffic.sample(0))

    def times(self, *asked: str) -> list[float]:
        return [sample["at"] for sample in self.traffic.samples_since(0, *asked)]

    def test_older_samples_hold_totals_of_appids(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(samples, "MAX_DETAILS", 10)
        for _ in range(5):
            self.sample()
        expected = {"clusters": {"east": [15, 0], "west": [0, 2]}, "parked": 0}
        assert list(self.traffic.samples_since(0, "shop")) == [
            {"at": 101.0 + number, **expected} for number in range(5)
        ]
        assert [s["clusters"]["east"] for s in self.traffic.samples_since(0)] == [[16, 0]] * 5
        assert list(self.traffic.samples_since(0, "nobody")) == [
            {"at": 101.0 + number, "parked": 0, "clusters": {}} for number in range(5)
        ]

    def test_a_client_has_only_those_in_which_clients_are_told_apart(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A sample without it would say that nothing moved."""
        monkeypatch.setattr(samples, "MAX_DETAILS", 10)
        for _ in range(5):
            self.sample()
        assert self.times("shop", "web-2") == [104.0, 105.0]
        assert [s["clusters"] for s in self.traffic.samples_since(0, "shop", "web-2")] == [
            {"east": [5, 0]}
        ] * 2

    def test_the_oldest_go_when_the_totals_are_too_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(samples, "MAX_DETAILS", 5)
        monkeypatch.setattr(samples, "MAX_TOTALS", 6)
        for _ in range(6):
            self.sample()
        assert self.times("shop") == [104.0, 105.0, 106.0]

    def test_one_sample_is_kept_however_many_clients_it_has(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(samples, "MAX_DETAILS", 1)
        monkeypatch.setattr(samples, "MAX_TOTALS", 0)
        self.sample()
        self.sample()
        assert self.times("shop", "web-2") == [102.0]

    def test_what_is_summed_up_in_slices_is_there_meanwhile(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(samples, "MAX_DETAILS", 5)
        monkeypatch.setattr(samples, "_SLICE", 1)
        self.sample()
        self.clock.now += 1
        self.traffic.count_produced(EAST, 1)
        slow = self.traffic.sample(0)
        next(slow)
        assert self.times("shop") == [101.0, 102.0]
        self.sample()
        run(slow)
        assert self.times("shop") == [101.0, 102.0, 103.0]
        assert self.times("shop", "web-1") == [103.0]


def key(client_id: str = "web-1", host: str = "10.0.0.1", **circumstances: int) -> AccessKey:
    return AccessKey(
        "shop",
        client_id,
        "produce",
        "orders",
        "east",
        host,
        "librdkafka",
        "2.8.0",
        Circumstances(**circumstances),
    )


class TestAccess:
    def setup_method(self) -> None:
        self.clock = Clock()
        self.traffic = Traffic(samples=1, clock=self.clock)

    def note(self, at: float, which: AccessKey, records: int = 0) -> None:
        self.clock.now = at
        self.traffic.fact(which).note(at, records, 100 * records)

    def test_a_fact_is_its_circumstances_with_counts_and_times(self) -> None:
        self.note(100.0, key(acks=1), 5)
        self.note(200.0, key(acks=1), 3)
        (fact,) = self.traffic.access.values()
        assert (fact.first_seen, fact.last_seen, fact.requests, fact.records, fact.bytes) == (
            100.0,
            200.0,
            2,
            8,
            800,
        )

    def test_when_records_moved_is_not_when_it_was_seen(self) -> None:
        """A member that joins is seen, but nothing has moved."""
        self.note(100.0, key())
        assert (self.traffic.fact(key()).last_seen, self.traffic.fact(key()).moved) == (100.0, 0.0)
        self.note(101.0, key(), 3)
        self.note(102.0, key())
        assert (self.traffic.fact(key()).last_seen, self.traffic.fact(key()).moved) == (102.0, 101.0)

    def test_other_circumstances_are_another_fact_and_the_latest_are_shown(self) -> None:
        self.note(100.0, key(host="10.0.0.1", acks=1), 5)
        self.note(200.0, key(host="10.0.0.2", acks=-1), 3)
        assert len(self.traffic.access) == 2
        ((latest, together),) = self.traffic.latest_access().values()
        assert (latest.host, latest.circumstances.known()) == ("10.0.0.2", {"acks": -1})
        assert (together.first_seen, together.last_seen, together.records) == (100.0, 200.0, 8)

    def test_who_asks_for_all_topics_is_noted_and_uses_none_of_them(self) -> None:
        self.note(100.0, key())
        self.note(101.0, key()._replace(kind=LISTING, resource=ALL_TOPICS))
        assert {fact.kind for fact in self.traffic.access} == {"produce", LISTING}
        assert [found[0].kind for found in self.traffic.latest_access().values()] == ["produce"]
        assert ALL_TOPICS not in self.traffic.topics_used("shop", "east")

    def test_the_facts_that_were_seen_last_are_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A client.id that is new at each start must not fill the memory."""
        monkeypatch.setattr("hadash.gateway.reporting.traffic.MAX_FACTS", 2)
        first, second, third = (key(f"web-{n}") for n in range(3))
        self.clock.now = 0.0
        kept = self.traffic.fact(second)
        for at, which in enumerate((first, second, first, third)):
            self.note(float(at), which, 1)
        assert list(self.traffic.access) == [first, third]
        assert kept.evicted


def test_requests_and_refusals_are_counted() -> None:
    traffic = Traffic(samples=1)
    for cluster in ("east", "east", "west"):
        traffic.counter("PRODUCE", cluster).requests += 1
    traffic.count_refused("password")
    counted = {place: counter.requests for place, counter in traffic.requests.items()}
    assert counted == {("PRODUCE", "east"): 2, ("PRODUCE", "west"): 1}
    assert traffic.refused == {"password": 1}
