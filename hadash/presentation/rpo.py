"""How many records a switch has lost, and how that is known: its RPO, as its page, its record and mails say it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.presentation import live
from hadash.presentation.localized import seconds
from hadash.switching.machines.switches import Stage
from hadash.switching.models.switches import StageRecord, Switch
from hadash.switching.models.unreplicated import Unreplicated
from hadash.switching.recovery import unreplicated


@dataclass(frozen=True, slots=True)
class Lost:
    """The records that a switch has lost.

    :param records: how many; ``None`` when nobody knows.
    :param because: how that is known, in the active language.
    :param is_least: there may be more than that.
    """

    records: int | None
    because: str
    is_least: bool = False

    @property
    def said(self) -> str:
        """The number with its unit, or that it is not known, in the active language."""
        if self.records is None:
            return _("not known")
        said = ngettext("%(n)s record", "%(n)s records", self.records) % {"n": f"{self.records:,}"}
        return _("at least %(records)s") % {"records": said} if self.is_least else said


def lost_by(switch: Switch, records: Sequence[StageRecord], missing: Unreplicated | None) -> Lost:
    """Return what an ended switch has lost, in the active language.

    Nothing only where that is certain: both sides were proved equal, or no client was sent to the target. A forward
    that was begun and whose outcome is not known may have sent some.

    :param missing: what the source of a forced switch held beyond the mirror.
    """
    if switch.the_kind.spec.readers_only:
        return Lost(0, _("writes stayed where they were"))
    if live.proved_equal(list(records)):
        return Lost(0, _("both sides proved equal"))
    if not _may_have_forwarded(records):
        return Lost(0, _("nothing was forwarded"))
    assessed = _assessed(unreplicated.loss_of(switch))
    return _counted(missing, assessed) if missing is not None and missing.is_counted else assessed


def _counted(missing: Unreplicated, assessed: Lost) -> Lost:
    """Return what was counted when the source was back. It is the least where the source has lost Topics for good, or
    holds less than was seen before.
    """
    count = missing.records + missing.deleted
    seen = assessed.records or 0
    if missing.gone:
        return Lost(
            max(count, seen), _("counted when the source was back, without Topics that it has lost"), True
        )
    if seen > count:
        return Lost(seen, _("the source came back with less than was seen before"), True)
    perhaps = unreplicated.perhaps_mirrored(missing)
    if perhaps:
        because = _("counted when the source was back; up to %(n)s of them may have been mirrored")
        return Lost(count, because % {"n": f"{perhaps:,}"})
    return Lost(count, _("counted when the source was back"))


def _may_have_forwarded(records: Sequence[StageRecord]) -> bool:
    """Whether clients may be on the target: a forward was begun, and no return has been completed after it."""
    forwarded = False
    for record in records:
        if record.stage == Stage.FORWARD:
            forwarded = True
        elif record.stage == Stage.RETURN and record.result == StageRecord.Result.DONE:
            forwarded = False
    return forwarded


def _assessed(loss: dict[str, Any] | None) -> Lost:
    """:param loss: as :func:`hadash.switching.recovery.unreplicated.loss_of` returns it."""
    if loss is None or loss["seen"] is None:
        # (A source that was never seen may have held anything.)
        return Lost(None, _("not proved"))
    seen = _("as the source was seen %(time)s before") % {"time": seconds(loss["seen"])}
    return Lost(loss["records"], seen, is_least=True)
