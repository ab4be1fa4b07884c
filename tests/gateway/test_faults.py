"""What breaks around a Gateway: the broker behind it, ZooKeeper, the Gateway itself. Nobody waits for ever."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from kazoo.client import KazooClient
from support import zookeeper as zk
from support.gateway import ControlPlane, GatewayProcess, Move
from support.kafka import App, Clusters
from support.proxy import Proxy
from support.raw import RawClient
from support.waiting import eventually
from support.zookeeper import SESSION_SECONDS

from hadash.bindings.membership import members
from hadash.bindings.model import BindingState
from hadash.gateway.codec import ErrorCode
from hadash.gateway.kinds import Kind
from hadash.identity.identity import Identity

pytestmark = pytest.mark.stack

#: Short, so that a test need not wait long for a request that waits too long, or for a session that ends.
PARK_SECONDS = 2
SHORT_SESSION = 2


@pytest.fixture(scope="module")
def broker(kafka: Clusters) -> Iterator[Proxy]:
    """The way to east's broker. (Only raw clients come here: METADATA would tell the broker's own address.)"""
    with Proxy(kafka.brokers("east")[0]) as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def the_broker_goes_on(broker: Proxy) -> Iterator[None]:
    """Whatever became of a test: the next one finds a broker that answers."""
    yield
    broker.release()


@pytest.fixture(scope="module")
def ensemble(zookeeper_hosts: str) -> Iterator[Proxy]:
    """The Gateway's way to ZooKeeper."""
    with Proxy(zk.address_of(zookeeper_hosts)) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def new_control(
    zookeeper_root: KazooClient, zookeeper_hosts: str, kafka: Clusters, broker: Proxy
) -> Iterator[Callable[[], ControlPlane]]:
    """Control planes at chroots of their own, for which east's broker is the proxy."""
    with ExitStack() as stack:

        def make() -> ControlPlane:
            chroot = stack.enter_context(zk.temporary_chroot(zookeeper_root))
            client = zk.patient_connect(zookeeper_hosts, chroot)
            stack.callback(client.close)
            stack.callback(client.stop)
            made = ControlPlane(client, kafka, chroot)
            made.publish(east={0: ("127.0.0.1", broker.port)})
            return made

        yield make


@pytest.fixture(scope="module")
def control(new_control: Callable[[], ControlPlane]) -> ControlPlane:
    """The control plane of the Gateway that most tests here share."""
    return new_control()


@pytest.fixture(scope="module")
def new_gateway(ensemble: Proxy, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., GatewayProcess]:
    settings = {
        "HADASH_GATEWAY_PARK_SECONDS": PARK_SECONDS,
        "HADASH_GATEWAY_SLOW_BLOCK_SECONDS": 0.2,
    }

    def make(
        control: ControlPlane,
        name: str = "gateway-1",
        session: float = SESSION_SECONDS,
        linger: float = 20,
    ) -> GatewayProcess:
        own = {"HADASH_ZOOKEEPER_SESSION_TIMEOUT": session, "HADASH_GATEWAY_LINGER_SECONDS": linger}
        folder = tmp_path_factory.mktemp("faults")
        return GatewayProcess(control.chroot, ensemble.address, folder, name, **settings, **own)

    return make


@pytest.fixture(scope="module")
def gateway(control: ControlPlane, new_gateway: Callable[..., GatewayProcess]) -> Iterator[GatewayProcess]:
    with new_gateway(control) as running:
        yield running


@pytest.fixture
def move(control: ControlPlane, app: App) -> Move:
    return Move(control, Identity(app.appid), "east")


def signed_in(gateway: GatewayProcess, app: App, client_id: str = "raw") -> RawClient:
    client = RawClient(gateway.address, client_id)
    return client.sign_in(app.appid, app.password, "SCRAM-SHA-256")


def is_known(gateway: GatewayProcess, app: App, state: str) -> bool:
    """Whether the Gateway has taken over a binding's state, in effect or not."""
    return [client["state"] for client in gateway.clients(app.appid)] == [state]


