"""Tables: what there is, and what was observed."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from hadash.bindings.model import PairDescription
from hadash.identity.names import MAX_NAME_LENGTH, MAX_RESOURCE_LENGTH
from hadash.inventory.relations import MAX_NOTE_LENGTH, Relation
from hadash.inventory.secrets import EncryptedField
from hadash.kafka.tls import Tls
from hadash.kafka.values import ClusterAccess

#: Kafka's security protocols, and the SASL mechanisms that hadash signs in with (a token of OAUTHBEARER would
#: have to be fetched).
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def _choices(names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(name, name) for name in names]


class Installation(models.Model):
    """This installation: one row, with the mark that its chroot in ZooKeeper bears, and the last epoch of
    bindings that was seen there.
    """

    mark = models.CharField(max_length=64)
    epoch = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return self.mark


class Cluster(models.Model):
    """One Kafka cluster. ``number`` is its integer id, from which virtual node ids are made; it never changes."""

    name = models.SlugField(_("name"), max_length=40, unique=True)
    number = models.PositiveIntegerField(_("number"), unique=True)
    bootstrap_servers = models.CharField(max_length=500)
    security_protocol = models.CharField(max_length=20, choices=_choices(PROTOCOLS), default="SASL_PLAINTEXT")
    sasl_mechanism = models.CharField(max_length=20, choices=_choices(MECHANISMS), default="PLAIN")
    #: Without SASL the names are those of the brokers' principals: hadash takes no rights away from them.
    admin_username = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    admin_password = EncryptedField(blank=True)
    mirror_username = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    mirror_password = EncryptedField(blank=True)
    #: PEM: who issued the brokers' certificates (empty: the machine's authorities), and hadash's own
    #: certificate and key, which the mirror presents too (empty: brokers ask for none).
    tls_ca = models.TextField(blank=True)
    tls_certificate = models.TextField(blank=True)
    tls_key = EncryptedField(blank=True)
    #: Of a cluster with ZooKeeper: its servers with the chroot, from which snapshots learn how often the
    #: controller has changed.
    zookeeper_hosts = models.CharField(max_length=500, blank=True)
    #: What the last look found: id, brokers, or why it does not answer.
    kafka_cluster_id = models.CharField(max_length=100, blank=True)
    brokers = models.JSONField(default=list)
    fault = models.TextField(blank=True)
    looked_at = models.DateTimeField(null=True)
    #: Made up (``hadash_sandbox/fleet``): there is no server behind it, and nobody asks it anything.
    generated = models.BooleanField(default=False, editable=False)

    class Meta:
        ordering = ("number",)

    def __str__(self) -> str:
        return self.name

    @property
    def access(self) -> ClusterAccess:
        """How hadash reaches it."""
        return ClusterAccess(
            self.name,
            self.bootstrap_servers,
            self.security_protocol,
            self.sasl_mechanism,
            self.admin_username,
            self.admin_password,
            self.tls,
            generated=self.generated,
        )

    @property
    def tls(self) -> Tls:
        return Tls(self.tls_ca, self.tls_certificate, self.tls_key)


class Pair(models.Model):
    """Exactly two clusters that back each other up. ``default`` serves everybody who has no binding."""

    class Dialect(models.TextChoices):
        """Whose engine obeys the pair's bindings."""

        NATIVE = "native", _("hadash's Gateway")
        DIDI = "didi", _("DiDi's brokers and Gateway")

    name = models.SlugField(max_length=40, unique=True)
    first = models.ForeignKey(Cluster, models.PROTECT, related_name="pairs_as_first")
    second = models.ForeignKey(Cluster, models.PROTECT, related_name="pairs_as_second")
    default = models.ForeignKey(Cluster, models.PROTECT, related_name="pairs_as_default")
    dialect = models.CharField(max_length=10, choices=Dialect.choices, default=Dialect.NATIVE)
    #: For DiDi's engine: each cluster's name, and "gateway" → the hosts of its ZooKeeper with chroot; else empty.
    didi_zookeeper = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ("name",)
        constraints = [
            models.CheckConstraint(condition=~models.Q(first=models.F("second")), name="pair_of_two"),
            models.CheckConstraint(
                condition=models.Q(default=models.F("first")) | models.Q(default=models.F("second")),
                name="pair_default_is_a_member",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def clusters(self) -> tuple[Cluster, Cluster]:
        return self.first, self.second

    def other(self, cluster: Cluster) -> Cluster:
        return self.second if cluster.pk == self.first_id else self.first

    @property
    def generated(self) -> bool:
        """Whether there are no servers behind it. (A pair is generated as a whole.)"""
        return self.first.generated

    def describe(self) -> PairDescription:
        return PairDescription(self.name, (self.first.name, self.second.name), self.default.name)


class AppID(models.Model):
    """A principal that clients sign in as, and the pair that it belongs to."""

    name = models.CharField(_("AppID"), max_length=MAX_NAME_LENGTH)
    pair = models.ForeignKey(Pair, models.PROTECT, related_name="appids")
    owner = models.CharField(_("owner"), max_length=200, blank=True)
    note = models.TextField(_("note"), blank=True)
    #: What it moves with matters most: the work list begins with it.
    critical = models.BooleanField(_("critical"), default=False)

    class Meta:
        ordering = ("name",)
        constraints = [models.UniqueConstraint(fields=["pair", "name"], name="appid_once_a_pair")]
        indexes = [models.Index(fields=["name"], name="appid_in_order")]

    def __str__(self) -> str:
        return self.name


class InstanceID(models.Model):
    """A registered ``client.id`` of one AppID."""

    appid = models.ForeignKey(AppID, models.CASCADE, related_name="instances")
    name = models.CharField(_("InstanceID"), max_length=MAX_NAME_LENGTH)
    note = models.TextField(_("note"), blank=True)
    registered_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)
        constraints = [models.UniqueConstraint(fields=["appid", "name"], name="instance_once_an_appid")]

    def __str__(self) -> str:
        return f"{self.appid.name} › {self.name}"


class Access(models.Model):
    """An observed fact: a client used a Topic or a group on a cluster."""

    class Kind(models.TextChoices):
        PRODUCE = "produce", _("produces")
        CONSUME = "consume", _("consumes")
        GROUP = "group", _("group member")

    pair = models.ForeignKey(Pair, models.CASCADE, related_name="access")
    appid = models.CharField(max_length=MAX_NAME_LENGTH)
    client_id = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    #: Topic, or consumer group for kind group.
    resource = models.CharField(max_length=MAX_RESOURCE_LENGTH)
    cluster = models.CharField(max_length=40)
    host = models.CharField(max_length=255, blank=True)
    library = models.CharField(max_length=100, blank=True)
    version = models.CharField(max_length=100, blank=True)
    details = models.JSONField(default=dict)
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pair", "appid", "client_id", "kind", "resource", "cluster"], name="access_once"
            )
        ]
        indexes = [models.Index(fields=["pair", "kind", "resource"])]

    def __str__(self) -> str:
        return f"{self.appid} › {self.client_id} {self.kind} {self.resource} on {self.cluster}"


