"""Tables: runs of the pipeline, what they have published, findings, and who has accepted which of them.

The jobs (``spark/publishing/``) write to these tables without Django: whoever changes a column changes
``spark/schemas.py`` or ``spark/publishing/`` too, which ``tests/governance/test_published.py`` compares.
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
from hadash.shown import Look, Shown


class Run(models.Model):
    """One run of one job. Readers see the rows of the last one that is published, and never any of another."""

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
    #: Who asked for it; empty when the schedule did.
    asked_by = models.CharField(max_length=150, blank=True)
    #: From when on it may begin, and when a worker was last told of it.
    due_at = models.DateTimeField(default=timezone.now)
    handed_at = models.DateTimeField(null=True)
    #: The how manieth try it is.
    attempt = models.PositiveSmallIntegerField(default=1)
    began_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    #: What it was made from: ``day`` (the newest day of facts), ``facts`` (the version of the lake's
    #: manifest), ``snapshot`` (when).
    watermark = models.JSONField(default=dict)
    #: Rows by table, seconds by step.
    rows = models.JSONField(default=dict)
    seconds = models.JSONField(default=dict)
    #: ``malformed``: reports that made no sense, by reason; ``away``: clusters that did not answer.
    quality = models.JSONField(default=dict)
    #: ``step``, ``done`` and ``total`` of what it does now.
    progress = models.JSONField(default=dict)
    #: Why it has failed.
    fault = models.TextField(blank=True)

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
    """A row of a run: it goes when the run goes."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="+")
    pair = models.CharField(max_length=40)

    class Meta:
        abstract = True


def _name() -> models.CharField:
    return models.CharField(max_length=MAX_NAME_LENGTH, blank=True)


class Edge(_Row):
    """Who uses what (:data:`spark.schemas.EDGES`)."""

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
    """What moves with each thing (:data:`spark.schemas.NODES`)."""

    kind = models.CharField(max_length=12)
    appid = _name()
    names = models.JSONField(default=list)
    cluster = models.CharField(max_length=40)
    island = models.BigIntegerField()
    radius_instance = models.BigIntegerField()
    radius_appid = models.BigIntegerField()

    class Meta:
        indexes = [
            # The order of the table: half of a large fleet may have the same radius.
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
    #: On its island, whose edge is at 1.
    x = models.FloatField()
    y = models.FloatField()
    #: The numbers of the drawn things that follow from it.
    leads_to = models.JSONField(default=list)

    class Meta:
        indexes = [models.Index(fields=["run", "pair", "island"])]


class Island(_Row):
    """What hangs together (:data:`spark.schemas.ISLANDS`). ``kind``, ``appid`` and ``names`` say what is in
    its midst.
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
    #: Empty when its things are on both.
    cluster = models.CharField(max_length=40, blank=True)
    radius_instance = models.BigIntegerField()
    radius_appid = models.BigIntegerField()
    #: Its circle on the map; null for one that is too small to have one.
    x = models.FloatField(null=True)
    y = models.FloatField(null=True)
    r = models.FloatField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["run", "pair", "-things"]),
            models.Index(fields=["run", "pair", "island"]),
        ]


class Sharing(_Row):
    """How many use one AppID (:data:`spark.schemas.SHARING`)."""

    appid = _name()
    clients = models.BigIntegerField()
    hosts = models.BigIntegerField()
    libraries = models.BigIntegerField()
    groups = models.BigIntegerField()
    topics = models.BigIntegerField()
    #: Applications that can be told apart by the names, hosts and groups of its clients, and how many things
    #: move with it at most.
    applications = models.BigIntegerField(default=1)
    radius = models.BigIntegerField(default=0)
    radius_by_appid = models.BigIntegerField(default=0)

    class Meta:
        indexes = [
            models.Index(fields=["run", "pair", "appid"]),
            # The orders of the ranking and of what is hardest to move.
            models.Index(fields=["run", "-clients", "pair", "appid"], name="sharing_by_clients"),
            models.Index(fields=["run", "-radius", "-clients", "pair", "appid"], name="sharing_by_radius"),
        ]


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
    """How well the clients of an AppID are known that use one Topic (:data:`spark.schemas.COVERAGE_CELLS`)."""

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
    """Which AppID's InstanceIDs to register next (:data:`spark.schemas.ADVICE`)."""

    place = models.BigIntegerField()
    appid = _name()
    before = models.BigIntegerField()
    after = models.BigIntegerField()
    #: The same of the radii that take a critical AppID along; null where none is on its island.
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
        indexes = [models.Index(fields=["run", "pair", "mirror"])]


class Found(_Row):
    """What a rule found in one run (:data:`spark.schemas.FINDINGS`): two runs are compared by these."""

    code = models.CharField(max_length=40)
    appid = _name()
    name = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    evidence = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["run", "pair", "code"])]


