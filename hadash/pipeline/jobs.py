"""The jobs of the pipeline: what each is for, and when it runs where nobody has said otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from django.conf import settings

from hadash.governance.models import Run
from hadash.sentences import Sentence, say

Job = Run.Job


class Need(Enum):
    """What has to be there before a job can make anything: in the lake, or, of ``TOPIC``, in the settings.
    What is being made just now (:data:`MAKES`) is waited for.
    """

    TOPIC = "topic"
    REPORTS = "reports"
    FACTS = "facts"
    SNAPSHOT = "snapshot"


#: The job that makes what others need. (A snapshot is made so often that the last one will do.)
MAKES: dict[Need, Job] = {Need.FACTS: Job.FACTS}


@dataclass(frozen=True, slots=True)
class About:
    """One job. ``cron``: when it runs at first. ``with_spark``: in a Spark application."""

    job: Job
    does: Sentence
    cron: str
    with_spark: bool = True
    needs: tuple[Need, ...] = (Need.FACTS, Need.SNAPSHOT)


#: All that there can be, in the order in which each needs what those before it have made. What is due at the
#: same time is done in this order, in one Spark application.
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
    """Those that there are in this installation: who has not said which Topic reports come on has no job that
    reads it.
    """
    return {job: about for job, about in JOBS.items() if Need.TOPIC not in about.needs or settings.LAKE_TOPIC}