class TestInEffect:
    """A block is in effect when all that was sent to the cluster has been answered to its clients."""

    def test_not_before_what_is_in_flight_is_answered(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, move: Move, broker: Proxy
    ) -> None:
        topic = app.topic()
        with signed_in(gateway, app, "slow") as client:
            broker.hold()
            client.send_produce(topic, b"one")
            control.clusters.wait_for_end("east", topic, 1)  # written, but the answer is still on its way
            epoch = move.write(BindingState.BLOCK)
            assert gateway.logged(rf"epoch {epoch} waits for {app.appid} › slow \(1 mutations")
            assert is_known(gateway, app, "block")
            assert control.applied() < epoch
            broker.release()
            control.in_effect(epoch)
            assert client.produce_error() is ErrorCode.none

    def test_a_later_change_of_others_does_not_overtake_it(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, move: Move, broker: Proxy
    ) -> None:
        topic = app.topic()
        with signed_in(gateway, app) as client:
            broker.hold()
            client.send_produce(topic, b"one")
            control.clusters.wait_for_end("east", topic, 1)
            epoch = move.write(BindingState.BLOCK)
            eventually(lambda: is_known(gateway, app, "block"), "the block")  # else both would be one update
            control.store.change([control.edit(Identity("nobody"), "west")])
            gateway.logged(rf"epoch {epoch + 1} is in effect")
            assert control.applied() < epoch
            broker.release()
            control.in_effect(epoch + 1)

    def test_a_broker_that_dies_is_not_waited_for(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, move: Move, broker: Proxy
    ) -> None:
        topic = app.topic()
        with signed_in(gateway, app) as client:
            broker.hold()
            client.send_produce(topic, b"one")
            control.clusters.wait_for_end("east", topic, 1)
            epoch = move.write(BindingState.BLOCK)
            gateway.logged(rf"epoch {epoch} waits for")
            broker.reset()
            broker.release()
            control.in_effect(epoch)
            assert client.receive() is None


class TestDeadBroker:
    """The client's connection ends with the broker's, whatever the Gateway is waiting for at that moment."""

    def test_while_it_is_idle(self, gateway: GatewayProcess, app: App, broker: Proxy) -> None:
        with signed_in(gateway, app) as client:
            broker.reset()
            assert client.receive() is None
        eventually(lambda: gateway.clients(app.appid) == [], "the end of the connection")

    def test_while_more_is_in_flight_than_may_be(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, broker: Proxy
    ) -> None:
        topic = app.topic()
        with signed_in(gateway, app) as client:
            broker.hold()
            for number in range(70):
                client.send_produce(topic, b"%d" % number)
            control.clusters.wait_for_end("east", topic, 64)
            broker.reset()
            broker.release()
            assert client.receive() is None
        eventually(lambda: gateway.clients(app.appid) == [], "the end of the connection", patience=4)

    def test_while_it_is_parked(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, move: Move, broker: Proxy
    ) -> None:
        topic = app.topic()
        move.block()
        with signed_in(gateway, app) as client:
            client.send_produce(topic, b"one")
            eventually(lambda: [c for c in gateway.clients(app.appid) if c["parked"]], "a parked client")
            broker.reset()
            assert client.receive() is None
        eventually(lambda: gateway.clients(app.appid) == [], "the end of the connection")
        assert control.clusters.end_offsets("east", topic) == {0: 0}

    def test_a_forward_goes_on_past_a_member_whose_broker_is_dead(
        self,
        new_control: Callable[[], ControlPlane],
        new_gateway: Callable[..., GatewayProcess],
        app: App,
        broker: Proxy,
    ) -> None:
        """The forced switch: the source is lost, and its clients are to be told all the same."""
        topic, group = app.topic(), app.group()
        control = new_control()  # of its own: a Gateway that gets stuck would fail every test after this one
        move = Move(control, Identity(app.appid), "east")
        with new_gateway(control) as gateway, signed_in(gateway, app) as member:
            move.to(BindingState.SETTLE)
            member.send_join(group)
            eventually(
                lambda: [m["state"] for m in gateway.members(app.appid)] == ["parked"], "a parked member"
            )
            move.place(topic, groups=(group,))
            broker.reset()
            assert member.receive() is None
            control.in_effect(move.write(BindingState.FORWARD, "west"), patience=5)

    def test_while_a_client_signs_in_it_is_told(self, gateway: GatewayProcess, broker: Proxy) -> None:
        before = gateway.refused("cluster")
        with RawClient(gateway.address) as client:
            client.call(Kind.SASL_HANDSHAKE, 1, mechanism="PLAIN")
            broker.hold()
            opened = broker.opened
            client.send(Kind.SASL_AUTHENTICATE, 1, auth_bytes=b"\0shop\0shop-secret")
            eventually(lambda: broker.opened > opened, "the Gateway's connection to the broker")
            broker.reset()
            broker.release()
            assert client.receive() is None
        assert gateway.refused("cluster") == before + 1


