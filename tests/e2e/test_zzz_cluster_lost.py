"""A cluster is lost for good, or so it seems: its clients go on without it, and no more is lost than what hadash says.

On the demo of the other tests, after their verdict (the name puts it there): only the clients of the AppID that is
moved run again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from support.waiting import eventually

from hadash.bindings.store import BindingStore
from hadash.identity.identity import Identity
from hadash_sandbox.demo import Demo
from hadash_sandbox.ending import CATCH_UP_SECONDS
from hadash_sandbox.person import Person
from hadash_sandbox.trial import LOOK_SECONDS, Trial

from .conftest import part_of
from .losing import LEFT, LOST, ask_to_go_without, move_to_lost, noted, rebuild

pytestmark = pytest.mark.stack

APPID = "billing"


@pytest.fixture
def billing(demo: Demo) -> Iterator[Trial]:
    """A trial of this AppID's clients alone."""
    clients = [spec for spec in demo.world.clients if spec.appid == APPID]
    demo.stop_clients()
    part = part_of(demo, clients, [APPID])
    for spec in clients:
        part.start_client(spec)
    prepared = Trial(part, print)
    prepared.await_traffic()
    yield prepared
    part.stop_clients()


def test_clients_go_on_without_their_cluster(demo: Demo, billing: Trial, bindings: BindingStore) -> None:
    rita, bea = (Person(demo.url, name, demo.password) for name in ("rita", "bea"))
    bound = bindings.document(APPID).binding_of(Identity(APPID))
    if bound is None or bound.cluster != LOST:
        assert move_to_lost(billing, rita).status == "succeeded"
    eventually(lambda: noted(demo), "a note of the groups' positions", patience=60)
    cluster = demo.stack.kafka[LOST]
    for process in cluster.processes:
        process.kill()

    key = ask_to_go_without(billing, rita, bea)
    billing.await_progress(billing.demo.world.clients, time.time())
    bound = bindings.document(APPID).binding_of(Identity(APPID))
    assert bound is not None
    assert bound.cluster == LEFT
    said = rita.call("GET", f"switches/{key}/")["loss"]["records"]

    cluster.start(print)
    unreplicated = rebuild(rita, key)
    assert unreplicated >= said, "what was seen of them before cannot be more than there are"
    demo.stop_clients("produce")

    def lost() -> int:
        return sum(verdict.lost for verdict in billing.judge())

    eventually(
        lambda: lost() <= unreplicated, "the end of reading all but these", CATCH_UP_SECONDS, LOOK_SECONDS
    )
    print(
        f"{lost()} records were lost; hadash said at least {said}, and found {unreplicated} that only {LOST} had."
    )
