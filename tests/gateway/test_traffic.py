"""What passed: counted by client and cluster, sampled over time, and who uses what."""

from __future__ import annotations

import pytest

from hadash.gateway.traffic import AccessKey, Circumstances, Stream, Traffic

EAST, WEST = Stream("shop", "web-1", "east"), Stream("shop", "web-1", "west")
OTHER = Stream("billing", "", "east")


class Clock:
    """Time that passes when a test says so."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def everything(_: Stream) -> bool:
    return True


class TestSamples:
    def setup_method(self) -> None:
        self.clock = Clock()
        self.traffic = Traffic(samples=3, clock=self.clock)

    def sample(self, parked: int = 0) -> None:
        self.clock.now += 1
        self.traffic.sample(parked)

    def test_a_sample_holds_what_moved_since_the_last(self) -> None:
        self.traffic.count_produced(EAST, 5)
        self.traffic.count_consumed(EAST, 2)
        self.sample()
        self.traffic.count_produced(EAST, 1)
        self.traffic.count_produced(WEST, 4)
        self.sample(parked=7)
        assert list(self.traffic.samples_since(0, everything)) == [
            {"at": 101.0, "parked": 0, "clusters": {"east": [5, 2]}},
            {"at": 102.0, "parked": 7, "clusters": {"east": [1, 0], "west": [4, 0]}},
        ]

    def test_streams_of_a_cluster_are_added_up_and_others_left_out(self) -> None:
        self.traffic.count_produced(EAST, 5)
        self.traffic.count_produced(OTHER, 3)
        self.sample()
        (both,) = self.traffic.samples_since(0, everything)
        (shop,) = self.traffic.samples_since(0, lambda stream: stream.appid == "shop")
        assert both["clusters"] == {"east": [8, 0]}
        assert shop["clusters"] == {"east": [5, 0]}

    def test_only_newer_samples_are_given(self) -> None:
        for _ in range(3):
            self.sample()
        assert [s["at"] for s in self.traffic.samples_since(102.0, everything)] == [103.0]

    def test_a_silent_second_is_a_sample_too(self) -> None:
        self.sample()
        assert list(self.traffic.samples_since(0, everything)) == [{"at": 101.0, "parked": 0, "clusters": {}}]

    def test_the_oldest_go(self) -> None:
        for _ in range(5):
            self.sample()
        assert [s["at"] for s in self.traffic.samples_since(0, everything)] == [103.0, 104.0, 105.0]


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

    def test_the_facts_that_were_seen_last_are_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A client.id that is new at each start must not fill the memory."""
        monkeypatch.setattr("hadash.gateway.traffic.MAX_FACTS", 2)
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
