"""A switch that goes on behind a PostgreSQL without its last commits knows which write denials are hadash's own."""

from __future__ import annotations

from typing import Any

import pytest

from hadash.bindings.journals import FACTS_BYTES
from hadash.inventory.models import AppID, Cluster, Pair
from hadash.kafka.values import Acl
from hadash.mirroring import standby
from hadash.mirroring.acls import write_denial
from hadash.mirroring.models import WriteDenial
from hadash.switching.execution.command_handler import CommandHandler
from hadash.switching.stages import commands as do
from hadash.switching.stages.context import StageContext

from .world import WHOLE


def test_what_was_to_be_made_before_stays_and_clusters_are_apart() -> None:
    context = StageContext()
    for cluster, rule in (("east", ("b", "User:x")), ("east", ("a", "User:x")), ("west", ("b", "User:x"))):
        assert context.keep_denied(cluster, [rule])
    assert context.denied("east") == [("a", "User:x"), ("b", "User:x")]
    assert context.denied("west") == [("b", "User:x")]


def test_what_zookeeper_has_no_room_for_is_left_out() -> None:
    hard_to_compress = str([hash(str(number)) for number in range(FACTS_BYTES // 8)])
    context = StageContext({"drained": hard_to_compress})
    assert not context.keep_denied("east", [("a", "User:x")])
    assert context.denied("east") == []


class Brokers:
    """The rules of one cluster, all of them about the Topics that are asked for."""

    def __init__(self, *rules: Acl) -> None:
        self.rules = set(rules)
        self.acls_about = lambda topics: {rule for rule in self.rules if rule.resource in topics}
        self.create_acls: Any = self.rules.update
        self.delete_acls = self.rules.difference_update
        self.scram_users = list[str]


@pytest.mark.stack
@pytest.mark.django_db
class TestAfterAFailover:
    MAY_WRITE = Acl("TOPIC", "orders", "LITERAL", "User:shop", "*", "WRITE", "ALLOW")
    OWN = write_denial("orders", "User:shop")
    #: Somebody else's, though it looks as hadash's do.
    FOREIGN = write_denial("orders", "User:guest")

    @pytest.fixture
    def brokers(self, db: None, monkeypatch: pytest.MonkeyPatch) -> Brokers:
        east, west = (Cluster.objects.create(name=name, number=n) for n, name in enumerate(("east", "west")))
        pair = Pair.objects.create(name="main", first=east, second=west, default=east)
        AppID.objects.create(pair=pair, name="shop")
        brokers = Brokers(self.MAY_WRITE, self.FOREIGN)
        monkeypatch.setattr(standby, "_client", lambda cluster: brokers)
        return brokers

    def deny(self, context: StageContext) -> int:
        return CommandHandler(WHOLE, None, context, lambda sentence: None).carry_out(do.DenyWrites("east"))

    def test_its_own_are_noted_again_and_nobody_elses(self, brokers: Brokers) -> None:
        context = StageContext()
        assert self.deny(context) == 1
        assert self.OWN in brokers.rules
        WriteDenial.objects.all().delete()  # the commits that PostgreSQL has lost; ZooKeeper has the facts

        assert self.deny(StageContext(context.values)) == 0
        assert [(d.topic, d.principal) for d in WriteDenial.objects.all()] == [("orders", "User:shop")]
        standby.allow_writes(Cluster.objects.get(name="east"), ["orders"])
        assert brokers.rules & {self.OWN, self.FOREIGN} == {self.FOREIGN}

    def test_zookeeper_has_them_before_there_is_one(self, brokers: Brokers) -> None:
        def dies(rules: Any) -> None:
            raise ConnectionError

        brokers.create_acls = dies
        context = StageContext()
        with pytest.raises(ConnectionError):
            self.deny(context)
        assert context.denied("east") == [("orders", "User:shop")]
