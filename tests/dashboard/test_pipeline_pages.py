"""Jobs, their schedules and runs as people see them."""

from __future__ import annotations

import csv
import re
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from support.html import squeezed

from hadash.accounts.models import PairRole
from hadash.accounts.roles import ensure_user
from hadash.governance import comparing
from hadash.governance.models.published import Coverage, Edge, Node
from hadash.governance.models.runs import Run
from hadash.inventory.models import Pair
from hadash.pipeline import schedules
from hadash.pipeline.jobs import Job, offered
from hadash.pipeline.models import Schedule
from hadash.switching.handovers import handing_over

from .parts import cluster, signed_in

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def lake(settings: Any, tmp_path: Path) -> None:
    settings.LAKE = str(tmp_path / "lake")


@pytest.fixture(autouse=True)
def handed(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    found: list[Run] = []
    monkeypatch.setattr(handing_over, "start_run", found.append)
    return found


@pytest.fixture
def as_ada(people: SimpleNamespace) -> Client:
    return signed_in(ensure_user("ada", "a-long-password", "administrator", "Ada"))


def ended(job: Job, state: str = "published", **more: Any) -> Run:
    now = timezone.now()
    return Run.objects.create(job=job, state=state, began_at=now, ended_at=now, **more)


def page(client: Client, name: str = "pipeline", *args: Any, **query: Any) -> str:
    answer = client.get(reverse(name, args=args), query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_every_job_stands_there_with_its_schedule(as_vera: Client, fleet: Any) -> None:
    text = page(as_vera)
    for about in offered().values():
        assert about.cron in text
        assert str(about.does) in text
    assert "Run now" not in text  # she may not


def test_run_now_leads_to_the_run_and_a_second_one_is_refused(
    as_olga: Client, fleet: Any, handed: list[Run]
) -> None:
    answer = as_olga.post(reverse("run-job", args=["risk"]))
    (run,) = handed
    assert answer["Location"] == reverse("run", args=[run.pk])
    assert "waits for a worker" in page(as_olga, "run", run.pk)
    again = as_olga.post(reverse("run-job", args=["risk"]))
    assert again.status_code == 409
    assert "under way already" in again.content.decode()


def test_a_schedule_is_changed_and_a_wrong_one_stays_in_its_field(as_ada: Client, fleet: Any) -> None:
    address = reverse("change-schedule", args=["risk"])
    assert as_ada.post(address, {"cron": "0 6 * * mon", "enabled": "on"}).status_code == 302
    assert Schedule.objects.get(job="risk").cron == "0 6 * * mon"
    answer = as_ada.post(address, {"cron": "每天早上"})
    assert answer.status_code == 409
    assert 'value="每天早上"' in answer.content.decode()
    as_ada.post(address, {"cron": "0 6 * * mon"})
    assert not Schedule.objects.get(job="risk").enabled
    assert "not by itself" in page(as_ada)


def test_progress_is_shown_while_it_runs_and_stops_asking_when_it_has_ended(
    as_vera: Client, fleet: Any
) -> None:
    run = Run.objects.create(
        job=Job.TOPOLOGY, state="running", began_at=timezone.now(),
        progress={"step": "edges", "done": 3, "total": 8},
    )  # fmt: skip
    live = as_vera.get(reverse("run", args=[run.pk]), headers={"HX-Request": "true"}).content.decode()
    assert '<progress class="wide-progress" value="3" max="8"' in squeezed(live)
    assert "hx-get" in live
    Run.objects.filter(pk=run.pk).update(state="published", ended_at=timezone.now(), rows={"edges": 5})
    over = as_vera.get(reverse("run", args=[run.pk]), headers={"HX-Request": "true"}).content.decode()
    assert "hx-get" not in over
    assert "uses" in over


def test_a_failed_one_says_why_and_what_is_shown_instead(as_vera: Client, fleet: Any) -> None:
    schedules.known()
    Schedule.objects.update(looked_at=timezone.now())  # beat has looked a moment ago
    good = ended(Job.RISK)
    bad = ended(Job.RISK, "failed", fault="The lake <is> away.", attempt=3)
    text = page(as_vera)
    assert "The lake &lt;is&gt; away." in text
    assert "What is shown stays that of the last published run." in text
    assert reverse("run", args=[good.pk]) in text
    assert 'class="count bad"' in text  # in the navigation
    assert "The lake &lt;is&gt; away." in page(as_vera, "run", bad.pk)
    ended(Job.RISK)
    assert 'class="count bad"' not in page(as_vera)


def test_without_a_lake_it_says_what_to_set(as_olga: Client, fleet: Any, settings: Any) -> None:
    settings.LAKE = ""
    text = page(as_olga)
    assert "HADASH_LAKE" in text
    assert "Run now" not in text


def test_what_went_wrong_with_its_input_is_counted(as_vera: Client, fleet: Any) -> None:
    quality = {
        "reports": 1200, "malformed": {"no AppID": 7, "of a later version": 1}, "unreadable": 2,
        "unreadable_reasons": ["It is no batch."], "lines_put_aside": 1, "lines_reasons": ["A Topic has no list."],
        "too_late": ["2026-09-01"], "broken": {"access/x.parquet": "no Parquet"},
        "put_aside": 1, "away": ["west"], "lacking": ["ZooKeeper did not answer."],
    }  # fmt: skip
    text = page(as_vera, "run", ended(Job.FACTS, quality=quality).pk)
    for shown in (
        "1,200", "7 · no AppID", "1 · of a later version", "It is no batch.", "A Topic has no list.", "2026-09-01",
        "access/x.parquet", "west", "ZooKeeper did not answer.",
    ):  # fmt: skip
        assert shown in text


def test_a_role_on_one_pair_names_no_cluster_of_another(fleet: Any, mara: Client) -> None:
    """Runs are of all pairs: what they name is not."""
    schedules.known()
    Schedule.objects.update(looked_at=timezone.now())
    quality = {
        "reports": 1200, "away": ["north", "south"], "of_no_pair": ["secret-1"], "lacking": ["secret-2"],
        "broken": {"secret-3": "no Parquet"}, "lines_reasons": ["secret-4"], "unreadable_reasons": ["secret-5"],
    }  # fmt: skip
    run = ended(Job.RISK, "failed", quality=quality, fault="Broker secret-6 is away.")
    going = Run.objects.create(
        job=Job.SNAPSHOT, state="running", began_at=timezone.now(), progress={"step": "secret-7"}
    )
    texts = [page(mara), page(mara, "run", run.pk), page(mara, "run", going.pk)]
    addresses = ("jobs/", "runs/", f"runs/{run.pk}/", f"runs/{going.pk}/")
    texts += [mara.get(f"/api/v1/{address}").content.decode() for address in addresses]
    assert "north" in texts[1] and "1,200" in texts[1] and "It has failed." in texts[0]
    for text in texts:
        assert "secret" not in text and "south" not in text


@pytest.fixture
def mara(people: SimpleNamespace, fleet: Any) -> Client:
    """She may see the pair of north and nothing else."""
    second = Pair.objects.create(
        name="other", first=(north := cluster("north", 21)), second=cluster("north-2", 22), default=north
    )
    cluster("south", 23)
    found = User.objects.create_user("mara", password="a-long-password")
    PairRole.objects.create(user=found, group=Group.objects.get(name="viewer"), pair=second)
    return signed_in(found)


# -- two runs ------------------------------------------------------------------------------------------------------


def coverage(run: Run, appid: str, clients: int, registered: int = 0) -> None:
    numbers = dict.fromkeys(("nameless", "new_clients", "days", "duplicates", "bypassing"), 0)
    Coverage.objects.create(
        run=run, pair="main", appid=appid, clients=clients, registered=registered, **numbers
    )


LINK = re.compile(r'href="[^"]*"')


def compared(client: Client, now: Run, before: Run, table: str, **more: str) -> str:
    """A part of the page, which is asked for when the page is there."""
    asked = {"with": before.pk, "table": table, **more}
    answer = client.get(reverse("compare-runs", args=[now.pk]), asked, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    return answer.content.decode()


def test_what_has_changed_since_another_run(as_vera: Client, fleet: Any) -> None:
    monday, today = ended(Job.COVERAGE), ended(Job.COVERAGE)
    for run, appid, clients in (
        (monday, "shop", 4), (monday, "gone", 1), (monday, "same", 2),
        (today, "shop", 5), (today, "新应用", 1), (today, "same", 2),
    ):  # fmt: skip
        coverage(run, appid, clients)
    assert "Both runs are being compared." in page(as_vera, "compare-runs", today.pk, **{"with": monday.pk})
    body = compared(as_vera, today, monday, "coverage")
    assert "1 new, 1 gone, 1 changed" in body
    assert "新应用" in body and "gone" in body and "same" not in body
    assert "4 → <b>5</b>" in body
    other_way = compared(as_vera, monday, today, "coverage")
    assert LINK.sub("", other_way) == LINK.sub("", body), "the older run is the one before"


def test_the_csv_of_a_difference_has_what_the_page_cuts_off(
    as_vera: Client, fleet: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, "SHOWN", 1)
    before, now = ended(Job.COVERAGE), ended(Job.COVERAGE)
    for run, appid, clients in (
        (before, "shop", 4), (before, "gone", 1), (now, "shop", 5), (now, "新应用", 1), (now, "new", 2),
    ):  # fmt: skip
        coverage(run, appid, clients)
    body = compared(as_vera, now, before, "coverage")
    assert "1 of each kind on a page; the CSV has all." in body
    assert 'data-csv=""' in body, "the browser would offer the first row as the whole table"
    answer = as_vera.get(reverse("compare-runs", args=[now.pk]), {"with": before.pk, "csv": "coverage"})
    head, *rows = csv.reader(b"".join(answer.streaming_content).decode().splitlines())  # type: ignore[attr-defined]
    assert head[:5] == ["difference", "pair", "appid", "clients before", "clients now"]
    assert [row[:5] for row in rows] == [
        ["added", "main", "new", "", "2"],
        ["added", "main", "新应用", "", "1"],
        ["changed", "main", "shop", "4", "5"],
        ["gone", "main", "gone", "1", ""],
    ]


def test_each_page_of_a_difference_says_how_many_there_are_in_all(
    as_vera: Client, fleet: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one on which a kind has no rows any more; a page that does not exist is the nearest one."""
    monkeypatch.setattr(comparing, "SHOWN", 1)
    before, now = ended(Job.COVERAGE), ended(Job.COVERAGE)
    for run, appid, clients in ((before, "gone", 1), (now, "new-1", 2), (now, "new-2", 2)):
        coverage(run, appid, clients)
    first = compared(as_vera, now, before, "coverage")
    second = compared(as_vera, now, before, "coverage", coverage="2")
    assert all("2 new, 1 gone, 0 changed" in body for body in (first, second))
    assert "new-1" in first and "new-2" not in first and "page 1 of 2" in first
    assert "new-2" in second and "new-1" not in second and "page 2 of 2" in second
    assert f"with={before.pk}&amp;coverage=2#difference-coverage" in first, "a link to the whole page"
    assert f"with={before.pk}&amp;coverage=1#difference-coverage" in second
    for beyond, nearest in (("3", 2), ("0", 1), ("-1", 1), ("x", 1), ("9" * 20, 1)):
        body = compared(as_vera, now, before, "coverage", coverage=beyond)
        assert f"page {nearest} of 2" in body, beyond


def test_names_that_nobody_has_given_are_alike(as_vera: Client, fleet: Any) -> None:
    before, now = ended(Job.TOPOLOGY), ended(Job.TOPOLOGY)
    seen = timezone.now()
    for run, moved in ((before, seen - timedelta(days=1)), (now, seen)):
        Edge.objects.create(
            run=run, pair="main", appid="shop", client_id=None, kind="produce", resource="carts", cluster="east",
            hosts=1, requests=1, records=1, bytes=1, first_seen=seen, last_seen=moved,
        )  # fmt: skip
        Node.objects.create(
            run=run, pair="main", kind="topic", names=["carts"], cluster="east", island=run.pk,
            radius_instance=1, radius_appid=1,
        )  # fmt: skip
    for table in ("nodes", "edges", "islands", "sharing"):
        assert "Nothing has changed." in compared(as_vera, now, before, table)


def test_runs_of_different_jobs_or_unfinished_ones_are_not_compared(as_vera: Client, fleet: Any) -> None:
    run, other = ended(Job.COVERAGE), ended(Job.ADVICE)
    failed = ended(Job.COVERAGE, "failed")
    address = reverse("compare-runs", args=[run.pk])
    for against in (other.pk, failed.pk, run.pk, 0, "x"):
        assert as_vera.get(address, {"with": against}).status_code == 404
    before = {"with": ended(Job.COVERAGE).pk}
    for table in ("edges", "users", ""):
        answer = as_vera.get(address, {**before, "table": table}, headers={"HX-Request": "true"})
        assert answer.status_code == 404
    assert as_vera.get(address, {**before, "csv": "users"}).status_code == 404


def test_the_api_says_the_same(as_olga: Client, fleet: Any) -> None:
    before, now = ended(Job.COVERAGE), ended(Job.COVERAGE)
    coverage(before, "shop", 4)
    coverage(now, "shop", 4, registered=1)
    (found,) = as_olga.get(f"/api/v1/runs/{now.pk}/changes/", {"since": before.pk}).json()
    assert (found["added_count"], found["gone_count"], found["changed_count"]) == (0, 0, 1)
    assert found["changed"] == [{"key": ["main", "shop"], "values": {"registered": [0, 1]}}]
    jobs = {job["job"]: job for job in as_olga.get("/api/v1/jobs/").json()}
    assert set(jobs) == set(offered())
    assert jobs["coverage"]["published"]["id"] == now.pk