class TestLeaving:
    """A client that leaves may write the same again elsewhere: what it wrote here must have been worked off by then."""

    @pytest.mark.parametrize("acks", [-1, 0], ids=["acks=all", "acks=0"])
    def test_a_block_waits_for_what_it_wrote_before(
        self,
        gateway: GatewayProcess,
        control: ControlPlane,
        app: App,
        move: Move,
        broker: Proxy,
        acks: int,
    ) -> None:
        topic = app.topic()
        with signed_in(gateway, app, "leaves") as client:
            broker.hold()
            client.send_produce(topic, b"one", acks=acks)
        try:
            control.clusters.wait_for_end("east", topic, 1)
            epoch = move.write(BindingState.BLOCK)
            gateway.logged(f"epoch {epoch} waits for {app.appid} › leaves")
            assert control.applied() < epoch
        finally:
            broker.release()
        control.in_effect(epoch)
        eventually(lambda: gateway.clients(app.appid) == [], "the end of the connection")

    def test_but_not_for_ever(
        self,
        new_control: Callable[[], ControlPlane],
        new_gateway: Callable[..., GatewayProcess],
        app: App,
        broker: Proxy,
    ) -> None:
        topic, control = app.topic(), new_control()
        with new_gateway(control, linger=0.5) as gateway:
            with signed_in(gateway, app, "leaves") as client:
                broker.hold()
                client.send_produce(topic, b"one")
            try:
                control.in_effect(Move(control, Identity(app.appid), "east").write(BindingState.BLOCK))
                gateway.logged(f"{app.appid} › leaves .* has left; its writes are not answered in time")
            finally:
                broker.release()

    def test_a_client_that_leaves_a_silent_broker_with_more_in_flight_than_may_be(
        self,
        new_control: Callable[[], ControlPlane],
        new_gateway: Callable[..., GatewayProcess],
        app: App,
        broker: Proxy,
    ) -> None:
        """Nothing ends the connection to the broker; the block must not wait for it any longer than for others."""
        topic, control = app.topic(), new_control()
        with new_gateway(control, linger=0.5) as gateway:
            with signed_in(gateway, app, "leaves") as client:
                broker.hold()
                for number in range(80):  # max_in_flight is 64
                    client.send_produce(topic, b"%d" % number)
                control.clusters.wait_for_end("east", topic, 64)
            try:
                control.in_effect(Move(control, Identity(app.appid), "east").write(BindingState.BLOCK))
                eventually(lambda: gateway.clients(app.appid) == [], "the end of the connection")
            finally:
                broker.release()


class TestWaitingTooLong:
    """Parked for as long as a client can wait, then told to look again; nothing of it is written."""

    def test_a_request_is_answered_before_its_client_gives_up(
        self, gateway: GatewayProcess, control: ControlPlane, app: App, move: Move
    ) -> None:
        topic, group = app.topic(), app.group()
        move.block()
        with signed_in(gateway, app, "writes") as writes, signed_in(gateway, app, "joins") as joins:
            writes.send_produce(topic, b"one")
            joins.send_join(group)
            assert writes.produce_error() is ErrorCode.not_leader_or_follower
            assert joins.answer(Kind.JOIN_GROUP, 2).error_code is ErrorCode.not_coordinator
        assert control.clusters.end_offsets("east", topic) == {0: 0}

    def test_requests_that_wait_together_are_answered_together(
        self, gateway: GatewayProcess, app: App, move: Move
    ) -> None:
        """Their client counts from when it sent them: the fifth must not wait five times as long as the first."""
        topic = app.topic()
        move.block()
        with signed_in(gateway, app, "pipelines") as pipelines, signed_in(gateway, app, "later") as later:
            for number in range(5):
                pipelines.send_produce(topic, b"%d" % number)
            assert pipelines.produce_error() is ErrorCode.not_leader_or_follower
            later.send_produce(topic, b"later")
            assert later.produce_error() is ErrorCode.not_leader_or_follower
            # The later one has waited its time in full; those sent before it must have been answered by now.
            assert pipelines.received() == 4

    def test_an_idempotent_batch_that_waited_too_long_is_only_told_to_look_again(
        self, gateway: GatewayProcess, app: App, move: Move
    ) -> None:
        """It comes again with the same sequence, to whichever cluster: nothing has been written of it."""
        topic = app.topic()
        with signed_in(gateway, app) as client:
            client.send_produce(topic, b"one", producer_id=4_000_000, epoch=0, sequence=0)
            assert client.produce_error() is ErrorCode.none
            move.block()
            for _ in range(2):
                client.send_produce(topic, b"two", producer_id=4_000_000, epoch=0, sequence=1)
                assert client.produce_error() is ErrorCode.not_leader_or_follower


