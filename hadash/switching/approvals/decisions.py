"""What people do with a requested switch: approve, decline, cancel, comment, review."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash.accounts.roles import may_steer
from hadash.audit import reasons
from hadash.audit.models import record
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.approvals.four_eyes import used_by_another
from hadash.switching.approvals.workflow import Start, WindowedWorkflow
from hadash.switching.machines.switches import FIRST, Event, Status
from hadash.switching.models.switches import Switch, log_event
from hadash.switching.planning.proposals import plan_for
from hadash.switching.refusals import PlanChanged


class SwitchWorkflow(WindowedWorkflow[Switch]):
    """The workflow of switches."""

    MODEL = Switch
    EVENT = Event

    def own_request(self) -> PermissionDenied:
        return PermissionDenied("You requested this switch: somebody else has to decide on it.")

    def changed_since_seen(self) -> Sentence:
        return say("The plan has changed since you saw it. Look at it again.")

    def look_again(self, row: Switch) -> None:
        current = plan_for(row.pair, row.scope, row.target, row.the_kind)
        if current.digest != row.plan_digest:
            raise PlanChanged(
                say(
                    "What would move has changed since the request (now: %(topics)s). Decline it and request it again.",
                    topics=current.topics,
                )
            )

    def left_behind(self, held: Switch) -> Sentence:
        if held.started_at is None:
            return super().left_behind(held)
        # It has paused after its checks: a precheck copies what is missing on the target.
        return say("No client was moved; ACLs and quotas that its precheck copied stay.")

    def noted(self, held: Switch) -> dict[str, Any]:
        return {"plan_digest": held.plan_digest, "retire_after_days": held.retire_after_days}

    def waits_for_blackouts(self, held: Switch) -> bool:
        return held.the_kind.spec.waits_for_blackouts

    def run(self, held: Switch, start: Start[Switch]) -> None:
        held.move(Event.RUN)
        held.stage, held.started_at = FIRST.value, timezone.now()
        held.save()
        transaction.on_commit(lambda: start(held))

    def drop_paused(self) -> int:
        """Expire the paused switches that nobody resumed in time, and return how many."""
        before = timezone.now() - timedelta(seconds=settings.SWITCH_RESUME_SECONDS)
        late = Switch.objects.filter(status=Status.PAUSED.value, paused_at__lt=before)
        return sum(
            self.expire(
                switch,
                say("Nobody resumed it in time. %(left)s", left=self.left_behind(switch)),
                Status.PAUSED.value,
            )
            for switch in late
        )


SWITCHES = SwitchWorkflow()
approve, decline, cancel, run = SWITCHES.approve, SWITCHES.decline, SWITCHES.cancel, SWITCHES.run


def comment(user: User, switch: Switch, text: str, address: str | None = None) -> None:
    """Add a comment to a switch's log.

    :raises PermissionDenied: ``user`` may neither request nor decide on switches. :raises Refused: the text is empty
        or too long.
    """
    if not may_steer(user, switch.pair):
        raise PermissionDenied("You may not comment on switches.")
    said = reasons.given(text, say("Type what you want to say."))
    with transaction.atomic():
        log_event(switch, say("“%(text)s”", text=said), actor=user)
        record(user, "comment", switch.subject, address, text=said)


def may_review(user: User, switch: Switch) -> bool:
    """Whether ``user`` can review the switch now, as pages offer it."""
    return switch.to_be_reviewed and SWITCHES.is_decider(user, switch)


def review(user: User, switch: Switch, note: str, address: str | None = None, browser: str = "") -> Switch:
    """Note a review of an emergency that has ended.

    :raises PermissionDenied: ``user`` may not decide, or requested it.
    :raises Refused: the note is empty, another person requested the switch in this browser, or it does not (or no
        longer) need a review.
    """
    SWITCHES.check_may_decide(user, switch)
    note = reasons.given(note, say("Say what you found: others read it later."))
    with transaction.atomic():
        held = switch.locked()
        if not held.to_be_reviewed:
            raise Refused(say("This switch is not to be reviewed."))
        if used_by_another(user, held, browser):
            raise Refused(
                say(
                    "This browser was used to request it, with another account. Review it in a browser of your own."
                )
            )
        held.reviewed_by, held.reviewed_at, held.review_note = user, timezone.now(), note
        held.save(update_fields=["reviewed_by", "reviewed_at", "review_note"])
        sentence = say("%(user)s reviewed it: %(note)s", user=user.get_username(), note=held.review_note)
        log_event(held, sentence, actor=user)
        record(user, "review", held.subject, address, note=held.review_note)
    return held