class Declaration(models.Model):
    """Somebody has said that an InstanceID, or an AppID as a whole, uses a Topic or is in a group.

    Written by :mod:`hadash.inventory.declarations` only.
    """

    class Source(models.TextChoices):
        HAND = "hand", _("by hand")
        IMPORT = "import", _("from a file")
        ACCESS = "access", _("from what was seen")

    appid = models.ForeignKey(AppID, models.CASCADE, related_name="declarations")
    #: The client.id; empty for the AppID as a whole.
    instance_id = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    kind = models.CharField(max_length=10, choices=Access.Kind.choices)
    #: Topic, or consumer group for kind group.
    resource = models.CharField(max_length=MAX_RESOURCE_LENGTH)
    note = models.CharField(_("note"), max_length=MAX_NOTE_LENGTH, blank=True)
    source = models.CharField(max_length=10, choices=Source.choices)
    declared_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    declared_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("instance_id", "kind", "resource")
        constraints = [
            models.UniqueConstraint(
                fields=["appid", "instance_id", "kind", "resource"], name="declaration_once"
            )
        ]
        indexes = [models.Index(fields=["kind", "resource"])]

    def __str__(self) -> str:
        return str(self.relation)

    @property
    def relation(self) -> Relation:
        """(Of rows that were read with their AppIDs; else it is a query.)"""
        return Relation(self.appid.name, self.instance_id, self.kind, self.resource)


