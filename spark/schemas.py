"""The tables of the jobs, by name: what is in them, and what makes two rows the same."""

from __future__ import annotations

from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    DateType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from spark import arrow


def _struct(**columns: object) -> StructType:
    return StructType([StructField(name, kind, True) for name, kind in columns.items()])  # type: ignore[arg-type]


_TEXT, _COUNT, _TIME = StringType(), LongType(), TimestampType()

#: One row a fact and day on which reports of it came (or several, of a day that was worked off in parts),
#: with that day.
DAILY = from_arrow_schema(arrow.DAILY).add("date", DateType())

#: One row a fact. ``days``: on which of the last days it was seen, a bit each, the lowest for the newest.
FACTS = from_arrow_schema(arrow.FACTS)

#: What is known of a fleet besides what was seen, one row each: ``what`` says which columns mean something.
#: ``pair`` (``names``: first, second and default cluster), ``mirror`` (``name``, ``cluster`` it copies from,
#: ``names`` of its Topics), ``document`` (``appid``, ``content`` as it stands in ZooKeeper), ``instance``
#: (``appid``, ``name``), ``declared`` (``appid``, ``name`` of the InstanceID or empty, ``kind``,
#: ``resource``), ``allowed`` (``appid``, ``resource``: a Topic that rights name), ``critical`` (``appid``).
REGISTRY = _struct(
    pair=_TEXT,
    what=_TEXT,
    appid=_TEXT,
    name=_TEXT,
    kind=_TEXT,
    resource=_TEXT,
    cluster=_TEXT,
    names=ArrayType(_TEXT),
    content=_TEXT,
)

#: What stands in ``what`` of an AppID that somebody has called critical.
CRITICAL = "critical"

#: Who uses what, whatever host or library: one row a client, kind of use, Topic or group, and cluster.
EDGES = _struct(
    pair=_TEXT,
    appid=_TEXT,
    client_id=_TEXT,
    kind=_TEXT,
    resource=_TEXT,
    cluster=_TEXT,
    hosts=_COUNT,
    requests=_COUNT,
    records=_COUNT,
    bytes=_COUNT,
    first_seen=_TIME,
    last_seen=_TIME,
)

#: Each thing that moves: where it is, on which island, and how many things move with it (itself included) to
#: the other cluster, by InstanceIDs and by whole AppIDs. (0: in that dimension nothing of that kind moves by
#: itself.)
NODES = _struct(
    pair=_TEXT,
    kind=_TEXT,
    appid=_TEXT,
    names=ArrayType(_TEXT),
    cluster=_TEXT,
    island=_COUNT,
    radius_instance=_COUNT,
    radius_appid=_COUNT,
)

#: The same with what the map of the fleet needs (:mod:`spark.transform.layout`): the number of the thing in
#: its pair, how many others it hangs together with directly, and, of those that are drawn, where on their
#: island, and the numbers of the drawn ones that follow from it.
NODES_DRAWN = StructType(
    [
        *NODES.fields,
        *_struct(
            number=_COUNT, neighbours=_COUNT, x=DoubleType(), y=DoubleType(), leads_to=ArrayType(_COUNT)
        ).fields,
    ]
)

#: The things of the map: where each lies on its island, whose edge is at 1.
MARKS = StructType([field for field in NODES_DRAWN.fields if field.name != "radius_appid"])

#: What hangs together: ``kind``, ``appid`` and ``names`` of the thing in its midst (the one that hangs
#: together with most others directly), what it consists of, the cluster it is on (empty: on both), the
#: largest radii of its things, and its circle on the map (null: too small for one of its own).
ISLANDS = _struct(
    pair=_TEXT,
    island=_COUNT,
    kind=_TEXT,
    appid=_TEXT,
    names=ArrayType(_TEXT),
    things=_COUNT,
    appids=_COUNT,
    identities=_COUNT,
    topics=_COUNT,
    groups=_COUNT,
    cluster=_TEXT,
    radius_instance=_COUNT,
    radius_appid=_COUNT,
    x=DoubleType(),
    y=DoubleType(),
    r=DoubleType(),
)

#: How many use one AppID: the sharing degree.
SHARING = _struct(
    pair=_TEXT,
    appid=_TEXT,
    clients=_COUNT,
    hosts=_COUNT,
    libraries=_COUNT,
    groups=_COUNT,
    topics=_COUNT,
    applications=_COUNT,
    radius=_COUNT,
    radius_by_appid=_COUNT,
)

#: Which AppID's InstanceIDs to register, in order (``place`` from 1): the largest radius before and after,
#: with all those before it registered too; ``critical_before`` and ``critical_after`` are those of the radii
#: with a critical AppID in them, null where its island has none. ``clients`` are those to be registered,
#: ``hosts`` where they run.
ADVICE = _struct(
    pair=_TEXT,
    place=_COUNT,
    appid=_TEXT,
    before=_COUNT,
    after=_COUNT,
    critical_before=_COUNT,
    critical_after=_COUNT,
    clients=ArrayType(_TEXT),
    hosts=ArrayType(_TEXT),
)

#: How well one AppID's clients are known, in numbers of clients (client.ids). ``nameless``: without a
#: client.id; ``new_clients``: seen on one day only, and lately; ``days``: on how many of these days any was
#: seen; ``duplicates``: ran on several hosts at once; ``bypassing``: brokers saw them, and no Gateway did.
#: ``topics`` that it uses, of which ``mirrored`` are copied by a mirror.
COVERAGE = _struct(
    pair=_TEXT,
    appid=_TEXT,
    clients=_COUNT,
    registered=_COUNT,
    nameless=_COUNT,
    new_clients=_COUNT,
    days=_COUNT,
    duplicates=_COUNT,
    bypassing=_COUNT,
    topics=_COUNT,
    mirrored=_COUNT,
)

#: The same of the clients of an AppID that use one Topic, of the AppIDs that have the most clients which are
#: not registered. ``changing``: of these the names are made again at each start.
COVERAGE_CELLS = _struct(
    pair=_TEXT,
    appid=_TEXT,
    topic=_TEXT,
    clients=_COUNT,
    registered=_COUNT,
    nameless=_COUNT,
    changing=_COUNT,
    duplicates=_COUNT,
    bypassing=_COUNT,
)

#: A row for each name that has a binding of its own in its AppID's document. ``kind``: instance, topic or group.
BINDINGS = _struct(pair=_TEXT, appid=_TEXT, kind=_TEXT, name=_TEXT)

#: Which clients of an AppID are one application, named after the first (in order) of its clients' names
#: without what changes.
APPLICATIONS = _struct(pair=_TEXT, appid=_TEXT, client_id=_TEXT, application=_TEXT)

#: What the rules have found. ``appid``: whose it is, or empty; ``name``: what it is about (the rule's entry
#: in the catalogue says what that is); ``evidence``: the values of its sentence. A rule finds the same (pair,
#: appid, name) once.
FINDINGS = _struct(pair=_TEXT, code=_TEXT, appid=_TEXT, name=_TEXT, evidence=MapType(_TEXT, _TEXT))

#: The lag of a mirror within one day (UTC). ``unknown``: samples that nobody could take; ``over_rpo``: of the
#: others those later than the RPO of the pair; the quantiles are of the others, in seconds.
LAG_DAYS = _struct(
    pair=_TEXT,
    mirror=_TEXT,
    date=DateType(),
    samples=_COUNT,
    unknown=_COUNT,
    over_rpo=_COUNT,
    seconds_p50=DoubleType(),
    seconds_p95=DoubleType(),
    seconds_most=DoubleType(),
    records_most=_COUNT,
)
