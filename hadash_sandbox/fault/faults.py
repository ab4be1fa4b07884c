"""The faults: what each does to the running fleet, and how it is undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hadash_sandbox import kafka_admin
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.fault.fleet import START_SECONDS, TOPIC
from hadash_sandbox.fault.points import AT_WRITES, WITHIN, Point
from hadash_sandbox.fault.scene import Scene
from hadash_sandbox.processes import Process
from hadash_sandbox.service import Service

Action = Callable[[Scene], None]

#: Seconds that a Gateway stays cut off while the switch remains in its stage: longer than a ZooKeeper session (6 s) and
#: than a block waits for a Gateway (10 s), shorter than the timeout of a parked client (30 s).
CUT_SECONDS = 20.0

#: Seconds by which a clock jumps, forward or back: more than any lease or limit.
JUMP_SECONDS = 3600.0

#: Seconds that a held worker has to end its run after it is resumed: it may have to connect to servers again first.
LEAVE_SECONDS = 90.0


#: Seconds that a healthy cluster may take to tell the leader of a partition.
ASK_SECONDS = 15.0


def _nothing(scene: Scene) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault.

    ``strike`` causes it while the worker is held at the stage's point. Then the worker continues, ``mend`` repairs
    what was broken, and ``tidy`` is called after the switch has ended.
    """

    name: str
    about: str
    strike: Action
    mend: Action = _nothing
    tidy: Action = _nothing
    points: Mapping[str, Point] = field(default_factory=lambda: WITHIN)
    #: Seconds by which the worker's clock jumps when it continues.
    clock: float = 0.0


# -- what is killed ----------------------------------------------------------------------------------------------


def _kill(process: Process) -> None:
    """Kill a process.

    :raises SandboxError: it does not run, so the cell would show the result of no fault at all.
    """
    if not process.alive:
        raise SandboxError(f"{process.name} was to be killed, and did not run: nothing was hit.")
    process.kill()


def _killed_process(name: str) -> Fault:
    """Kill one of hadash's own processes, which is started again at once."""

    def kill(scene: Scene) -> None:
        _kill(scene.fleet.process(name))

    def start(scene: Scene) -> None:
        process = scene.fleet.process(name)
        process.start()  # without the supervisor's backoff, which grows from cell to cell
        process.wait_ready(START_SECONDS)

    return Fault(name, f"SIGKILL of the {name}", kill, start)


def _killed_service(name: str, about: str, of: Callable[[Scene], Service]) -> Fault:
    """Kill a server with all its processes; it is started again on the data that it left."""

    def kill(scene: Scene) -> None:
        for process in of(scene).processes:
            _kill(process)

    return Fault(name, f"SIGKILL of {about}", kill, lambda scene: of(scene).start(scene.log))


def _killed_broker(side: str, of: Callable[[Scene], str]) -> Fault:
    """Kill the broker that leads a partition of the Topic that moves.

    :param side: source or target; ``of`` returns that cluster's name.
    """

    def kill(scene: Scene) -> None:
        cluster = scene.fleet.stack.kafka[of(scene)]
        found = kafka_admin.connect(cluster.client_config()).list_topics(TOPIC, timeout=ASK_SECONDS)
        _kill(cluster.brokers[found.topics[TOPIC].partitions[0].leader])

    def start(scene: Scene) -> None:
        scene.fleet.stack.kafka[of(scene)].start(scene.log)

    return Fault(f"{side}-broker", f"SIGKILL of a leading broker of the {side}", kill, start)


# -- what is paused, cut off, or wrong ---------------------------------------------------------------------------


def _cut_off(scene: Scene) -> None:
    assert scene.fleet.gate is not None
    if not scene.fleet.gate.cut():
        raise SandboxError("The Gateway had no connection to ZooKeeper that could be cut: nothing was hit.")


def _connect_again(scene: Scene) -> None:
    assert scene.fleet.gate is not None
    scene.await_stage_left(CUT_SECONDS)
    scene.fleet.gate.open()


def _pause_worker(scene: Scene) -> None:
    scene.fleet.process("worker").pause()
    scene.second = scene.fleet.second_worker()


def _bring_worker_back(scene: Scene) -> None:
    """Resume the paused worker after another one has ended the switch: it is already past its last fence check."""
    scene.await_end()
    before, committed = scene.world(), scene.committed()
    scene.fleet.process("worker").resume()
    scene.fleet.points.await_left(scene.name, LEAVE_SECONDS)
    scene.late_writes = late_writes(before, scene.world(), committed, scene.committed())


def late_writes(
    before: Mapping[str, str],
    after: Mapping[str, str],
    committed: Mapping[str, int],
    committed_after: Mapping[str, int],
) -> list[str]:
    """The changes between two looks in which no worker may change anything, as text.

    ``before`` and ``after`` are of :meth:`Scene.world`, ``committed`` and ``committed_after`` of
    :meth:`Scene.committed`. Consumers commit all the time, so offsets may grow, but not shrink.
    """
    found = [
        f"{key}: {before.get(key)} → {after.get(key)}"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]
    return found + [
        f"{key}: {offset} → {committed_after.get(key)}"
        for key, offset in committed.items()
        if committed_after.get(key, -1) < offset
    ]


def _end_second(scene: Scene) -> None:
    if scene.second is not None:
        scene.second.stop()


def _new_worker(scene: Scene) -> None:
    """Replace the worker by a new process, whose clock is right."""
    worker: Process = scene.fleet.process("worker")
    worker.kill()
    worker.start()


def _jumped(name: str, seconds: float) -> Fault:
    about = f"The worker's clock jumps by {seconds / 3600:+.0f} h"
    return Fault(name, about, _nothing, tidy=_new_worker, clock=seconds)


FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        _killed_process("worker"),
        _killed_process("beat"),
        _killed_process("gateway"),
        _killed_process("web"),
        _killed_broker("source", lambda scene: scene.source),
        _killed_broker("target", lambda scene: scene.target),
        _killed_service("zookeeper", "ZooKeeper", lambda s: s.fleet.stack.zookeeper),
        _killed_service("postgres", "PostgreSQL", lambda s: s.fleet.stack.postgres),
        _killed_service("redis", "Redis", lambda s: s.fleet.stack.redis),
        Fault("gateway-cut-off", "The Gateway is cut off from ZooKeeper", _cut_off, _connect_again),
        Fault(
            "old-token",
            "The worker is paused (SIGSTOP), another one ends the switch, the first one comes back",
            _pause_worker,
            _bring_worker_back,
            _end_second,
            points=AT_WRITES,
        ),
        _jumped("clock-forward", JUMP_SECONDS),
        _jumped("clock-back", -JUMP_SECONDS),
        # Last, because MirrorMaker may write records twice when it dies, which makes its mirror unusable.
        _killed_service("connect", "Kafka Connect", lambda s: s.fleet.stack.connect),
    )
}
