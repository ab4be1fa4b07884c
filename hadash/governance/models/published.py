"""The rows that runs have published.

The jobs (``spark/publishing/``) write to these tables without Django: a change of a column also needs a change
in ``spark/schemas.py`` or ``spark/publishing/``; ``tests/governance/test_published.py`` compares them.
"""

from __future__ import annotations

from django.db import models

from hadash.governance.models.runs import Run
from hadash.identity.names import MAX_NAME_LENGTH, MAX_RESOURCE_LENGTH


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
    #: The islands with steps are numbered from 1 within a pair.
    island = models.BigIntegerField()
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
