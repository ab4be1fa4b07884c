"""Fills hadash with a generated fleet, up to the tables that its pages show.

For each of its last days, reports and a snapshot are written. On some of these days the jobs of the pipeline run, so
that today can be compared with them.
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
from hadash.governance.models.findings import Finding
from hadash.governance.models.posture import Posture
from hadash.governance.models.runs import Run
from hadash.inventory.gateways import zookeeper
from hadash.inventory.installation import claimed
from hadash.inventory.models import Pair
from hadash.lake.store import Store
from hadash.pipeline.applications import Application
from hadash.pipeline.running import conninfo
from hadash_sandbox import mails
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.fleet import database, reports, switches
from hadash_sandbox.fleet.model import DAYS, Fleet, Side, Size

#: The days ago on which jobs run by default, besides today: the figures of the days between are interpolated.
LOOKED_AT = (14, 7)
#: Jobs, in order.
JOBS = ("facts", "topology", "coverage", "advice", "risk", "lag")
#: Jobs of earlier days: those whose results are compared with today's, or shown over time.
OF_BEFORE = ("facts", "topology", "coverage", "risk")
#: Seconds that one job may take, with a hundred thousand AppIDs on two cores.
JOB_SECONDS = 3600.0

#: The file in the lake that describes the generated fleet.
MARK = "generated/fleet.json"

Tell = Callable[[str], None]


def fill(size: Size, names: Side, looked_at: Sequence[int] = LOOKED_AT, tell: Tell = print) -> None:
    """Generate the fleet as of today, unless there is one of this size already.

    An existing one stays, and its history ends on the day on which it was generated.

    :param looked_at: the days ago on which jobs run. With 0, today's jobs run too, which a running pipeline would do
        by itself.
    :raises SandboxError: there is a fleet of another size, or one that was not finished; or a job failed.
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
    switches.add_switches(fleet, names, now)
    database.bind(fleet, names, BindingStore(claimed(zookeeper())))
    reports.put_servers(store, fleet, names)
    _go_through(store, fleet, names, today, looked_at, tell)
    mails.put_generated(Pair.objects.get(name=names.pair))
    store.write_json(MARK, wanted)


def take(found: Any, wanted: Mapping[str, Any], tell: Tell) -> None:
    """Check whether an existing fleet is the wanted one; say so if its history ends before today.

    :param found: the mark of the existing fleet; ``None`` when it was not finished.
    :raises SandboxError: it was not finished, or has another size or seed.
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
            reports.write_day(store, fleet, names, day, age, timezone.now())
            looks = age in looked_at
            if age or looks:  # (a running pipeline takes today's snapshot itself)
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
    """Move all times that jobs have written since ``since`` back by ``age`` days: jobs always write today's."""
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
