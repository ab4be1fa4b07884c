"""Consumer pools that move with their Topics: stopped before the block, started after forward. Pure; see ``ways.py``.

Their members are no clients of a Gateway: the coordinator has them commit and stop, changes where they read, and has
them start. Every function does nothing for a plan without pools.
"""

from __future__ import annotations

from hadash.sentences import Sentence, say
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import PoolFound
from hadash.switching.stages.command import Step, ask
from hadash.switching.stages.run import Limits, StageFailed
from hadash.switching.stages.waiting import NotYet, wait_until


def check_pools(plan: Plan) -> Step[None]:
    """Check that every pool can be moved now. :raises StageFailed: one cannot."""
    for each in (yield from _found(plan)):
        if each.fault:
            raise StageFailed(each.fault)
        if each.cluster != plan.source:
            raise StageFailed(
                say(
                    "The pool %(pool)s does not read Topic %(topic)s on %(cluster)s any more: the plan is out of "
                    "date. Request it again.",
                    pool=each.pool,
                    topic=each.topic,
                    cluster=plan.source,
                )
            )
        if not each.is_stable:
            raise StageFailed(
                say(
                    "The members of pool %(pool)s are changing who reads Topic %(topic)s. Ask again when it is Stable.",
                    pool=each.pool,
                    topic=each.topic,
                )
            )


def close_pools(plan: Plan, limits: Limits) -> Step[None]:
    """Have every member commit and stop. :raises StageFailed: one does not, in time."""
    if not plan.pools:
        return
    began = yield from ask(do.Pause(0))
    refusal = yield from ask(do.ClosePools())
    if refusal is not None:
        raise StageFailed(refusal)

    def look() -> Step[NotYet | None]:
        late = [each for each in (yield from ask(do.ReadPools())) if not each.is_closed]
        if not late:
            return None
        return NotYet(
            say(
                "The members of pool %(pool)s did not stop reading Topic %(topic)s within %(seconds)s s. %(fault)s",
                pool=late[0].pool,
                topic=late[0].topic,
                seconds=limits.quiesce,
                fault=late[0].fault,
            ),
            say("Waiting for the members of consumer pools to stop: %(pools)s.", pools=_names(late)),
        )

    yield from wait_until(look, limits.quiesce, limits.fast_poll * 3, began=began)
    pools = [str(each) for each in plan.pools]
    yield from ask(
        do.Say(say("The members of consumer pools have committed and stopped: %(pools)s.", pools=pools))
    )


def open_pools(plan: Plan, cluster: str) -> Step[None]:
    """Let every member read on ``cluster``, as soon as it can."""
    if plan.pools:
        yield from ask(do.OpenPools(cluster))


def pools_late(plan: Plan) -> Step[Sentence | None]:
    """Which pools do not read on the target yet; ``None`` if all do."""
    late = [
        each for each in (yield from _found(plan)) if not (each.is_stable and each.cluster == plan.target)
    ]
    if not late:
        return None
    return say(
        "Waiting for the members of consumer pools to read on %(cluster)s: %(pools)s.",
        cluster=plan.target,
        pools=_names(late),
    )


def _found(plan: Plan) -> Step[list[PoolFound]]:
    return (yield from ask(do.ReadPools())) if plan.pools else []


def _names(found: list[PoolFound]) -> list[str]:
    return [f"{each.pool} › {each.topic}" for each in found]
