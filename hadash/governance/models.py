"""Tables: runs of the pipeline, the rows that they published, findings, and their acceptances.

The jobs (``spark/publishing/``) write to these tables without Django: a change of a column also needs a change
in ``spark/schemas.py`` or ``spark/publishing/``; ``tests/governance/test_published.py`` compares them.
"""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from hadash.governance.catalogue import CATALOGUE, Code, Entry
from hadash.identity.names import MAX_NAME_LENGTH, MAX_RESOURCE_LENGTH
from hadash.sentence_field import SentenceField
from hadash.shown import Look, Shown


class Run(models.Model):
    """One run of one job. Readers see only the rows of the last published run."""

    class Job(models.TextChoices):
        SNAPSHOT = "snapshot", _("Snapshot")
        FROM_KAFKA = "from-kafka", _("Reports from Kafka")
        FACTS = "facts", _("Facts")
        TOPOLOGY = "topology", _("Topology")
        COVERAGE = "coverage", _("Coverage")
        ADVICE = "advice", _("Advice")
        RISK = "risk", _("Risks")
        LAG = "lag", _("Lag")
        CLEANING = "cleaning", _("Cleaning up")

    class State(models.TextChoices):
        WAITING = "waiting", pgettext_lazy("run", "waiting")
        RUNNING = "running", pgettext_lazy("run", "running")
        PUBLISHED = "published", pgettext_lazy("run", "published")
        FAILED = "failed", pgettext_lazy("run", "failed")

    SHOWN: ClassVar[dict[State, Shown]] = {
        State.WAITING: Shown(State.WAITING.label, Look.WAITING, "waiting"),
        State.RUNNING: Shown(State.RUNNING.label, Look.WAITING, "running"),
        State.PUBLISHED: Shown(State.PUBLISHED.label, Look.FINE, "fine"),
        State.FAILED: Shown(State.FAILED.label, Look.BAD, "bad"),
    }

    job = models.CharField(max_length=10, choices=Job.choices)
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    #: The user who asked for it; empty when the schedule did.
    asked_by = models.CharField(max_length=150, blank=True)
    #: ``due_at``: when it may begin; ``handed_at``: when it was last handed to a worker.
    due_at = models.DateTimeField(default=timezone.now)
    handed_at = models.DateTimeField(null=True)
    #: The number of this attempt, from 1.
    attempt = models.PositiveSmallIntegerField(default=1)
    began_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    #: The input that it was made from: ``day`` (the newest day of facts), ``facts`` (the version of the lake's
    #: manifest), ``snapshot`` (its time).
    watermark = models.JSONField(default=dict)
    #: Rows by table, seconds by step.
    rows = models.JSONField(default=dict)
    seconds = models.JSONField(default=dict)
    #: ``malformed``: counts of reports that could not be read, by reason; ``away``: clusters that did not
    #: answer.
    quality = models.JSONField(default=dict)
    #: ``step``, ``done`` and ``total`` of its current step.
    progress = models.JSONField(default=dict)
    #: The reason of its failure.
    fault = SentenceField()

    class Meta:
        ordering = ("-pk",)
        indexes = [models.Index(fields=["job", "state", "-id"])]
        constraints = [
            models.UniqueConstraint(
                fields=["job"], condition=models.Q(state="running"), name="run_one_of_a_job_at_a_time"
            ),
            models.UniqueConstraint(
                fields=["job"], condition=models.Q(state="waiting"), name="run_one_of_a_job_waits"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.job} {self.pk}"

    @property
    def current(self) -> Run.State:
        return self.State(self.state)


class _Row(models.Model):
    """A row of a run: it is deleted with the run."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="+")
    pair = models.CharField(max_length=40)

    class Meta:
        abstract = True


def _name() -> models.CharField:
    return models.CharField(max_length=MAX_NAME_LENGTH, blank=True)


class Edge(_Row):
    """A client's use of a Topic or group (:data:`spark.schemas.EDGES`)."""

    appid = _name()
    client_id = models.CharField(max_length=MAX_NAME_LENGTH, blank=True, null=True)
    kind = models.CharField(max_length=10)
    resource = models.CharField(max_length=MAX_RESOURCE_LENGTH)
    cluster = models.CharField(max_length=40)
    hosts = models.BigIntegerField()
    requests = models.BigIntegerField()
    records = models.BigIntegerField()
    bytes = models.BigIntegerField()
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["run", "pair", "appid"]),
            models.Index(fields=["run", "pair", "resource"]),
        ]


class Node(_Row):
    """A thing that moves, with its radii (:data:`spark.schemas.NODES`)."""

    kind = models.CharField(max_length=12)
    appid = _name()
    names = models.JSONField(default=list)
    cluster = models.CharField(max_length=40)
    island = models.BigIntegerField()
    radius_instance = models.BigIntegerField()
    radius_appid = models.BigIntegerField()

    class Meta:
        indexes = [
            # The order in which pages list the rows: half of a large fleet may have the same radius.
            models.Index(
                fields=["run", "-radius_instance", "pair", "kind", "appid", "id"], name="node_in_order"
            ),
            models.Index(fields=["run", "pair", "appid"]),
        ]


