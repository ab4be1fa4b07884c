"""What always holds in the simulated world, whatever a stage does and whatever fails meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hadash.bindings.model import BindingState
from hadash.kafka.values import Partition
from hadash.switching.machines.switches import Kind

from .parts import Broken

if TYPE_CHECKING:
    from .world import World


def check(world: World) -> None:
    """Never may both clusters accept the writes of one scope, never may a mirror copy a record round."""
    if not world.tampered and (twice := repeated(world)):
        raise Broken(f"Records {twice} are in one partition twice.")
    tables = [gateway.table for gateway in world.gateways.values() if not gateway.excluded]
    for instance in {identity.instance_id for identity in world.plan.identities}:
        found = [world.resolve(table, instance) for table in tables]
        accepting = {cluster for cluster, state in found if state is not BindingState.BLOCK}
        if len(accepting) > 1:
            raise Broken(f"{instance or 'The AppID'} may write to {sorted(accepting)} at once.")


def check_forward(world: World) -> None:
    """Before the clients are sent over: blocked, drained, nothing missing, every group at the same record."""
    source, target = world.plan.source, world.plan.target
    if all(world.resolve(world.table, i.instance_id)[0] == target for i in world.plan.identities):
        return  # it has been sent over by an earlier attempt
    for identity in world.plan.identities:
        for gateway in world.gateways.values():
            bound = world.resolve(gateway.table, identity.instance_id)
            if not gateway.excluded and bound != (source, BindingState.BLOCK):
                raise Broken(f"{gateway.id} still lets {identity} through to {bound}.")
    if world.pools.topics and world.pools.state != "closed":
        raise Broken(f"The members of pools may still read: they are {world.pools.state}.")
    if world.drained is None:
        raise Broken("The drained point was not recorded.")
    if world.plan.groups and not world.read_back:
        raise Broken("The group offsets were not read back.")
    split = world.plan.kind is Kind.READ_SPLIT
    if world.placement is None or not (split or world.writable(target)):
        raise Broken("The target is not ready for the clients.")
    for partition, log in world.logs[source].items():
        lost = (set(log.records) & world.acknowledged) - set(world.logs[target][partition].records)
        if lost and not (split or world.tampered):
            raise Broken(f"{partition} lacks {len(lost)} acknowledged records on {target}.")
    for partition in world.group.partitions if world.plan.groups else ():
        if partition not in world.group.committed[source] and not world.group.on(source):
            continue  # nobody reads it: its next reader begins where it says
        there, here = (
            _following(world, c, partition, _stands(world, c, partition)) for c in (target, source)
        )
        if there != here and not world.tampered:
            raise Broken(f"The group would go on at {there} instead of {here} on {partition}.")


def _stands(world: World, cluster: str, partition: Partition) -> int:
    """Where the group goes on: at its commit, or where the member began that has committed nothing."""
    committed = world.group.committed[cluster].get(partition)
    if committed is not None:
        return committed
    began = [o for (_, at, p), o in world.group.fetched.items() if (at, p) == (cluster, partition)]
    return min(began, default=world.logs[cluster][partition].end)


def _following(world: World, cluster: str, partition: Partition, offset: int) -> int | None:
    """The record at an offset, also one that the mirror has not brought yet."""
    log = world.logs[cluster][partition]
    if offset < log.end or cluster != world.mirror.target:
        return log.at(offset)
    origin = world.logs[world.mirror.source][partition]
    return origin.at(world.mirror.position[partition] + offset - log.end)


def repeated(world: World) -> list[int]:
    """Records that are in a partition twice."""
    return [record for logs in world.logs.values() for log in logs.values() for record in log.repeated]
