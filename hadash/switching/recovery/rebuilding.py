"""Rebuild the standby side of a healthy mirror for an administrator: check what blocks it, and write the audit log.

(After a forced switch the lost side is rebuilt with its unreplicated records: see ``unreplicated.py``.)
"""

from __future__ import annotations

from django.db import transaction

from hadash import confirmations
from hadash.audit.models import record
from hadash.mirroring import rebuild
from hadash.mirroring.models import Mirror
from hadash.radius.fleet import bound_on, used_on
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching.models.unreplicated import Unreplicated
from hadash.switching.planning import overlaps
from hadash.switching.planning.proposals import fleet_of
from hadash.switching.refusals import Busy


def rebuild_standby(mirror: Mirror, confirmed: str, by: str, discard_originals: bool = False) -> None:
    """Delete the mirror's Topics on its standby, create them again, and copy from the first record on. May be
    repeated after it was cut off.

    :param confirmed: the name of the standby's cluster, typed again. :param by: who asked, for the audit log.
    :param discard_originals: whether to do it even if the standby holds records that may be no copies.
    :raises Refused: it is not confirmed, or clients are bound to the standby. :raises Busy: an open switch, a batch
        or a lost side that is not rebuilt holds the mirror. :raises EnginesAway: the clients' bindings are not
        known.
    :raises NotCopies: the standby holds records that may be no copies; the mirror is unchanged.
    :raises MirrorError, KafkaError, ConnectError: it could not be done; the mirror stays marked, and nobody uses
        it.
    """
    standby = mirror.target
    unconfirmed = say(
        "Mirror %(mirror)s has its standby on %(cluster)s. Confirm with that name that its Topics there are deleted.",
        mirror=mirror.name,
        cluster=standby.name,
    )
    confirmations.require(confirmed, standby.name, unconfirmed)
    _refuse_clients(mirror)
    if not discard_originals:
        rebuild.refuse_originals(mirror)
    with transaction.atomic():
        overlaps.lock()  # a switch that is requested from now on finds the mirror marked
        _refuse_held(mirror)
        rebuild.mark(mirror)
        if mirror.target != standby:
            raise Refused(
                say(
                    "Mirror %(mirror)s was turned round meanwhile: its standby is on %(cluster)s now. Confirm again.",
                    mirror=mirror.name,
                    cluster=mirror.target.name,
                )
            )
        _refuse_clients(mirror)
        details = {"standby": standby.name, "topics": mirror.topics, "discard_originals": discard_originals}
        record(None, "rebuild standby", _subject(mirror), by=by, **details)
    rebuild.rebuild_standby(mirror, discard_originals=discard_originals)
    record(None, "standby rebuilt", _subject(mirror), by=by, **details)


def _subject(mirror: Mirror) -> str:
    return f"mirror {mirror.name} of pair {mirror.pair.name}"


def _refuse_held(mirror: Mirror) -> None:
    holder = next((h for h in overlaps.holders(mirror.pair.name) if mirror.name in h.plan.mirrors), None)
    if holder is not None:
        raise Busy(holder.sentence)
    left_over = Unreplicated.objects.exclude(status=Unreplicated.Status.REBUILT).filter(
        switch__pair=mirror.pair
    )
    for missing in left_over.select_related("switch__source"):
        if mirror.name in set(missing.switch.the_plan().mirrors) - set(missing.rebuilt):
            raise Busy(
                say(
                    "%(cluster)s was lost in switch %(key)s and is not rebuilt yet. Rebuild it there.",
                    cluster=missing.switch.source.name,
                    key=missing.switch.key,
                )
            )


def _refuse_clients(mirror: Mirror) -> None:
    """Refuse if clients use the standby: a client that reads it would lose its position and its unread records."""
    fleet = fleet_of(mirror.pair, mirror.target)
    name = mirror.target.name
    bound = [*bound_on(fleet, name, mirror.topics, ()), *used_on(fleet, name, mirror.topics, ())]
    if bound:
        raise Refused(
            say(
                "%(who)s is bound to %(cluster)s and uses Topics of this mirror there. Move it to %(source)s first.",
                who=bound,
                cluster=name,
                source=mirror.source.name,
            )
        )
