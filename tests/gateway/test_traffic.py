"""What passed: counted by client and cluster, sampled over time, and who uses what."""

from __future__ import annotations

import pytest

from hadash.gateway.traffic import AccessFact, AccessKey, Stream, Traffic

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


def test_access_keeps_the_first_time_and_the_latest_circumstances() -> None:
    clock = Clock()
    traffic = Traffic(samples=1, clock=clock)
    key = AccessKey("shop", "web-1", "produce", "orders", "east")
    traffic.observe(key, "10.0.0.1", "librdkafka", "2.8.0", 5, acks=1)
    clock.now = 200.0
    traffic.observe(key, "10.0.0.2", "librdkafka", "2.16.0", 3, idempotent=True)
    assert traffic.access == {
        key: AccessFact(
            100.0, 200.0, "10.0.0.2", "librdkafka", "2.16.0", 8, 200.0, {"acks": 1, "idempotent": True}
        )
    }


def test_when_records_moved_is_not_when_it_was_seen() -> None:
    """A member that joins is seen, but nothing has moved."""
    clock = Clock()
    traffic = Traffic(samples=1, clock=clock)
    key = AccessKey("shop", "web-1", "consume", "orders", "east")
    traffic.observe(key, "h", "l", "1", 0)
    assert (traffic.access[key].last_seen, traffic.access[key].moved) == (100.0, 0.0)
    clock.now = 101.0
    traffic.observe(key, "h", "l", "1", 3)
    clock.now = 102.0
    traffic.observe(key, "h", "l", "1", 0)
    assert (traffic.access[key].last_seen, traffic.access[key].moved) == (102.0, 101.0)


def test_the_facts_that_were_seen_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client.id that is new at each start must not fill the memory."""
    monkeypatch.setattr("hadash.gateway.traffic.MAX_FACTS", 2)
    traffic = Traffic(samples=1)
    keys = [AccessKey("shop", f"web-{n}", "produce", "orders", "east") for n in range(3)]
    for key in (keys[0], keys[1], keys[0], keys[2]):
        traffic.observe(key, "h", "l", "1", 1)
    assert list(traffic.access) == [keys[0], keys[2]]


def test_requests_and_refusals_are_counted() -> None:
    traffic = Traffic(samples=1)
    for cluster in ("east", "east", "west"):
        traffic.count_request("PRODUCE", cluster)
    traffic.count_refused("password")
    assert traffic.requests == {("PRODUCE", "east"): 2, ("PRODUCE", "west"): 1}
    assert traffic.refused == {"password": 1}
