"""Which clients are recorded, and what each is told."""

from __future__ import annotations

from collections import Counter

from hadash_sandbox.recording.run import _java_line, _librdkafka_line
from hadash_sandbox.recording.ways import PREFIX, Way, ways, world


def test_every_report_says_which_client_made_it() -> None:
    appids = Counter(way.appid for way in ways())
    assert max(appids.values()) == 1, "an AppID is one client's"
    assert set(appids) <= set(world(ways()).users)


def test_a_client_without_a_name_is_told_none() -> None:
    for line in (_java_line, _librdkafka_line):
        assert "client.id" not in line(Way("some", "reads", "consume", group=True, named=False))
        assert "client.id=some.reads-client" in line(Way("some", "reads", "consume", group=True))


def test_a_reader_by_pattern_is_told_a_pattern_of_its_library() -> None:
    way = Way("some", "reads-pattern", "pattern", group=True)
    told = [line(way).split("\t")[1] for line in (_java_line, _librdkafka_line)]
    assert told == [rf"{PREFIX[:-1]}\..*", rf"^{PREFIX[:-1]}\..*"]


def test_what_has_to_be_seen_of_a_client_is_what_it_is_for() -> None:
    assert Way("some", "writes", "transact").kinds == {"produce"}
    assert Way("some", "reads", "consume", group=True).kinds == {"consume", "group"}
    assert Way("some", "assigns", "assign").kinds == {"consume"}
