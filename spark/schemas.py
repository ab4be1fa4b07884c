"""The schemas of the jobs' tables, by name, with the meaning of their rows and columns."""

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

#: One row for each fact and day on which reports of it came (or several, if a day was processed in parts), with
#: that day.
DAILY = from_arrow_schema(arrow.DAILY).add("date", DateType())

#: One row for each fact. ``days``: a bit mask of the last days on which it was seen, the lowest bit for the
#: newest.
FACTS = from_arrow_schema(arrow.FACTS)

#: The data about a fleet besides its observed uses: ``what`` is the kind of a row and says which columns are
#: set.
#: ``pair`` (``names``: first, second and default cluster), ``mirror`` (``name``, ``cluster`` it copies from,
#: ``names`` of its Topics), ``document`` (``appid``, ``content`` from ZooKeeper), ``instance`` (``appid``,
#: ``name``), ``declared`` (``appid``, ``name`` of the InstanceID or empty, ``kind``, ``resource``), ``allowed``
#: (``appid``, ``resource``: a Topic that rights name), ``critical`` (``appid``).
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

#: The value of ``what`` for a critical AppID.
CRITICAL = "critical"

#: Uses without host and library: one row for each client, kind of use, Topic or group, and cluster.
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

#: The things that move: the cluster and the island of each, and how many things move with it (including itself)
#: to the other cluster, by InstanceIDs and by whole AppIDs. (0: in that dimension no such thing moves by
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

#: The same with columns for the map of the fleet (:mod:`spark.transform.layout`): the number of the thing in
#: its pair, the number of its direct neighbours, and, for drawn things, the position on the island, and the
#: numbers of the drawn things that have to move with it.
NODES_DRAWN = StructType(
    [
        *NODES.fields,
        *_struct(
            number=_COUNT, neighbours=_COUNT, x=DoubleType(), y=DoubleType(), leads_to=ArrayType(_COUNT)
        ).fields,
    ]
)

#: The things on the map, with their positions on their island, whose edge is at 1.
MARKS = StructType([field for field in NODES_DRAWN.fields if field.name != "radius_appid"])

#: Islands of connected things: ``kind``, ``appid`` and ``names`` of the thing in the centre (that with the most
#: direct neighbours), the numbers of its things by kind, its cluster (empty: both), the largest radii of its
#: things, and its
#: circle on the map (null: too small for one).
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

#: The sharing degree of AppIDs: how many clients, hosts and applications use each.
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

#: The AppIDs whose InstanceIDs to register, in order (``place`` from 1), with the largest radius before and
#: after, if all those before are registered, too; ``critical_before`` and ``critical_after`` count only radii
#: with a critical AppID, and are null where its island has none. ``island`` numbers the islands with steps, from
#: 1 within a pair. ``clients`` are to be registered, ``hosts`` are where they run.
ADVICE = _struct(
    pair=_TEXT,
    place=_COUNT,
    appid=_TEXT,
    before=_COUNT,
    after=_COUNT,
    critical_before=_COUNT,
    critical_after=_COUNT,
    island=_COUNT,
    clients=ArrayType(_TEXT),
    hosts=ArrayType(_TEXT),
)

#: How well one AppID's clients are known, in numbers of clients (client.ids). ``nameless``: without a
#: client.id;
#: ``new_clients``: seen on only one day, recently; ``days``: the number of recent days on which any was seen;
#: ``duplicates``: ran on several hosts at once; ``bypassing``: seen by brokers, but by no Gateway. ``topics``:
#: the number of Topics that it uses; ``mirrored``: those of them that a mirror copies.
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

#: The same for the clients of an AppID that use one Topic, only for the AppIDs with the most unregistered
#: clients.
#: ``changing``: unregistered clients of an AppID whose names change at each start.
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

#: The application of each client of an AppID, named after the first (in order) of the stems of its clients'
#: names.
APPLICATIONS = _struct(pair=_TEXT, appid=_TEXT, client_id=_TEXT, application=_TEXT)

#: The applications that share an AppID, where there are several: how many clients and hosts each has, and the first
#: (in order) of their names.
SHARED_BY = _struct(
    pair=_TEXT,
    appid=_TEXT,
    application=_TEXT,
    clients=_COUNT,
    hosts=_COUNT,
    client_ids=ArrayType(_TEXT),
    host_names=ArrayType(_TEXT),
)

#: The findings of the rules. ``appid``: the AppID that it belongs to, or empty; ``name``: the name of the thing
#: that it is about (the rule's entry in the catalogue says of which kind); ``evidence``: the values of its
#: sentence. A rule finds the same (pair, appid, name) only once.
FINDINGS = _struct(pair=_TEXT, code=_TEXT, appid=_TEXT, name=_TEXT, evidence=MapType(_TEXT, _TEXT))

#: The lag of a mirror within one day (UTC). ``unknown``: the number of unknown samples; ``over_rpo``: the
#: number of known samples over the RPO of the pair; the quantiles are those of the known samples, in seconds.
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
