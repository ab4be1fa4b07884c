"""Faults of rights, from the sentences of :mod:`hadash.governance.catalogue.rights`, which the docstrings quote."""

from __future__ import annotations

from hadash.governance.catalogue import Code
from spark.fleet.holdout.builder import App, HoldoutBuilder, Pair


def super_user(builder: HoldoutBuilder) -> None:
    """An AppID uses a Topic to which others have rights and it has none: only a super user can."""
    pair = builder.pair()

    def of_another(where: Pair = pair) -> str:
        topic = builder.topic(where)
        builder.writer(builder.app(where), [topic])
        return topic

    app = builder.app(pair)
    builder.writer(app, [of_another()], rights=False)
    builder.wrong(Code.SUPER_USER, pair, app.name, app.name)
    app = builder.app(pair)
    builder.reader(app, [of_another()], rights=False)
    builder.wrong(Code.SUPER_USER, pair, app.name, app.name)
    app = builder.app(pair)
    builder.writer(app, [builder.topic(pair)])
    builder.writer(app, [of_another(), of_another()], rights=False)
    builder.wrong(Code.SUPER_USER, pair, app.name, app.name)

    app = builder.app(pair)
    topic = of_another()
    builder.writer(app, [topic], rights=False)
    builder.allow(app, "TOPIC", topic, "WRITE", pattern="PREFIXED")
    builder.looks_wrong(
        Code.SUPER_USER, pair, app.name, app.name, why="it has a right to all Topics whose names begin so"
    )
    app = builder.app(pair)
    builder.reader(app, [builder.topic(pair)], rights=False)
    builder.looks_wrong(
        Code.SUPER_USER,
        pair,
        app.name,
        app.name,
        why="nobody has a right to that Topic: brokers may be set to let everybody in",
    )
    open_pair = builder.pair()
    for cluster in builder.fleet.tables["clusters"]:
        if cluster["cluster"] in (open_pair.first, open_pair.second):
            cluster["authorizer"] = False
    app = builder.app(open_pair)
    topic = builder.topic(open_pair)
    builder.writer(app, [topic], rights=False)
    builder.looks_wrong(
        Code.SUPER_USER,
        open_pair,
        app.name,
        app.name,
        why="there is no authorizer: everybody may do everything",
    )
    app = builder.app(pair)
    topic = of_another()
    builder.reader(app, [topic], rights=False)
    everybody = App(pair, "*", "")
    builder.allow(everybody, "TOPIC", topic, "READ")
    builder.looks_wrong(Code.SUPER_USER, pair, app.name, app.name, why="everybody has a right to that Topic")


def unused_rights(builder: HoldoutBuilder) -> None:
    """Its rights allow more than 3 Topics that it was not seen to use."""
    pair = builder.pair()

    def using() -> App:
        app = builder.app(pair)
        builder.writer(app, [builder.topic(pair)])
        return app

    def may(app: App, count: int, operation: str = "READ", **more: str) -> App:
        for topic in builder.topics(pair, count):
            builder.allow(app, "TOPIC", topic, operation, **more)
        return app

    for count in (4, 9):
        app = may(using(), count)
        builder.wrong(Code.UNUSED_RIGHTS, pair, app.name, app.name)
    app = using()
    wide = builder.topics(pair, 5, mirrored=False)
    for topic in wide:
        for table in ("topics", "partitions"):
            for row in builder.fleet.find(table, topic=topic):
                row["topic"] = f"wide.{topic}"
    builder.mirror(pair, [f"wide.{topic}" for topic in wide])
    builder.allow(app, "TOPIC", "wide.", "WRITE", pattern="PREFIXED")
    builder.wrong(Code.UNUSED_RIGHTS, pair, app.name, app.name)

    app = may(using(), 3)
    builder.looks_wrong(Code.UNUSED_RIGHTS, pair, app.name, app.name, why="these are three")
    app = may(using(), 6, "WRITE", permission="DENY")
    builder.looks_wrong(Code.UNUSED_RIGHTS, pair, app.name, app.name, why="these are forbidden")
    app = builder.app(pair)
    builder.writer(app, builder.topics(pair, 9))
    builder.looks_wrong(Code.UNUSED_RIGHTS, pair, app.name, app.name, why="it uses all of them")
    app = using()
    for number in range(8):
        builder.allow(app, "GROUP", f"{app.name}-{number}", "READ")
    builder.looks_wrong(Code.UNUSED_RIGHTS, pair, app.name, app.name, why="these are groups")


