"""The binding graph: the map of all islands, its past, and a thing with what surrounds it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.graph_parts import FLEET, publish_graph, uses_of
from hadash.dashboard.charts import flows, island_map
from hadash.dashboard.charts.flows import APPID, CLIENT, CLUSTER, MOST_NAMED, TOPIC, Flow, Place
from hadash.dashboard.charts.map_marks import Turn
from hadash.dashboard.graph import maps, surroundings
from hadash.dashboard.graph.nodes import Focus
from hadash.dashboard.graph.surroundings import surroundings_of
from hadash.governance.models.published import Edge, Island, Mark
from hadash.governance.models.runs import Run
from hadash.inventory.models import Pair

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

NOW = timezone.now()


@pytest.fixture
def run(fleet: SimpleNamespace) -> Run:
    return publish_graph(fleet.pair, FLEET)


def turns(run: Run, since: Run, pair: Pair) -> dict[str, Turn]:
    return {spot.word: spot.turn for spot in maps.spots_of(run, pair, since)}


class TestTheMap:
    def test_islands_are_what_hangs_together(self, run: Run, fleet: SimpleNamespace) -> None:
        islands, rest = maps.islands_of(run, fleet.pair)
        assert [(i.things, i.appids, i.topics, i.groups) for i in islands] == [(7, 3, 2, 2), (3, 1, 1, 1)]
        assert rest.islands == 0

    def test_clusters_are_told_apart_without_their_colours(self, run: Run, fleet: SimpleNamespace) -> None:
        spots = [
            replace(spot, cluster=cluster)
            for spot in maps.spots_of(run, fleet.pair)
            for cluster in ("east", "west", "")
        ]
        islands = [
            replace(each, cluster=cluster)
            for each in maps.islands_of(run, fleet.pair)[0]
            for cluster in ("east", "west")
        ]
        chart = island_map.island_map(("east", "west"), islands, spots, island_map.Rest())
        symbols = {
            trace["name"]: set(trace["marker"]["symbol"])
            for trace in chart.traces
            if "name" in trace and isinstance(trace["marker"]["symbol"], list)
        }
        assert len(symbols) == 3 and not symbols["east"] & symbols["west"] & symbols["both"]
        assert all(symbol.endswith("-open") for symbol in symbols["west"])
        assert {trace["line"]["dash"] for trace in chart.traces if "circles" in trace} == {"solid", "dash"}

    def test_those_without_a_place_are_counted_together(self, run: Run, fleet: SimpleNamespace) -> None:
        Island.objects.filter(run=run, things=3).update(x=None, y=None, r=None)
        Mark.objects.filter(run=run, appid="ledger").delete()
        islands, rest = maps.islands_of(run, fleet.pair)
        assert (len(islands), rest.islands, rest.things, rest.largest) == (1, 1, 3, 3)
        chart = island_map.island_map(("east", "west"), islands, [], rest)
        mark = next(trace for trace in chart.traces if trace.get("text") == ["1 smaller island"])
        assert mark["customdata"][0][0] == "/governance/tables/islands/?pair=main&sort=-things", (
            "a click lists them"
        )

    def test_what_is_drawn_lies_within_its_island(self, run: Run, fleet: SimpleNamespace) -> None:
        circles = [(i.x or 0, i.y or 0, i.r or 0) for i in maps.islands_of(run, fleet.pair)[0]]
        for spot in maps.spots_of(run, fleet.pair):
            assert any((spot.x - x) ** 2 + (spot.y - y) ** 2 < r * r for x, y, r in circles)

    def test_another_pairs_are_not_there(self, run: Run, fleet: SimpleNamespace) -> None:
        other = Pair.objects.create(name="other", first=fleet.east, second=fleet.west, default=fleet.east)
        assert maps.spots_of(run, other) == []


class TestDifferences:
    def test_new_gone_and_moved(self, fleet: SimpleNamespace) -> None:
        before = publish_graph(fleet.pair, FLEET, at=NOW - timedelta(hours=2))
        after = [use for use in FLEET if use.appid != "search"] + uses_of("returns", produce=["orders"])
        now = publish_graph(fleet.pair, after, west=["bookings"])
        found = turns(now, before, fleet.pair)
        assert found["returns"] is Turn.NEW
        assert {found["search"], found["indexers"]} == {Turn.GONE}
        assert found["bookings"] is Turn.MOVED
        assert {found["shop"], found["orders"]} == {Turn.SAME}

    def test_of_one_island_alone(self, fleet: SimpleNamespace) -> None:
        before = publish_graph(fleet.pair, FLEET, at=NOW - timedelta(hours=2))
        gone = FLEET[0].appid
        after = [use for use in FLEET if use.appid != "search"] + uses_of("returns", produce=["orders"])
        now = publish_graph(fleet.pair, after)
        island = maps.island_of(now, Focus("main", "topic", name="orders"))
        assert island is not None
        spots = maps.spots_of_island(now, fleet.pair, island, before)
        found = {spot.word: spot.turn for spot in spots}
        assert found["returns"] is Turn.NEW and found[gone] is Turn.SAME
        assert {word for word, turn in found.items() if turn is Turn.GONE} <= {"search", "indexers"}
        there = {mark.number for mark in Mark.objects.filter(run=now)}
        assert all(spot.number not in there for spot in spots if spot.turn is Turn.GONE)

    def test_what_is_only_not_drawn_any_more_is_not_gone(self, fleet: SimpleNamespace) -> None:
        before = publish_graph(fleet.pair, FLEET, at=NOW - timedelta(hours=2))
        now = publish_graph(fleet.pair, FLEET)
        Mark.objects.filter(run=now, names=["clicks"]).delete()
        assert "clicks" not in turns(now, before, fleet.pair)

    def test_what_was_only_not_drawn_before_is_not_new(self, fleet: SimpleNamespace) -> None:
        before = publish_graph(fleet.pair, FLEET, at=NOW - timedelta(hours=2))
        now = publish_graph(fleet.pair, FLEET)
        Mark.objects.filter(run=before, names=["clicks"]).delete()
        assert turns(now, before, fleet.pair)["clicks"] is Turn.SAME


class TestSurroundings:
    def test_of_an_appid_its_own_come_first_and_those_who_use_the_same(
        self, run: Run, fleet: SimpleNamespace
    ) -> None:
        found = surroundings_of(run, Focus("main", "appid", "shop"))
        assert {(f.appid, f.resource) for f in found.flows if f.is_own} == {
            ("shop", "orders"),
            ("shop", "clicks"),
        }
        assert {f.appid for f in found.flows if not f.is_own} == {"audit", "search"}
        assert found.radius == 7

    def test_of_a_topic_what_its_users_use_besides(self, run: Run, fleet: SimpleNamespace) -> None:
        found = surroundings_of(run, Focus("main", "topic", name="orders"))
        assert {f.appid for f in found.flows if f.is_own} == {"shop", "audit"}
        assert {f.resource for f in found.flows if not f.is_own} == {"clicks", "auditors"}

    def test_of_many_who_use_the_same_the_closest_are_shown(
        self, run: Run, fleet: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(surroundings, "MOST_APPIDS", 1)
        found = surroundings_of(run, Focus("main", "appid", "shop"))
        assert {f.appid for f in found.flows} == {"shop", "audit"}
        assert found.appids_left_out == 1

    def test_internal_topics_are_drawn_when_they_are_asked_for(
        self, run: Run, fleet: SimpleNamespace
    ) -> None:
        edge = Edge.objects.filter(run=run, appid="shop").exclude(kind="group").first()
        assert edge is not None
        edge.pk, edge.resource = None, "__consumer_offsets"
        edge.save()
        shop = Focus("main", "appid", "shop")
        found = surroundings_of(run, shop)
        assert found.internal_left_out == 1
        assert "__consumer_offsets" not in {flow.resource for flow in found.flows}
        whole = surroundings_of(run, shop, with_internal=True)
        assert (whole.internal_left_out, len(whole.flows)) == (0, len(found.flows) + 1)
        itself = surroundings_of(run, Focus("main", "topic", name="__consumer_offsets"))
        assert {flow.resource for flow in itself.flows if flow.is_own} == {"__consumer_offsets"}

    def test_of_what_nobody_knows_there_is_nothing(self, run: Run, fleet: SimpleNamespace) -> None:
        found = surroundings_of(run, Focus("main", "topic", name="nobody's"))
        assert (found.flows, found.radius) == ([], None)


def drawn(found: list[Flow], focus: Place) -> dict[str, Any]:
    chart = flows.flows(("east", "west"), found, focus, "", lambda place: "")
    return dict(chart.traces[0])


class TestFlows:
    def test_a_topic_leads_to_the_groups_of_its_readers(self) -> None:
        found = [
            Flow("shop", "web", "produce", "orders", "east", 5, NOW),
            Flow("audit", "a-1", "consume", "orders", "east", 5, NOW),
            Flow("audit", "a-1", "group", "auditors", "east", 0, NOW),
        ]
        trace = drawn(found, Place(APPID, ("shop",)))
        names = trace["node"]["label"]
        ways = {
            (names[a], names[b])
            for a, b in zip(trace["link"]["source"], trace["link"]["target"], strict=True)
        }
        assert ways == {
            ("shop", "web"),
            ("web", "orders"),
            ("audit", "a-1"),
            ("a-1", "orders"),
            ("orders", "auditors"),
            ("auditors", "east"),
        }

    def test_what_nobody_reads_in_a_group_leads_to_its_cluster(self) -> None:
        trace = drawn([Flow("shop", "web", "produce", "orders", "west", 5, NOW)], Place(APPID, ("shop",)))
        names = trace["node"]["label"]
        assert ("orders", "west") in {
            (names[a], names[b])
            for a, b in zip(trace["link"]["source"], trace["link"]["target"], strict=True)
        }

    def test_each_column_is_named_where_it_is_drawn(self) -> None:
        """What leads to nothing more stands on the right; a column that nothing is in is not there."""

        def heads(found: list[Flow]) -> list[tuple[float, str]]:
            chart = flows.flows(("east", "west"), found, Place(APPID, ("shop",)), "", lambda place: "")
            return [(head["x"], head["text"]) for head in chart.layout["annotations"]]

        written = Flow("shop", "web", "produce", "orders", "east", 5, NOW)
        assert heads([written]) == [(0, "AppID"), (1 / 3, "InstanceID"), (2 / 3, "Topic"), (1, "Cluster")]
        read = [
            Flow("audit", "a-1", "consume", "orders", "east", 5, NOW),
            Flow("audit", "a-1", "group", "auditors", "east", 0, NOW),
        ]
        names = ["AppID", "InstanceID", "Topic", "Group", "Cluster"]
        assert heads([written, *read]) == [(place / 4, name) for place, name in enumerate(names)]
        joined = Flow("shop", "idle", "group", "waiters", "east", 0, NOW)
        assert (2 / 3, "Topic · Group") in heads([written, joined])

    def test_beyond_a_few_names_the_rest_stands_together(self) -> None:
        found = [
            Flow("shop", f"web-{number:02d}", "produce", "orders", "east", 1, NOW)
            for number in range(MOST_NAMED + 9)
        ]
        labels = drawn(found, Place(APPID, ("shop",)))["node"]["label"]
        assert "9 more" in labels and "web-00" in labels
        assert len(labels) == 1 + MOST_NAMED + 1 + 1 + 1

    def test_what_somebody_looks_at_has_its_name_whatever_there_is_besides(self) -> None:
        found = [
            Flow("shop", f"web-{number:02d}", "produce", "orders", "east", 1, NOW, is_own=number == 90)
            for number in range(99)
        ]
        labels = drawn(found, Place(CLIENT, ("shop", "web-90")))["node"]["label"]
        assert "web-90" in labels

    def test_a_client_without_a_name_is_no_empty_label(self) -> None:
        trace = drawn([Flow("shop", "", "produce", "orders", "east", 5, NOW)], Place(TOPIC, ("orders",)))
        assert "without a name" in trace["node"]["label"]

    def test_clusters_have_their_colours(self) -> None:
        found = [Flow("shop", "web", "produce", "orders", "west", 5, NOW)]
        trace = drawn(found, Place(CLUSTER, ("west",)))
        assert trace["node"]["color"][-1] == "@second"


class TestPages:
    def test_the_map(self, as_arne: Client, run: Run) -> None:
        page = as_arne.get(reverse("graph")).content.decode()
        assert "2 islands; 7 things hang together on the largest." in page
        assert "Differences since" not in page, "there is nothing to compare with"

    def test_before_the_first_run_it_says_what_draws_it(self, as_arne: Client, fleet: Any) -> None:
        assert "No run of the job Topology" in as_arne.get(reverse("graph")).content.decode()

    def test_one_island(self, as_arne: Client, run: Run) -> None:
        island = Island.objects.get(run=run, things=3)
        answer = as_arne.get(reverse("graph"), {"run": run.pk, "island": island.island})
        assert "3 things, all that hang together." in answer.content.decode()
        csv = as_arne.get(reverse("graph"), {"island": island.island, "csv": "island"})
        lines = b"".join(csv.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert lines[0] == "kind,name,cluster,radius,neighbours,leads_to" and len(lines) == 4

    def test_an_island_stays_open_in_other_runs(self, as_arne: Client, fleet: SimpleNamespace) -> None:
        """Its number is another one there: it is found by the thing in its centre, or all islands are shown."""
        before = publish_graph(fleet.pair, [*uses_of("early", produce=["x", "y"]), *FLEET])
        now = publish_graph(fleet.pair, FLEET)
        island = Island.objects.get(run=now, things=7)
        opened = {"island": island.island, "pair": "main", "zoom-island": "0~1"}
        page = as_arne.get(reverse("graph"), opened).content.decode().replace("&amp;", "&")
        [to_before] = re.findall(rf'href="(\?[^"]*run={before.pk}[^"]*)"', page)
        answer = as_arne.get(reverse("graph") + to_before, follow=True)
        [(address, _status)] = answer.redirect_chain
        there = dict(parse_qsl(urlsplit(address).query))
        assert Island.objects.get(run=before, island=there["island"]).things == 7
        assert there["run"] == str(before.pk) and there["zoom-island"] == "0~1" and "kind" not in there
        gone = {"kind": "appid", "appid": "early", "run": now.pk}
        page = as_arne.get(reverse("graph"), gone).content.decode()
        assert "This run does not know early. All islands are shown." in page
        assert f"run={before.pk}&kind=appid&appid=early" in page.replace("&amp;", "&"), (
            "where it was, it opens"
        )

    @pytest.mark.parametrize("wanted", ["99", "x", "9" * 30])
    def test_an_island_that_is_not_there(self, as_arne: Client, run: Run, wanted: str) -> None:
        assert as_arne.get(reverse("graph"), {"island": wanted}).status_code == 404

    def test_a_run_that_is_gone_is_the_newest(self, as_arne: Client, run: Run) -> None:
        answer = as_arne.get(reverse("graph"), {"run": "999999", "since": "999998"})
        assert f"run {run.pk}" in answer.content.decode()

    def test_differences_are_said_and_counted(self, as_arne: Client, fleet: SimpleNamespace) -> None:
        before = publish_graph(fleet.pair, FLEET, at=NOW - timedelta(hours=2))
        publish_graph(fleet.pair, [*FLEET, *uses_of("returns", produce=["orders"])])
        page = as_arne.get(reverse("graph"), {"since": before.pk}).content.decode()
        assert f"since run {before.pk}: 1 new, 0 gone, 0 moved." in page
        twin = as_arne.get(reverse("graph"), {"since": before.pk, "csv": "map"})
        lines = b"".join(twin.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert lines[0] == "turn,kind,name,cluster,radius"
        assert [line.split(",")[:3] for line in lines[1:]] == [["new", "AppID", "returns"]]

    def test_a_click_opens_a_thing_as_it_was_in_the_run_that_is_shown(
        self, as_arne: Client, fleet: SimpleNamespace
    ) -> None:
        """Also one that is gone since, and what surrounds it leads on within that run."""
        gone = uses_of("returns", produce=["orders"])
        before = publish_graph(fleet.pair, [*FLEET, *gone], at=NOW - timedelta(hours=2))
        now = publish_graph(fleet.pair, FLEET)
        map_of = as_arne.get(reverse("graph"), {"since": before.pk}).content.decode()
        assert f"appid=returns&run={before.pk}" in map_of.replace("\\u0026", "&")
        assert f"appid=shop&run={now.pk}" in map_of.replace("\\u0026", "&")
        asked = {"kind": "appid", "appid": "returns"}
        page = as_arne.get(reverse("graph-focus"), {**asked, "run": before.pk}).content.decode()
        assert "As it is now" in page and f"name=orders&run={before.pk}" in page.replace("\\u0026", "&")
        assert "As it is now" not in as_arne.get(reverse("graph-focus"), asked).content.decode()

    def test_those_that_are_not_named_stand_in_a_table_or_of_an_older_run_in_the_csv(
        self, as_arne: Client, fleet: SimpleNamespace
    ) -> None:
        """The table has what the newest run has published, and nothing of an older one."""
        topics = [f"orders-{number:02d}" for number in range(MOST_NAMED + 9)]
        many = publish_graph(fleet.pair, uses_of("shop", produce=topics), at=NOW - timedelta(hours=2))
        asked = {"kind": "appid", "appid": "shop"}
        page = as_arne.get(reverse("graph-focus"), asked).content.decode()
        assert "tables/edges/?" in page and '"#csv"' not in page
        publish_graph(fleet.pair, FLEET)
        of_then = {**asked, "run": many.pk}
        page = as_arne.get(reverse("graph-focus"), of_then).content.decode()
        assert '"#csv"' in page
        csv = as_arne.get(reverse("graph-focus"), {**of_then, "csv": "flows"})
        text = b"".join(csv.streaming_content).decode()  # type: ignore[attr-defined]
        assert all(topic in text for topic in topics) and "clicks" not in text

    @pytest.mark.parametrize(
        "asked",
        [
            {"kind": "appid", "appid": "shop"},
            {"kind": "instance", "appid": "shop", "name": "shop-1"},
            {"kind": "topic", "name": "orders"},
            {"kind": "group", "name": "auditors"},
        ],
        ids=lambda asked: asked["kind"],
    )
    def test_what_can_be_looked_at(self, as_arne: Client, run: Run, asked: dict[str, str]) -> None:
        page = as_arne.get(reverse("graph-focus"), {"pair": "main", **asked}).content.decode()
        assert "7 things move together with it." in page
        assert "Its island" in page and "orders" in page

    def test_without_a_name_it_leads_to_the_map(self, as_arne: Client, run: Run) -> None:
        assert as_arne.get(reverse("graph-focus"), {"kind": "topic"})["Location"] == reverse("graph")
        assert as_arne.get(reverse("graph-focus"), {"pair": "no", "appid": "shop"}).status_code == 404

    def test_queries_do_not_grow_with_the_fleet(
        self, as_arne: Client, fleet: SimpleNamespace, django_assert_max_num_queries: Any
    ) -> None:
        publish_graph(
            fleet.pair, [use for n in range(25) for use in uses_of(f"app-{n}", produce=[f"t-{n}", "all"])]
        )
        for address, asked, limit in [
            ("graph", {}, 16),
            ("graph-focus", {"appid": "app-1"}, 19),
            ("graph-focus", {"kind": "topic", "name": "all"}, 19),
        ]:
            with django_assert_max_num_queries(limit):
                as_arne.get(reverse(address), asked)
