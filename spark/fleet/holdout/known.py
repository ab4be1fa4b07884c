"""Faults of declarations and of bypassed Gateways, from the sentences of
:mod:`hadash.governance.catalogue.known`, which the docstrings quote.
"""

from __future__ import annotations

from hadash.governance.catalogue import Code
from hadash.lake.access import CSV
from spark.fleet.holdout.builder import WRITER, App, HoldoutBuilder, Pair
from spark.fleet.model import EVERY_DAY


def never_seen(builder: HoldoutBuilder) -> None:
    """Somebody has declared a use that was not seen on any of the last 35 days. (Nothing is found while the
    reports of the pair do not reach back so far.)
    """
    old, young = builder.pair(), builder.pair()
    for pair, days in ((old, 45), (young, 20)):
        builder.writer(builder.app(pair), [builder.topic(pair)], ages=(*EVERY_DAY, days))

    def declared(pair: Pair, kind: str, resource: str, *, by_client: bool) -> App:
        """Add an AppID with a declared use that was seen, and with this one, which was not."""
        app = builder.app(pair)
        topic = builder.topic(pair)
        name = builder.writer(app, [topic])
        builder.declare(app, "produce", topic, name)
        builder.declare(app, kind, resource, name if by_client else "")
        return app

    for kind, resource, by_client in (
        ("produce", builder.topic(old), True),
        ("consume", builder.topic(old), False),
        ("group", "night", True),
    ):
        app = declared(old, kind, resource, by_client=by_client)
        builder.wrong(Code.NEVER_SEEN, old, app.name, app.name)
    app = builder.app(old)
    name = builder.writer(app, [topic := builder.topic(old)], ages=(40,))
    builder.declare(app, "produce", topic, name)
    builder.wrong(Code.NEVER_SEEN, old, app.name, app.name)

    app = declared(young, "produce", builder.topic(young), by_client=True)
    builder.looks_wrong(
        Code.NEVER_SEEN, young, app.name, app.name, why="the reports of its pair reach back twenty days only"
    )
    for why, ages in (
        ("it was seen each day", EVERY_DAY),
        ("it runs once a month", (30,)),
        ("it was seen today", (0,)),
    ):
        app = builder.app(old)
        name = builder.writer(app, [topic := builder.topic(old)], ages=ages)
        builder.declare(app, "produce", topic, name)
        builder.looks_wrong(Code.NEVER_SEEN, old, app.name, app.name, why=why)
    app = builder.app(old)
    topic = builder.topic(old)
    builder.reader(app, [topic], client_id=f"{app.name}-7")
    builder.declare(app, "consume", topic)
    builder.declare(app, "group", f"{app.name}-group")
    builder.looks_wrong(
        Code.NEVER_SEEN,
        old,
        app.name,
        app.name,
        why="declared for the AppID as a whole, and seen of one of its clients",
    )


def not_declared(builder: HoldoutBuilder) -> None:
    """An AppID that has declarations was seen with a use that none of them covers."""
    pair = builder.pair()

    def declared(*, wholly: bool) -> tuple[App, str]:
        app = builder.app(pair)
        topic = builder.topic(pair)
        name = builder.writer(app, [topic])
        builder.declare(app, "produce", topic, "" if wholly else name)
        return app, topic

    app, _ = declared(wholly=False)
    builder.writer(app, [builder.topic(pair)])
    builder.wrong(Code.NOT_DECLARED, pair, app.name, app.name)
    app, topic = declared(wholly=True)
    builder.reader(app, [topic], "librdkafka.assigns")
    builder.wrong(Code.NOT_DECLARED, pair, app.name, app.name)
    builder.wrong(Code.SELF_ASSIGNED, pair, f"{app.name}-reader", app.name)
    app, topic = declared(wholly=False)
    builder.writer(app, [topic], client_id=f"{app.name}-other")
    builder.wrong(Code.NOT_DECLARED, pair, app.name, app.name)
    for why, wholly in (
        ("its only use is declared", False),
        ("it is declared for the AppID as a whole", True),
    ):
        app, _ = declared(wholly=wholly)
        builder.looks_wrong(Code.NOT_DECLARED, pair, app.name, app.name, why=why)
    app, topic = declared(wholly=True)
    builder.writer(app, [topic], client_id=f"{app.name}-other")
    builder.looks_wrong(
        Code.NOT_DECLARED,
        pair,
        app.name,
        app.name,
        why="what is declared for the AppID covers each of its clients",
    )
    app = builder.app(pair)
    builder.writer(app, [builder.topic(pair)])
    builder.looks_wrong(Code.NOT_DECLARED, pair, app.name, app.name, why="nobody has declared anything of it")


def bypass(builder: HoldoutBuilder) -> None:
    """Brokers have seen a client that no Gateway has seen."""
    pair = builder.pair()
    for kind in ("produce", "consume", "produce"):
        app = builder.app(pair)
        topic = builder.topic(pair)
        builder.writer(app, [topic])
        builder.seen_by_brokers(app, f"{app.name}-direct", kind, topic)
        builder.wrong(Code.BYPASS, pair, app.name, app.name)
    app = builder.app(pair)
    topic = builder.topic(pair)
    name = builder.writer(app, [topic])
    builder.seen_by_brokers(app, name, "produce", topic)
    builder.looks_wrong(Code.BYPASS, pair, app.name, app.name, why="brokers see it behind the Gateway, too")
    app = builder.app(pair)
    builder.client(app, WRITER, [builder.topic(pair)], source=CSV)
    builder.looks_wrong(Code.BYPASS, pair, app.name, app.name, why="a file says so, and no broker")
    (user, *_) = (row["user"] for row in builder.fleet.find("own_users", cluster=pair.second))
    own = App(pair, user, builder.host())
    builder.seen_by_brokers(own, "mirror", "produce", builder.topic(pair), cluster=pair.second, rights=False)
    builder.looks_wrong(Code.BYPASS, pair, own.name, own.name, why="it is hadash's own mirror")
    app = builder.app(pair)
    topic = builder.topic(pair)
    name = builder.reader(app, [topic], ages=(4, 5))
    builder.seen_by_brokers(app, name, "consume", topic, ages=(0, 1))
    builder.looks_wrong(
        Code.BYPASS,
        pair,
        app.name,
        app.name,
        why="a Gateway saw it some days ago: what has not changed is not reported again",
    )


CASES = {Code.NEVER_SEEN: never_seen, Code.NOT_DECLARED: not_declared, Code.BYPASS: bypass}
