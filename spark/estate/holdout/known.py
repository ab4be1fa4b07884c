"""Faults of what is known of clients, from the sentences of :mod:`hadash.governance.catalogue.known`."""

from __future__ import annotations

from hadash.governance.catalogue import Code
from hadash.lake.access import CSV
from spark.estate.holdout.fleet import WRITER, App, Fleet, Pair
from spark.estate.model import EVERY_DAY


def never_seen(fleet: Fleet) -> None:
    """Somebody has declared a use that was not seen on any of the last 35 days. (Nothing is found while the
    reports of the pair do not reach back so far.)
    """
    old, young = fleet.pair(), fleet.pair()
    for pair, days in ((old, 45), (young, 20)):
        fleet.writer(fleet.app(pair), [fleet.topic(pair)], ages=(*EVERY_DAY, days))

    def declared(pair: Pair, kind: str, resource: str, *, by_client: bool) -> App:
        """With another use, which it makes."""
        app = fleet.app(pair)
        topic = fleet.topic(pair)
        name = fleet.writer(app, [topic])
        fleet.declare(app, "produce", topic, name)
        fleet.declare(app, kind, resource, name if by_client else "")
        return app

    for kind, resource, by_client in (
        ("produce", fleet.topic(old), True),
        ("consume", fleet.topic(old), False),
        ("group", "night", True),
    ):
        app = declared(old, kind, resource, by_client=by_client)
        fleet.wrong(Code.NEVER_SEEN, old, app.name, app.name)
    app = fleet.app(old)
    name = fleet.writer(app, [topic := fleet.topic(old)], ages=(40,))
    fleet.declare(app, "produce", topic, name)
    fleet.wrong(Code.NEVER_SEEN, old, app.name, app.name)

    app = declared(young, "produce", fleet.topic(young), by_client=True)
    fleet.looks_wrong(
        Code.NEVER_SEEN, young, app.name, app.name, why="the reports of its pair reach back twenty days only"
    )
    for why, ages in (
        ("it was seen each day", EVERY_DAY),
        ("it runs once a month", (30,)),
        ("it was seen today", (0,)),
    ):
        app = fleet.app(old)
        name = fleet.writer(app, [topic := fleet.topic(old)], ages=ages)
        fleet.declare(app, "produce", topic, name)
        fleet.looks_wrong(Code.NEVER_SEEN, old, app.name, app.name, why=why)
    app = fleet.app(old)
    topic = fleet.topic(old)
    fleet.reader(app, [topic], client_id=f"{app.name}-7")
    fleet.declare(app, "consume", topic)
    fleet.declare(app, "group", f"{app.name}-group")
    fleet.looks_wrong(
        Code.NEVER_SEEN,
        old,
        app.name,
        app.name,
        why="declared for the AppID as a whole, and seen of one of its clients",
    )


def not_declared(fleet: Fleet) -> None:
    """An AppID that has declarations was seen with a use that none of them covers."""
    pair = fleet.pair()

    def declared(*, wholly: bool) -> tuple[App, str]:
        app = fleet.app(pair)
        topic = fleet.topic(pair)
        name = fleet.writer(app, [topic])
        fleet.declare(app, "produce", topic, "" if wholly else name)
        return app, topic

    app, _ = declared(wholly=False)
    fleet.writer(app, [fleet.topic(pair)])
    fleet.wrong(Code.NOT_DECLARED, pair, app.name, app.name)
    app, topic = declared(wholly=True)
    fleet.reader(app, [topic], "librdkafka.assigns")
    fleet.wrong(Code.NOT_DECLARED, pair, app.name, app.name)
    fleet.wrong(Code.SELF_ASSIGNED, pair, f"{app.name}-reader", app.name)
    app, topic = declared(wholly=False)
    fleet.writer(app, [topic], client_id=f"{app.name}-other")
    fleet.wrong(Code.NOT_DECLARED, pair, app.name, app.name)
    for why, wholly in (
        ("its only use is declared", False),
        ("it is declared for the AppID as a whole", True),
    ):
        app, _ = declared(wholly=wholly)
        fleet.looks_wrong(Code.NOT_DECLARED, pair, app.name, app.name, why=why)
    app, topic = declared(wholly=True)
    fleet.writer(app, [topic], client_id=f"{app.name}-other")
    fleet.looks_wrong(
        Code.NOT_DECLARED,
        pair,
        app.name,
        app.name,
        why="what is declared for the AppID covers each of its clients",
    )
    app = fleet.app(pair)
    fleet.writer(app, [fleet.topic(pair)])
    fleet.looks_wrong(Code.NOT_DECLARED, pair, app.name, app.name, why="nobody has declared anything of it")


def bypass(fleet: Fleet) -> None:
    """Brokers have seen a client that no Gateway has seen."""
    pair = fleet.pair()
    for kind in ("produce", "consume", "produce"):
        app = fleet.app(pair)
        topic = fleet.topic(pair)
        fleet.writer(app, [topic])
        fleet.seen_by_brokers(app, f"{app.name}-direct", kind, topic)
        fleet.wrong(Code.BYPASS, pair, app.name, app.name)
    app = fleet.app(pair)
    topic = fleet.topic(pair)
    name = fleet.writer(app, [topic])
    fleet.seen_by_brokers(app, name, "produce", topic)
    fleet.looks_wrong(Code.BYPASS, pair, app.name, app.name, why="brokers see it behind the Gateway, too")
    app = fleet.app(pair)
    fleet.client(app, WRITER, [fleet.topic(pair)], source=CSV)
    fleet.looks_wrong(Code.BYPASS, pair, app.name, app.name, why="a file says so, and no broker")
    (user, *_) = (row["user"] for row in fleet.estate.find("own_users", cluster=pair.second))
    own = App(pair, user, fleet.host())
    fleet.seen_by_brokers(own, "mirror", "produce", fleet.topic(pair), cluster=pair.second, rights=False)
    fleet.looks_wrong(Code.BYPASS, pair, own.name, own.name, why="it is hadash's own mirror")
    app = fleet.app(pair)
    topic = fleet.topic(pair)
    name = fleet.reader(app, [topic], ages=(4, 5))
    fleet.seen_by_brokers(app, name, "consume", topic, ages=(0, 1))
    fleet.looks_wrong(
        Code.BYPASS,
        pair,
        app.name,
        app.name,
        why="a Gateway saw it some days ago: what has not changed is not reported again",
    )


CASES = {Code.NEVER_SEEN: never_seen, Code.NOT_DECLARED: not_declared, Code.BYPASS: bypass}