def acl_drift(builder: HoldoutBuilder) -> None:
    """An AppID may do something on one cluster of its pair and not on the other. Rights count by what they
    give, as in Kafka, however they are written. Compared are READ, WRITE and DESCRIBE (and another operation,
    if a right of the AppID names it and not just ALL) of mirrored Topics, groups and transactional ids that
    the AppID has a right to or was seen to use. (What hadash itself has made does not count.)
    """
    pair = builder.pair()

    def using() -> tuple[App, str]:
        app = builder.app(pair)
        topic = builder.topic(pair)
        builder.writer(app, [topic])
        return app, topic

    def wrong(app: App, cluster: str) -> None:
        """Note the finding on ``cluster``, where the AppID has a right that it lacks on the other."""
        builder.wrong(Code.ACL_DRIFT, app.pair, cluster, app.name)

    def looks_wrong(app: App, why: str) -> None:
        for cluster in (app.pair.first, app.pair.second):
            builder.looks_wrong(Code.ACL_DRIFT, app.pair, cluster, app.name, why=why)

    app, topic = using()
    builder.allow(app, "TOPIC", topic, "READ", on=[pair.first])
    wrong(app, pair.first)
    app, _ = using()
    builder.allow(app, "GROUP", f"{app.name}-group", "READ", on=[pair.second])
    wrong(app, pair.second)
    app, topic = using()
    builder.allow(app, "TOPIC", topic, "READ", on=[pair.first], pattern="PREFIXED")
    wrong(app, pair.first)
    app, topic = using()
    builder.allow(app, "TOPIC", topic, "WRITE", on=[pair.second], permission="DENY")  # not made by hadash
    wrong(app, pair.first)
    app, _ = using()
    builder.allow(app, "TRANSACTIONAL_ID", f"{app.name}-", "WRITE", on=[pair.first], pattern="PREFIXED")
    wrong(app, pair.first)

    app, topic = using()
    builder.allow(app, "TOPIC", topic, "WRITE", on=[pair.second], permission="DENY", by_hadash=True)
    looks_wrong(app, "hadash keeps it off a standby Topic")
    app, topic = using()
    builder.allow(app, "TOPIC", topic, "READ", on=[pair.first])
    builder.allow(app, "TOPIC", topic, "READ", on=[pair.second], pattern="PREFIXED")
    looks_wrong(app, "a prefix gives the same on the other cluster")
    app = builder.app(pair)
    topic = builder.topic(pair)
    builder.writer(app, [topic], rights=False)
    builder.allow(app, "TOPIC", topic, "ALL", on=[pair.first])
    builder.allow(app, "TOPIC", topic, "READ", "WRITE", on=[pair.second])
    looks_wrong(app, "ALL gives what is written out on the other cluster")
    app, topic = using()
    builder.allow(app, "TOPIC", topic, "READ", on=[pair.first])
    builder.allow(App(pair, "*", ""), "TOPIC", topic, "READ", on=[pair.second])
    looks_wrong(app, "everybody may do so on the other cluster")
    app, _ = using()
    (loose,) = builder.topics(pair, mirrored=False)
    builder.allow(app, "TOPIC", loose, "READ", on=[pair.first])
    looks_wrong(app, "that Topic is in no mirror: nobody moves with it")
    single = builder.pair()
    for row in builder.fleet.find("clusters", cluster=single.second):
        row["authorizer"] = False
    app = builder.app(single)
    topic = builder.topic(single)
    builder.writer(app, [topic], rights=False)
    builder.allow(app, "TOPIC", topic, "WRITE", "DESCRIBE", on=[single.first])
    looks_wrong(app, "the other cluster has no authorizer, and so no rights")
    (user, *_) = (row["user"] for row in builder.fleet.find("own_users", cluster=pair.second))
    own = App(pair, user, "")
    builder.allow(own, "TOPIC", builder.topic(pair), "ALTER_CONFIGS", on=[pair.second])
    looks_wrong(own, "it is a user of hadash's own")


CASES = {Code.SUPER_USER: super_user, Code.UNUSED_RIGHTS: unused_rights, Code.ACL_DRIFT: acl_drift}
