"""Recovery from a target that is lost after forward and before the mirror was turned round.

Its clients are bound to it, and every record up to the drained point is on the source: a forced switch takes them
back. But a forced switch moves away from the cluster that the mirror copies from, and the mirror cannot be turned
without its new source. So the mirror is turned on record only, copies nothing, and waits for the rebuilding that
follows every forced switch.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash import confirmations
from hadash.accounts.roles import FORCE, may
from hadash.audit import reasons
from hadash.audit.models import record
from hadash.kafka.errors import KafkaError
from hadash.mirroring.models import Mirror
from hadash.mirroring.services import cluster_client
from hadash.mirroring.turning import turn_on_record
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching.execution.lost_source import is_lost
from hadash.switching.machines.switches import Event, Stage, Status
from hadash.switching.models.switches import Switch, log_event
from hadash.switching.refusals import EnginesAway
from hadash.switching.signals import switch_ended
from hadash.switching.stages.context import StageContext


def may_abandon(user: User, switch: Switch) -> bool:
    """Whether ``user`` can abandon the switch's target now, as pages offer it."""
    stands = switch.current is Status.NEEDS_ATTENTION and switch.stage == Stage.REVERSE
    return stands and may(user, FORCE, switch.pair)


def abandon(user: User, switch: Switch, confirmed: str, reason: str, address: str | None = None) -> Switch:
    """Close a switch whose target is lost before its mirror was turned, so that a forced switch can take its clients
    back.

    Nothing is written to a cluster, to Connect or to ZooKeeper: the clients stay where they are.

    :param confirmed: the target's name, typed again.
    :raises PermissionDenied: the user may not force switches.
    :raises Refused: the target answers, the switch is not in that stage, or the confirmation or the reason is missing.
    """
    if not may(user, FORCE, switch.pair):
        raise PermissionDenied("You may not decide about a lost cluster.")
    source, target = switch.source.name, switch.target.name
    confirmations.require(
        confirmed, target, say("Type %(cluster)s to confirm that it is lost.", cluster=target)
    )
    reason = reasons.given(reason, say("Say why you close it: others read it later."))
    plan = switch.the_plan()
    try:
        lost = is_lost(cluster_client(switch.target), plan)
    except KafkaError as error:
        raise EnginesAway(say("%(error)s", error=error)) from None
    if not lost:
        raise Refused(
            say(
                "%(cluster)s answers, and every partition that moves has a leader there. Let the stage run again.",
                cluster=target,
            )
        )
    with transaction.atomic():
        held = switch.locked_and_moved(Event.CLOSE)
        if held.stage != Stage.REVERSE:
            raise Refused(say("Only a switch whose mirror could not be turned round can be ended that way."))
        ends = StageContext(held.facts).drained
        if ends is None:
            raise Refused(say("The drained point of this switch is not known."))
        mirrors = Mirror.objects.select_for_update(of=("self",)).filter(
            pair=held.pair, name__in=plan.mirrors, source=held.source
        )
        for mirror in mirrors.select_related("pair__first", "pair__second"):
            turn_on_record(mirror, {p: point for p, point in ends.items() if p.topic in mirror.topics})
        outcome = say(
            "%(user)s abandoned %(target)s: %(reason)s Ask for a forced switch from %(target)s to %(source)s.",
            user=user.get_username(),
            target=target,
            source=source,
            reason=_sentence(reason),
        )
        held.ended_at = timezone.now()
        held.conclude(outcome)
        held.save()
        log_event(held, outcome, held.stage, user)
        switch_ended.send(Switch, switch=held)
        record(user, "abandon", held.subject, address, stage=held.stage, reason=reason)
    return held


def _sentence(reason: str) -> str:
    """``reason`` with a full stop, in whatever language.

    >>> _sentence("The site burns"), _sentence("机房断电。")
    ('The site burns.', '机房断电。')
    """
    return reason if reason[-1] in ".!?。！？" else f"{reason}."
