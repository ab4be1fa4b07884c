"""The jobs of the pipeline: their purposes, their default schedules, and the data that they need."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from django.conf import settings

from hadash.governance.models.runs import Run
from hadash.sentences import Sentence, say

Job = Run.Job


class Need(Enum):
    """The data that a job needs: in the lake, or for ``TOPIC`` in the settings. Data that another job is making
    just now (:data:`MAKES`) are awaited.
    """

    TOPIC = "topic"
    REPORTS = "reports"
    FACTS = "facts"
    SNAPSHOT = "snapshot"


#: The jobs that make the data of others. (Snapshots are made so often that the last one suffices.)
MAKES: dict[Need, Job] = {Need.FACTS: Job.FACTS}


@dataclass(frozen=True, slots=True)
class About:
    """One job. ``cron``: its default schedule. ``with_spark``: whether it runs in a Spark application."""

    job: Job
    does: Sentence
    cron: str
    with_spark: bool = True
    needs: tuple[Need, ...] = (Need.FACTS, Need.SNAPSHOT)


#: All jobs, in an order in which each follows those whose results it needs. Jobs that are due at the same time
#: run in this order, in one Spark application.
JOBS: dict[Job, About] = {
    each.job: each
    for each in (
        About(
            Job.SNAPSHOT,
            say("Asks every cluster how it is, and notes it in the lake with what hadash knows."),
            "*/10 * * * *",
            with_spark=False,
            needs=(),
        ),
        About(
            Job.FROM_KAFKA,
            say("Reads the access reports that have come on a Kafka Topic into the lake."),
            "*/15 * * * *",
            needs=(Need.TOPIC,),
        ),
        About(
            Job.FACTS,
            say("Works off the access reports that have come, and makes one file of many small ones."),
            "5 * * * *",
            needs=(Need.REPORTS,),
        ),
        About(
            Job.TOPOLOGY,
            say("Who uses what, what is shared how much, and how much would move together."),
            "5 * * * *",
        ),
        About(Job.COVERAGE, say("How well the clients of each AppID are known."), "5 * * * *"),
        About(
            Job.RISK,
            say("Lets all rules look over everything: findings are opened and resolved."),
            "5 * * * *",
        ),
        About(
            Job.LAG,
            say("The days of every mirror: how late it was, and whether within its RPO."),
            "5 * * * *",
        ),
        About(
            Job.ADVICE,
            say("Whose InstanceIDs to register first, so that less has to move together."),
            "40 2 * * *",
        ),
        About(
            Job.CLEANING,
            say("Removes reports and snapshots from the lake that are old enough."),
            "10 3 * * *",
            with_spark=False,
            needs=(),
        ),
    )
}


def offered() -> dict[Job, About]:
    """Return the jobs of this installation: without a Topic for reports (``HADASH_LAKE_TOPIC``) there is no job
    that reads it.
    """
    return {job: about for job, about in JOBS.items() if Need.TOPIC not in about.needs or settings.LAKE_TOPIC}
