"""A generated fleet, from nothing to tables that pages can be looked at: reports and snapshots of its last
days, day by day, and the jobs of the pipeline on some of these days, so that there is something to compare
today with.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.utils import timezone

from hadash.bindings.store import BindingStore
from hadash.governance.models import Finding, Posture, Run
from hadash.inventory.gateways import zookeeper
from hadash.inventory.installation import claimed
from hadash.inventory.models import Pair
from hadash.lake.store import Store
from hadash.pipeline.applications import Application
from hadash.pipeline.running import conninfo
from hadash_sandbox import mails
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.fleet import database, reports
from hadash_sandbox.fleet.model import DAYS, Fleet, Side, Size

#: How many days ago jobs have looked at it.
LOOKED_AT = (14, 7)
#: Jobs, in order; and those of them whose results are compared with today's, or are read over time.
JOBS = ("facts", "topology", "coverage", "advice", "risk", "lag")
OF_BEFORE = ("facts", "topology", "coverage", "risk")
#: Seconds that one job may take: with a hundred thousand AppIDs on two cores.
JOB_SECONDS = 3600.0

#: What says in the lake which fleet there is.
MARK = "generated/fleet.json"

Tell = Callable[[str], None]


def fill(size: Size, names: Side, looked_at: Sequence[int] = LOOKED_AT, tell: Tell = print) -> None:
    """Make the fleet of today, unless there is one of this size: that stays, and its history ends on the day
    on which it was made.

    :param looked_at: how many days ago jobs ran. 0: today's jobs, too, which a running pipeline does by itself.
    :raises SandboxError: there is one of another size or one that was not finished, or a job has failed.
    """
    now = timezone.now()
    today = database.day_of(now)
    store = Store(settings.LAKE)
    wanted = {"appids": size.appids, "seed": size.seed, "day": today.isoformat()}
    if Pair.objects.filter(name=names.pair).exists():
        take(store.read_json(MARK), wanted, tell)
        return
    tell(f"Generating a fleet of {size.appids:,} AppIDs ...")
    fleet = Fleet(size)
    database.add_pair(names)
    database.fill(fleet, names, now)
    database.add_samples(fleet, names, now)
    database.bind(fleet, names, BindingStore(claimed(zookeeper())))
    reports.put_servers(store, fleet, names)
    _go_through(store, fleet, names, today, looked_at, tell)
    mails.put_generated(Pair.objects.get(name=names.pair))
    store.write_json(MARK, wanted)


def take(found: Any, wanted: Mapping[str, Any], tell: Tell) -> None:
    """:param found: the mark of the fleet that is there; ``None``: it was not finished.

    :raises SandboxError: it is another one.
    """
    if found is None:
        raise SandboxError(
            "The generated fleet that is there was not finished. make demo-reset removes it; then start again."
        )
    if (found["appids"], found["seed"]) != (wanted["appids"], wanted["seed"]):
        raise SandboxError(
            f"There is a generated fleet of {found['appids']:,} AppIDs already, and {wanted['appids']:,} "
            f"are asked for. "
            "make demo-reset removes it; then start again."
        )
    if found["day"] != wanted["day"]:
        tell(
            f"There is a generated fleet of {found['day']} already; its history ends there. make "
            f"demo-reset starts over."
        )


def _go_through(
    store: Store, fleet: Fleet, names: Side, today: date, looked_at: Sequence[int], tell: Tell
) -> None:
    known: dict[date, Posture] = {}
    spark = Application(with_kafka=False, environment={"DATABASE_URL": conninfo()}) if looked_at else None
    try:
        for age in range(DAYS - 1, -1, -1):
            day = today - timedelta(days=age)
            reports.write_day(store, fleet, names, day, age)
            looks = age in looked_at
            if age or looks:  # (today's snapshot is taken as any other)
                reports.write_snapshot(store, fleet, names, day, age, whole=looks)
            if looks and spark is not None:
                tell(f"Looking at it as it was on {day} ...")
                before = timezone.now()
                _look(spark, names, OF_BEFORE if age else JOBS, tell)
                posture = Posture.objects.filter(pair=names.pair).order_by("day").last()
                if posture is not None:
                    known[day] = posture
                _set_back(before, age)
    finally:
        if spark is not None:
            spark.end()
    if known:
        database.add_postures(known, today)


def _look(spark: Application, names: Side, jobs: Sequence[str], tell: Tell) -> None:
    pairs = ",".join(f"{cluster}={names.pair}" for cluster in names.clusters)
    for job in jobs:
        order = [job, "--lake", settings.LAKE, "--asked-by", "", "--keep-days", str(DAYS)]
        ended = spark.carry_out([*order, "--pairs", pairs], JOB_SECONDS)
        if ended.code:
            raise SandboxError(f"The job {job} of the generated fleet has failed: {ended.said}")
        tell(f"  {job}: {_seconds(ended.said)}")


def _seconds(said: str) -> str:
    try:
        told: dict[str, Any] = json.loads(said)
        return f"{told['seconds_in_all']:.0f} s"
    except (ValueError, KeyError, TypeError):
        return "done"


def _set_back(since: datetime, age: int) -> None:
    """What jobs have written from ``since`` on is of so many days ago: they know no other day than today."""
    if not age:
        return
    back = timedelta(days=age)
    Run.objects.filter(began_at__gte=since).update(
        due_at=F("due_at") - back, began_at=F("began_at") - back, ended_at=F("ended_at") - back
    )
    for field in ("first_at", "opened_at", "worse_at", "resolved_at"):
        Finding.objects.filter(**{f"{field}__gte": since}).update(**{field: F(field) - back})
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
