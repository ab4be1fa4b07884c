"""A generated fleet: shaped as large fleets are, marked wherever it is shown, and nothing that anybody
could take for clusters.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hadash.dashboard.mirrors.selectors import partitions_of
from hadash.governance.models.posture import Posture
from hadash.inventory.models import Access, AppID, InstanceID, Pair
from hadash.kafka.errors import ClusterUnavailable
from hadash.lake import snapshots
from hadash.lake.access import SCHEMA
from hadash.lake.snapshots import TABLES
from hadash.lake.store import Store
from hadash.mirroring.models import LagHour, LagSample, Mirror, PairLag
from hadash.mirroring.services import cluster_client
from hadash.pipeline import collecting
from hadash.radius.scope import Scope, ScopeKind
from hadash.switching.execution.pauses import kept_pauses
from hadash.switching.execution.usual import usual_seconds
from hadash.switching.machines.switches import WAY
from hadash.switching.models.switches import Switch
from hadash.switching.planning import proposals
from hadash.switching.recovery import agreement
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.fleet import database, lags, reports, servers, switches
from hadash_sandbox.fleet.filling import take
from hadash_sandbox.fleet.model import GROUP, PRODUCE, Fleet, Side, Size

SIDE = Side()
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return Fleet(Size(2_000))


class TestItsShape:
    def test_the_same_seed_makes_the_same(self, fleet: Fleet) -> None:
        again = Fleet(Size(2_000))
        assert again.table(SIDE).equals(fleet.table(SIDE)) and again.mirrors.keys() == fleet.mirrors.keys()

    def test_by_appids_half_of_it_is_one_island(self, fleet: Fleet) -> None:
        """As in a trial with real fleets (docs/pipeline.md)."""
        topics, appids = len(fleet.topic_names), fleet.size.appids
        resource = appids + np.where(fleet.kind == GROUP, topics + fleet.resource, fleet.resource)
        count = appids + topics + len(fleet.group_names)
        edges = coo_array((np.ones(len(resource)), (fleet.appid, resource)), shape=(count, count))
        _, labels = connected_components(edges, directed=False)
        used = np.union1d(fleet.appid, resource)
        assert 0.4 < Counter(labels[used]).most_common(1)[0][1] / len(used) < 0.65

    def test_most_appids_have_few_clients_and_a_few_have_very_many(self, fleet: Fleet) -> None:
        assert np.median(fleet.clients) <= 2 and fleet.clients.max() >= 50

    def test_what_is_shared_is_written_by_somebody(self, fleet: Fleet) -> None:
        shared = fleet.resource >= int(fleet.topics.sum())
        topics = shared & (fleet.kind != GROUP)
        assert set(fleet.resource[topics]) == set(fleet.resource[topics & (fleet.kind == PRODUCE)])

    def test_only_who_shares_nothing_is_on_the_second_cluster(self, fleet: Fleet) -> None:
        assert fleet.side.any() and not (fleet.shares & (fleet.side == 1)).any()

    def test_a_client_begins_and_ends_with_all_that_it_does(self, fleet: Fleet) -> None:
        known = dict(zip(fleet.client.tolist(), fleet.since.tolist(), strict=True))
        assert all(known[client] == since for client, since in zip(fleet.client, fleet.since, strict=True))

    @pytest.mark.parametrize("side", [0, 1])
    def test_what_its_servers_would_say_fits_a_snapshot(self, fleet: Fleet, side: int) -> None:
        for name, rows in servers.tables_of(fleet, SIDE, side).items():
            assert rows.cast(TABLES[name]).num_rows > 0, name

    def test_mirrors_are_late_sometimes_and_not_always_known(self, fleet: Fleet) -> None:
        found = lags.samples(fleet, SIDE, NOW - timedelta(days=30), NOW, timedelta(minutes=30))
        assert len(found) == len(fleet.mirrors) * 30 * 48
        assert pc.max(found["seconds"]).as_py() > 60 > 10 > pc.mean(found["seconds"]).as_py()
        assert 0 < found["seconds"].null_count < len(found) / 100

    def test_the_partitions_of_a_mirror_lack_together_what_it_lacks(self, fleet: Fleet) -> None:
        lag = lags.samples(fleet, SIDE, NOW - timedelta(days=1), NOW, timedelta(hours=1))
        noted = set(lags.noted(fleet))
        for behind, sample in zip(lags.by_partition(fleet, lag).to_pylist(), lag.to_pylist(), strict=True):
            records, seconds = json.loads(behind["partitions"]), json.loads(behind["partition_seconds"])
            if sample["records"] is None or sample["mirror"] not in noted:
                assert records == seconds == {}
                continue
            assert set(records) == {f"{fleet.topic_names[n]}-0" for n in fleet.mirrors[sample["mirror"]][0]}
            assert sum(records.values()) == sample["records"] and max(seconds.values()) == sample["seconds"]
            assert set(seconds) >= {partition for partition, count in records.items() if count}

    def test_of_mirrors_of_many_topics_partitions_are_noted_for_some(self) -> None:
        large = Fleet(Size(10_000))
        noted, few = lags.noted(large), [len(topics) <= 10 for topics, _ in large.mirrors.values()]
        assert len(noted) == sum(few) + 20 < len(few)

    def test_reports_are_access_reports(self, fleet: Fleet, tmp_path: Path) -> None:
        store = Store(str(tmp_path))
        count = reports.write_day(store, fleet, SIDE, NOW.date(), 3, NOW)
        (name,) = store.files("access", deep=True)
        with store.open(name) as source:
            table = pq.read_table(source)
        assert table.schema.equals(SCHEMA) and table.num_rows == count > 10_000

    @pytest.mark.parametrize("hour", [2, 8, 14])
    def test_nobody_is_seen_later_than_now(self, fleet: Fleet, tmp_path: Path, hour: int) -> None:
        store, now = Store(str(tmp_path)), NOW.replace(hour=hour)
        reports.write_day(store, fleet, SIDE, now.date(), 0, now)
        (name,) = store.files("access", deep=True)
        with store.open(name) as source:
            table = pq.read_table(source)
        assert pc.max(table["last_seen"]).as_py() <= now
        assert pc.min(table["first_seen"]).as_py().date() == now.date()


@pytest.mark.stack
@pytest.mark.django_db
class TestInTheTables:
    @pytest.fixture
    def pair(self, fleet: Fleet) -> Pair:
        pair = database.add_pair(SIDE)
        database.fill(fleet, SIDE, timezone.now())
        return pair

    def test_everything_is_there(self, fleet: Fleet, pair: Pair) -> None:
        assert AppID.objects.filter(pair=pair).count() == 2_000
        assert Access.objects.filter(pair=pair, client_id="").exists(), "clients without a name are one"
        assert InstanceID.objects.filter(appid__pair=pair).count() == len(reports.registered(fleet, 0))
        assert Mirror.objects.filter(pair=pair).count() == len(fleet.mirrors)

    def test_samples_and_a_row_for_each_day(self, fleet: Fleet, pair: Pair) -> None:
        database.add_samples(fleet, SIDE, timezone.now())
        assert LagSample.objects.count() == len(fleet.mirrors) * (23 * 30 + 360)
        assert not Mirror.objects.filter(looked_at=None).exists()
        rounds = PairLag.objects.filter(pair=pair)
        assert rounds.count() == 23 * 30 + 360
        newest = LagSample.objects.filter(at=LagSample.objects.latest("at").at)
        worst = rounds.latest("at")
        assert worst.seconds == max(sample.seconds for sample in newest if sample.seconds is not None)
        assert worst.unknown == newest.filter(seconds=None).count()
        hours = Counter(LagHour.objects.values_list("mirror", flat=True))
        assert len(hours) == len(fleet.mirrors) and set(hours.values()) == {30 * 24 - 1}, (
            "but the one that runs"
        )
        noted = Mirror.objects.filter(name__in=lags.noted(fleet)).exclude(lag_seconds=None)
        mirror = noted.order_by("-lag_seconds").first()
        assert mirror is not None
        behind = partitions_of(mirror)
        assert len(behind) == len(mirror.topics), "of each partition it is known"
        assert max(row.seconds or 0 for row in behind) == mirror.lag_seconds
        known = {NOW.date() - timedelta(days=14): Posture(pair=pair.name, day=NOW.date(), appids=100)}
        known[NOW.date()] = Posture(pair=pair.name, day=NOW.date(), appids=200)
        database.add_postures(known, NOW.date())
        days = dict(Posture.objects.values_list("day", "appids"))
        assert len(days) == 30 and days[NOW.date() - timedelta(days=7)] == 150

    def test_what_is_on_the_second_cluster_was_switched_there(self, fleet: Fleet, pair: Pair) -> None:
        count = switches.add_switches(fleet, SIDE, timezone.now())
        done = Switch.objects.filter(status="succeeded")
        assert count == Switch.objects.count() > done.count() > 5
        assert {switch.the_plan().mirrors for switch in done} == {
            (name,) for name, (_, side) in fleet.mirrors.items() if side == 1
        }
        bound = {document.appid: document for document in reports.documents(fleet, SIDE)}
        assert agreement.compare(agreement._left(pair), bound) == []

    def test_its_switches_have_all_that_their_pages_show(self, fleet: Fleet, pair: Pair) -> None:
        now = timezone.now()
        switches.add_switches(fleet, SIDE, now)
        assert not any(person.is_active for person in User.objects.all())
        for switch in Switch.objects.all():
            assert now - timedelta(days=35) < switch.requested_at < switch.ended_at < now  # type: ignore[operator]
            assert switch.plan_digest == switch.the_plan().digest
            if switch.started_at is None:
                assert not switch.stages.exists() and switch.events.exists()
                continue
            assert switch.approvals.get().at == switch.decided_at < switch.started_at  # type: ignore[operator]
            began = [record.started_at for record in switch.stages.all()]
            assert began == sorted(began) and began[0] == switch.started_at
            assert switch.stages.last().ended_at == switch.ended_at  # type: ignore[union-attr]
            assert all(0 < (pause.seconds or 0) < 60 for pause in kept_pauses(switch)) and switch.pauses
        newest = Switch.objects.filter(status="succeeded").latest("started_at")
        assert usual_seconds(newest).keys() == set(WAY), "there are earlier ones to compare it with"

    def test_nobody_can_ask_its_clusters(self, pair: Pair) -> None:
        with pytest.raises(ClusterUnavailable, match="generated"):
            cluster_client(pair.first)

    def test_a_switch_is_drawn_up_and_refused(self, fleet: Fleet, pair: Pair) -> None:
        appid = fleet.appid_names[int(np.flatnonzero(~fleet.shares & (fleet.side == 0))[0])]
        draft = proposals.proposal_for(pair, Scope(ScopeKind.APPID, appid), pair.second)
        assert draft.plan.topics and "generated" in str(draft.blockers[-1])

    def test_a_snapshot_has_what_its_clusters_would_say(
        self, fleet: Fleet, pair: Pair, tmp_path: Path
    ) -> None:
        store = Store(str(tmp_path))
        reports.put_servers(store, fleet, SIDE)
        taken = collecting.take(store)
        assert taken.away == []
        newest = snapshots.newest(store)
        assert newest is not None
        rows = snapshots.read(store, newest, "partitions")
        assert taken.rows["partitions"] == rows.num_rows > 5_000
        assert set(rows["cluster"].to_pylist()) == {*SIDE.clusters}


class TestOneThatIsThere:
    WANTED = {"appids": 100, "seed": 7, "day": "2026-11-26"}

    def test_the_one_of_today_is_taken_without_a_word(self) -> None:
        told: list[str] = []
        take(self.WANTED, self.WANTED, told.append)
        assert told == []

    def test_so_is_that_of_another_day_and_where_it_ends_is_said(self) -> None:
        told: list[str] = []
        take({**self.WANTED, "day": "2026-11-25"}, self.WANTED, told.append)
        (said,) = told
        assert "2026-11-25" in said and "make demo-reset" in said

    @pytest.mark.parametrize("found", [None, {**WANTED, "appids": 1000}, {**WANTED, "seed": 8}])
    def test_another_one_is_not(self, found: dict[str, object] | None) -> None:
        with pytest.raises(SandboxError, match="make demo-reset"):
            take(found, self.WANTED, print)