class Mark(_Row):
    """A thing that the map of the fleet shows (:data:`spark.schemas.MARKS`)."""

    kind = models.CharField(max_length=12)
    appid = _name()
    names = models.JSONField(default=list)
    cluster = models.CharField(max_length=40)
    island = models.BigIntegerField()
    radius_instance = models.BigIntegerField()
    number = models.BigIntegerField()
    neighbours = models.BigIntegerField()
    #: The position on its island, whose edge is at 1.
    x = models.FloatField()
    y = models.FloatField()
    #: The numbers of the drawn things that have to move with it.
    leads_to = models.JSONField(default=list)

    class Meta:
        indexes = [models.Index(fields=["run", "pair", "island"])]


class Island(_Row):
    """Things that are connected (:data:`spark.schemas.ISLANDS`). ``kind``, ``appid`` and ``names`` are those of
    the thing in its centre.
    """

    island = models.BigIntegerField()
    kind = models.CharField(max_length=12)
    appid = _name()
    names = models.JSONField(default=list)
    things = models.BigIntegerField()
    appids = models.BigIntegerField()
    identities = models.BigIntegerField()
    topics = models.BigIntegerField()
    groups = models.BigIntegerField()
    #: The cluster of its things; empty when they are on both.
    cluster = models.CharField(max_length=40, blank=True)
    radius_instance = models.BigIntegerField()
    radius_appid = models.BigIntegerField()
    #: Its circle on the map; null for an island that is too small to have one.
    x = models.FloatField(null=True)
    y = models.FloatField(null=True)
    r = models.FloatField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["run", "pair", "-things"]),
            models.Index(fields=["run", "pair", "island"]),
        ]


class Sharing(_Row):
    """The sharing degree of an AppID: the numbers of clients and applications that use it
    (:data:`spark.schemas.SHARING`).
    """

    appid = _name()
    clients = models.BigIntegerField()
    hosts = models.BigIntegerField()
    libraries = models.BigIntegerField()
    groups = models.BigIntegerField()
    topics = models.BigIntegerField()
    #: ``applications``: those that can be told apart by the names, hosts and groups of its clients; ``radius``:
    #: how many things move with it at most.
    applications = models.BigIntegerField(default=1)
    radius = models.BigIntegerField(default=0)
    radius_by_appid = models.BigIntegerField(default=0)

    class Meta:
        indexes = [
            models.Index(fields=["run", "pair", "appid"]),
            # The orders of the ranking by clients and of the AppIDs that are hardest to move.
            models.Index(fields=["run", "-clients", "pair", "appid"], name="sharing_by_clients"),
            models.Index(fields=["run", "-radius", "-clients", "pair", "appid"], name="sharing_by_radius"),
        ]


class SharedBy(_Row):
    """One of several applications that share an AppID (:data:`spark.schemas.SHARED_BY`)."""

    appid = _name()
    #: The name that its clients have in common; ``*`` stands for what differs between them.
    application = _name()
    clients = models.BigIntegerField()
    hosts = models.BigIntegerField()
    client_ids = models.JSONField(default=list)
    host_names = models.JSONField(default=list)

    class Meta:
        indexes = [models.Index(fields=["run", "pair", "appid"])]


class Coverage(_Row):
    """How well the clients of an AppID are known (:data:`spark.schemas.COVERAGE`)."""

    appid = _name()
    clients = models.BigIntegerField()
    registered = models.BigIntegerField()
    nameless = models.BigIntegerField()
    new_clients = models.BigIntegerField()
    days = models.BigIntegerField()
    duplicates = models.BigIntegerField()
    bypassing = models.BigIntegerField()
    topics = models.BigIntegerField(default=0)
    mirrored = models.BigIntegerField(default=0)

    class Meta:
        indexes = [
            models.Index(fields=["run", "pair", "appid"]),
            models.Index(fields=["run", "pair", "-clients"]),
        ]


class CoverageCell(_Row):
    """How well the clients of an AppID that use one Topic are known (:data:`spark.schemas.COVERAGE_CELLS`)."""

    appid = _name()
    topic = models.CharField(max_length=MAX_RESOURCE_LENGTH)
    clients = models.BigIntegerField()
    registered = models.BigIntegerField()
    nameless = models.BigIntegerField()
    changing = models.BigIntegerField()
    duplicates = models.BigIntegerField()
    bypassing = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["run", "pair"])]


class AdviceStep(_Row):
    """An AppID whose InstanceIDs to register next (:data:`spark.schemas.ADVICE`)."""

    place = models.BigIntegerField()
    appid = _name()
    before = models.BigIntegerField()
    after = models.BigIntegerField()
    #: The same for the radii that contain a critical AppID; null where none is on its island.
    critical_before = models.BigIntegerField(null=True)
    critical_after = models.BigIntegerField(null=True)
    clients = models.JSONField(default=list)
    hosts = models.JSONField(default=list)

    class Meta:
        indexes = [models.Index(fields=["run", "pair", "place"])]


