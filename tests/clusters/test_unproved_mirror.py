"""A forced switch over a real mirror that holds records twice: what is lost is counted, reported, and only
then deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone
from support.kafka import App, Clusters, consume, produce
from support.waiting import eventually

from hadash.identity.identity import Identity
from hadash.inventory.models import Cluster, Pair
from hadash.kafka.values import Partition
from hadash.mirroring import creating, turning
from hadash.mirroring import services as mirroring
from hadash.mirroring.models import Mirror
from hadash.mirroring.offsets import OffsetSync
from hadash.mirroring.rebuild import NotReported, rebuild, unreplicated_of
from hadash.radius.scope import Scope
from hadash.switching.execution.command_handler import CommandHandler
from hadash.switching.machines.switches import Kind, Stage
from hadash.switching.plan import Plan
from hadash.switching.stages.context import StageContext
from hadash.switching.stages.run import Limits
from hadash.switching.stages.ways import run_of

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

#: Records that the mirror copies, how many of them it holds twice, and those that it does not copy any more.
COPIED, TWICE, LOST = 20, 5, 8

#: Seconds for Connect to start a mirror and copy some records.
MIRROR_PATIENCE = 60


@pytest.fixture
def pair(stack_pair: Pair) -> Pair:
    return stack_pair


@pytest.fixture
def topic(app: App, pair: Pair) -> Iterator[str]:
    """On both clusters, and gone afterwards with its connectors."""
    made = app.topic()
    yield made
    connect = mirroring.connect_client()
    for connector in [name for name in connect.names() if f".{made.replace('.', '-')}." in name]:
        connect.delete(connector)
    for cluster in pair.clusters:
        mirroring.cluster_client(cluster).delete_topics([made])
    app.topics.clear()


def end_of(cluster: Cluster, partition: Partition) -> int:
    return mirroring.cluster_client(cluster).end_offsets([partition])[partition]


def assess(plan: Plan) -> tuple[list[str], dict[str, Any]]:
    """Run the stage: what it says, and the facts that it keeps."""
    said: list[str] = []
    facts = StageContext()
    effects = CommandHandler(plan, None, facts, lambda sentence: said.append(str(sentence)))
    run = run_of(Kind.FORCED, Stage.ASSESS)(plan, Limits())
    answer: Any = None
    while True:
        try:
            answer = effects.carry_out(run.send(answer))
        except StopIteration as end:
            return [*said, str(end.value)], facts.values


def test_what_was_copied_twice_hides_no_loss_and_nothing_unreported_is_deleted(
    pair: Pair, app: App, topic: str, kafka: Clusters
) -> None:
    east, west = pair.clusters
    partition, name = Partition(topic, 0), topic.replace(".", "-")
    values = [b"%d" % number for number in range(COPIED + LOST)]
    produce(app.config(east.bootstrap_servers), topic, *values[:COPIED])
    mirror = creating.create_mirror(pair, name, [topic], east)
    eventually(
        lambda: end_of(west, partition) == COPIED, "the mirror has copied all", patience=MIRROR_PATIENCE
    )
    # As a Connect worker that dies does; before hadash has looked at the mirror again.
    produce(kafka.described["west"].client_config(), topic, *values[COPIED - TWICE : COPIED])
    turning.hold([mirror], west)
    produce(app.config(east.bootstrap_servers), topic, *values[COPIED:])
    Mirror.objects.update(known_ends=[[topic, 0, COPIED + LOST]], known_ends_at=timezone.now())

    identity = Identity(app.appid)
    plan = Plan(
        "main", Scope.of(identity), "east", "west", (identity,), (topic,), (), (name,), kind=Kind.FORCED
    )
    said, facts = assess(plan)
    assert f"holds {TWICE} records more than it is proved to have copied" in said[-2]
    assert f"of what it held then west lacks {LOST} records" in said[-1]
    assert facts["drained"] == [[topic, 0, COPIED + TWICE, COPIED + TWICE]]
    assert facts["loss"]["proved"] == [[topic, 0, COPIED, COPIED + TWICE]]

    tail = unreplicated_of(east, {partition: OffsetSync(COPIED, COPIED + TWICE)})
    assert tail == {partition: (COPIED, COPIED + LOST)}
    mirror.refresh_from_db()
    with pytest.raises(NotReported, match="Nothing was deleted"):
        rebuild(mirror, east, {partition: COPIED + LOST - 1})
    assert consume(kafka.described["east"].client_config(), topic, "tail", COPIED + LOST) == values
    rebuild(mirror, east, {partition: COPIED + LOST})
    eventually(
        lambda: end_of(east, partition) == COPIED + TWICE, "all is mirrored back", patience=MIRROR_PATIENCE
    )