class Finding(models.Model):
    """What a rule finds, over all runs: since when it is open, or when it was resolved."""

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("finding", "open")
        RESOLVED = "resolved", pgettext_lazy("finding", "resolved")

    pair = models.CharField(max_length=40)
    code = models.CharField(max_length=40)
    #: Whose it is; empty for nobody's.
    appid = _name()
    #: What it is about: the rule's entry in the catalogue says what that is.
    name = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    #: What it adds to a score.
    weight = models.PositiveSmallIntegerField()
    evidence = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    #: When it was found first, when it came up last, and when it was resolved last.
    first_at = models.DateTimeField()
    opened_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True)
    #: How often it has come up again.
    reopened = models.PositiveIntegerField(default=0)
    #: How much of it there is, in what its rule counts (:attr:`Entry.measure`); null where the rule counts
    #: nothing. ``least``: what that is compared with: as much as there was when it came up, when it was last
    #: said to be worse, or when it got much better; ``worse_at``: when it was last said to be.
    measure = models.FloatField(null=True)
    least = models.FloatField(null=True)
    worse_at = models.DateTimeField(null=True)
    #: The last run that found it. (Its rows may be gone.)
    last_run = models.BigIntegerField()

    class Meta:
        ordering = ("-weight", "pair", "code", "appid", "name")
        constraints = [models.UniqueConstraint(fields=["pair", "code", "appid", "name"], name="finding_once")]
        indexes = [
            # What is counted (scores, rules, AppIDs) stands in the index; so does the order of the list.
            models.Index(
                fields=["pair", "state", "-weight"], include=["id", "code", "appid"], name="finding_counted"
            ),
            models.Index(
                fields=["state", "-weight", "pair", "code", "appid", "name"], name="finding_in_order"
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
        """The rule; ``None`` for one that this version does not know any more."""
        return CATALOGUE.get(Code(self.code)) if self.code in set(Code) else None


class Posture(models.Model):
    """How a pair stands on a day (UTC), in figures: what runs have last said of it on that day
    (:mod:`spark.publishing.posture`). They outlive the runs. What no run has said is null.
    """

    pair = models.CharField(max_length=40)
    day = models.DateField()
    #: AppIDs that were seen, and those of them all of whose Topics are mirrored.
    appids = models.BigIntegerField(null=True)
    mirrored_appids = models.BigIntegerField(null=True)
    #: client.ids that were seen, and those of them that are registered.
    clients = models.BigIntegerField(null=True)
    registered = models.BigIntegerField(null=True)
    #: AppIDs that several clients use, and how many things move together at most, by InstanceIDs and by AppIDs.
    shared_appids = models.BigIntegerField(null=True)
    largest_radius = models.BigIntegerField(null=True)
    largest_radius_by_appid = models.BigIntegerField(null=True)
    #: Findings that count, by severity.
    high = models.BigIntegerField(null=True)
    medium = models.BigIntegerField(null=True)
    low = models.BigIntegerField(null=True)

    class Meta:
        ordering = ("pair", "day")
        constraints = [models.UniqueConstraint(fields=["pair", "day"], name="posture_once_a_day")]

    def __str__(self) -> str:
        return f"{self.pair} {self.day}"


class Acceptance(models.Model):
    """Somebody has accepted a finding until a day: it stays, and does not count meanwhile."""

    finding = models.ForeignKey(Finding, models.CASCADE, related_name="acceptances")
    until = models.DateField()
    reason = models.TextField()
    accepted_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    accepted_at = models.DateTimeField(default=timezone.now)
    #: When it was taken back; null while it holds.
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