class LagDay(_Row):
    """The lag of a mirror within one day (:data:`spark.schemas.LAG_DAYS`)."""

    mirror = models.CharField(max_length=60)
    date = models.DateField()
    samples = models.BigIntegerField()
    unknown = models.BigIntegerField()
    over_rpo = models.BigIntegerField()
    seconds_p50 = models.FloatField(null=True)
    seconds_p95 = models.FloatField(null=True)
    seconds_most = models.FloatField(null=True)
    records_most = models.BigIntegerField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["run", "pair", "mirror"]),
            models.Index(fields=["run", "pair", "-date", "mirror"], name="lagday_in_order"),
        ]


class Found(_Row):
    """A finding of one run (:data:`spark.schemas.FINDINGS`): two runs are compared by these."""

    code = models.CharField(max_length=40)
    appid = _name()
    name = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    evidence = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["run", "pair", "code"])]


class Finding(models.Model):
    """A finding of a rule over all runs: since when it is open, or when it was resolved."""

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("finding", "open")
        RESOLVED = "resolved", pgettext_lazy("finding", "resolved")

    pair = models.CharField(max_length=40)
    code = models.CharField(max_length=40)
    #: The AppID that it belongs to; empty: none.
    appid = _name()
    #: The name of the thing that it is about; the rule's entry in the catalogue says of which kind that is.
    name = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    #: The points that it adds to a score.
    weight = models.PositiveSmallIntegerField()
    evidence = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    #: When it was first found, last opened, and last resolved.
    first_at = models.DateTimeField()
    opened_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True)
    #: How often it was opened again after it was resolved.
    reopened = models.PositiveIntegerField(default=0)
    #: How large it is, in the unit that its rule counts (:attr:`Entry.measure`); null where the rule counts
    #: nothing. ``least``: the measure that it is compared with: that of when it was opened, was last reported
    #: as worse, or got much better; ``worse_at``: when it was last reported as worse.
    measure = models.FloatField(null=True)
    least = models.FloatField(null=True)
    worse_at = models.DateTimeField(null=True)
    #: The last run that found it. (Its rows may be gone.)
    last_run = models.BigIntegerField()

    class Meta:
        ordering = ("-weight", "pair", "code", "appid", "name")
        constraints = [models.UniqueConstraint(fields=["pair", "code", "appid", "name"], name="finding_once")]
        indexes = [
            # The index holds the counted columns (scores, rules, AppIDs); the next one has the order of the
            # list.
            models.Index(
                fields=["pair", "state", "-weight"], include=["id", "code", "appid"], name="finding_counted"
            ),
            models.Index(
                fields=["state", "-weight", "pair", "code", "appid", "name"],
                include=["id"],
                name="finding_in_order",
            ),
            models.Index(fields=["pair", "appid"]),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.appid} {self.name}"

    @property
    def current(self) -> Finding.State:
        return self.State(self.state)

    @property
    def entry(self) -> Entry | None:
        """The rule; ``None`` for a rule that this version no longer has."""
        return CATALOGUE.get(Code(self.code)) if self.code in set(Code) else None


class Posture(models.Model):
    """The figures of a pair on a day (UTC), as published by the last runs of that day
    (:mod:`spark.publishing.posture`). They outlive the runs. A figure that no run has published is null.
    """

    pair = models.CharField(max_length=40)
    day = models.DateField()
    #: AppIDs that were seen, and how many of them have all their Topics mirrored.
    appids = models.BigIntegerField(null=True)
    mirrored_appids = models.BigIntegerField(null=True)
    #: client.ids that were seen, and how many of them are registered.
    clients = models.BigIntegerField(null=True)
    registered = models.BigIntegerField(null=True)
    #: AppIDs that several clients use, and the largest radius by InstanceIDs and by AppIDs.
    shared_appids = models.BigIntegerField(null=True)
    largest_radius = models.BigIntegerField(null=True)
    largest_radius_by_appid = models.BigIntegerField(null=True)
    #: Numbers of findings that count, by severity.
    high = models.BigIntegerField(null=True)
    medium = models.BigIntegerField(null=True)
    low = models.BigIntegerField(null=True)

    class Meta:
        ordering = ("pair", "day")
        constraints = [models.UniqueConstraint(fields=["pair", "day"], name="posture_once_a_day")]

    def __str__(self) -> str:
        return f"{self.pair} {self.day}"


class Acceptance(models.Model):
    """An acceptance of a finding until a day: the finding stays open, but does not count meanwhile."""

    finding = models.ForeignKey(Finding, models.CASCADE, related_name="acceptances")
    until = models.DateField()
    reason = models.TextField()
    accepted_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    accepted_at = models.DateTimeField(default=timezone.now)
    #: When it was withdrawn; null while it holds.
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-accepted_at",)
        constraints = [
            models.UniqueConstraint(
                fields=["finding"], condition=models.Q(withdrawn_at=None), name="acceptance_one_at_a_time"
            )
        ]

    def __str__(self) -> str:
        return f"{self.finding} until {self.until}"