class ClusterSample(models.Model):
    """One look at a cluster. ``milliseconds``: until it had told its brokers; null when it did not answer."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="samples")
    at = models.DateTimeField()
    milliseconds = models.FloatField(null=True)
    brokers = models.PositiveIntegerField(null=True)

    class Meta:
        indexes = [models.Index(fields=["cluster", "at"])]

    def __str__(self) -> str:
        return f"{self.cluster} {self.at}"


class ClusterState(models.Model):
    """How a cluster was when a snapshot was taken: its controller, and what is wrong with its partitions.
    What it did not tell is null.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="states")
    at = models.DateTimeField()
    mode = models.CharField(max_length=10, blank=True)
    version = models.CharField(max_length=40, blank=True)
    controller = models.IntegerField(null=True)
    controller_epoch = models.BigIntegerField(null=True)
    brokers = models.PositiveIntegerField(null=True)
    topics = models.PositiveIntegerField(null=True)
    partitions = models.PositiveIntegerField(null=True)
    leaderless = models.PositiveIntegerField(null=True)
    under_replicated = models.PositiveIntegerField(null=True)
    #: With fewer replicas in sync than ``min.insync.replicas`` asks for: producers with acks=all are refused.
    under_min_isr = models.PositiveIntegerField(null=True)

    class Meta:
        indexes = [models.Index(fields=["cluster", "at"])]

    def __str__(self) -> str:
        return f"{self.cluster} {self.at}"


class GatewaySample(models.Model):
    """What a Gateway said of itself at one moment; its counters count from ``started`` on. One that did not
    answer has no sample.
    """

    gateway = models.CharField(max_length=200)
    at = models.DateTimeField()
    started = models.DateTimeField()
    applied = models.BigIntegerField()
    #: Connections by cluster.
    connections = models.JSONField(default=dict)
    #: Whether each cluster answered when the Gateway asked it last; without those of which it does not tell.
    reached = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    parked = models.PositiveIntegerField()
    expired = models.PositiveBigIntegerField()
    overflowed = models.PositiveBigIntegerField()
    #: Refused connections and requests by reason, and requests and bytes by kind of request (all clusters
    #: together): ``{kind: [requests, in, out]}``.
    refused = models.JSONField(default=dict)
    requests = models.JSONField(default=dict)
    cpu_seconds = models.FloatField(null=True)
    memory_bytes = models.BigIntegerField(null=True)

    class Meta:
        indexes = [models.Index(fields=["gateway", "at"])]

    def __str__(self) -> str:
        return f"{self.gateway} {self.at}"


class Worker(models.Model):
    """A Celery worker, as it says of itself (:mod:`hadash.inventory.workers`)."""

    #: As Celery calls it: ``celery@host``.
    name = models.CharField(max_length=200, unique=True)
    #: The queues that it takes tasks from.
    queues = models.JSONField(default=list)
    version = models.CharField(max_length=40)
    began_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class DailyFigure(models.Model):
    """The most that something was on a day (UTC): of a pair, or of the installation, whose pair is empty
    (:mod:`hadash.inventory.daily`). The overview draws it."""

    class Name(models.TextChoices):
        CLIENTS = "clients"
        GATEWAYS = "gateways"
        WORKERS = "workers"
        FACTS_AGE = "facts_age"

    day = models.DateField()
    pair = models.CharField(max_length=40, blank=True)
    name = models.CharField(max_length=20, choices=Name.choices)
    value = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["day", "pair", "name"], name="figure_once_a_day")]

    def __str__(self) -> str:
        return f"{self.name} {self.pair} {self.day}"