class TestZooKeeperAway:
    def test_traffic_goes_on_and_what_changed_is_taken_over_afterwards(
        self,
        new_control: Callable[[], ControlPlane],
        new_gateway: Callable[..., GatewayProcess],
        app: App,
        ensemble: Proxy,
    ) -> None:
        topic = app.topic()
        control = new_control()
        connected = "hadash_gateway_zookeeper_connected"
        with new_gateway(control, session=SHORT_SESSION) as gateway, signed_in(gateway, app) as client:
            assert gateway.metric(connected) == 1
            ensemble.refuse()
            try:
                eventually(lambda: not is_live(control), "the end of the Gateway's session")
                assert gateway.metric(connected) == 0
                epoch = control.store.change([control.edit(Identity(app.appid), "west")])
                client.send_produce(topic, b"one")
                assert client.produce_error() is ErrorCode.none
                with signed_in(gateway, app, "newcomer") as newcomer:
                    newcomer.send_produce(topic, b"two")
                    assert newcomer.produce_error() is ErrorCode.none
                assert control.applied() < epoch
            finally:
                ensemble.accept()
            control.in_effect(epoch)
            eventually(lambda: is_live(control), "the Gateway's new session")
            assert gateway.metric(connected) == 1
            client.send_produce(topic, b"late")
            assert client.produce_error() is ErrorCode.not_leader_or_follower
            assert control.clusters.values("east", topic) == [b"one", b"two"]


def is_live(control: ControlPlane) -> bool:
    return [m.live for m in members(control.client)] == [True]


class TestStopping:
    """A Gateway that is stopped on purpose is no member any more; one that was killed is waited for."""

    def test_it_stays_a_member_until_what_is_under_way_has_been_answered(
        self,
        new_control: Callable[[], ControlPlane],
        new_gateway: Callable[..., GatewayProcess],
        app: App,
        broker: Proxy,
    ) -> None:
        """A client whose write is cut off writes it again through another Gateway, perhaps to the other cluster."""
        topic, control = app.topic(), new_control()
        with new_gateway(control) as gateway, signed_in(gateway, app) as client:
            broker.hold()
            client.send_produce(topic, b"one")
            control.clusters.wait_for_end("east", topic, 1)
            stopping = threading.Thread(target=gateway.stop)
            stopping.start()
            try:
                eventually(lambda: refuses(gateway), "the end of listening")
                assert ids(control) == ["gateway-1"]
            finally:
                broker.release()
            assert client.produce_error() is ErrorCode.none
            stopping.join()
            assert ids(control) == []

    @pytest.fixture
    def other(
        self, gateway: GatewayProcess, control: ControlPlane, new_gateway: Callable[..., GatewayProcess]
    ) -> Iterator[GatewayProcess]:
        with new_gateway(control, "gateway-2", session=SHORT_SESSION) as running:
            eventually(lambda: ids(control) == ["gateway-1", "gateway-2"], "both members")
            yield running

    def test_stopped(self, control: ControlPlane, other: GatewayProcess) -> None:
        assert other.stop() == 0
        assert ids(control) == ["gateway-1"]

    def test_killed_and_started_again(
        self, control: ControlPlane, other: GatewayProcess, new_gateway: Callable[..., GatewayProcess]
    ) -> None:
        other.kill()
        eventually(
            lambda: [m.live for m in members(control.client)] == [True, False], "the end of its session"
        )
        with new_gateway(control, "gateway-2") as again:
            eventually(lambda: [m.live for m in members(control.client)] == [True, True], "its new session")
            assert again.stop() == 0
        assert ids(control) == ["gateway-1"]


def refuses(gateway: GatewayProcess) -> bool:
    try:
        socket.create_connection(gateway.address, timeout=5).close()
    except OSError:
        return True
    return False


def ids(control: ControlPlane) -> list[str]:
    return [m.id for m in members(control.client)]
