"""How people decide on others' requests, in the same way for switches, batches, and changes of bindings and of pools.

1. The person may decide on the pair, and is not the requester.
2. The status allows the decision, the request has not expired, and the person has seen what would be done now.
3. An approval is noted. It is refused if the person has already approved, or if another person has requested or
   approved it in the same browser.
4. With the last approval that it needs the request is approved, and what was requested begins.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, TypeVar

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash.accounts.roles import DECIDE, REQUEST, may
from hadash.audit import reasons
from hadash.audit.models import record
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.approvals.four_eyes import APPROVED, AWAITING, note_approval, valid
from hadash.switching.approvals.windows import nothing_may_start, utc
from hadash.switching.models.approvable import Approvable
from hadash.switching.refusals import PlanChanged

R = TypeVar("R", bound=Approvable)

#: Starts what was approved; called after the commit.
Start = Callable[[R], None]


class Workflow(ABC, Generic[R]):
    """The decisions on one kind of request. A subclass supplies what differs."""

    #: The model, and the events of its machine.
    MODEL: ClassVar[Any]
    EVENT: ClassVar[Any]

    @abstractmethod
    def may_not_decide(self) -> PermissionDenied: ...

    @abstractmethod
    def may_not_cancel(self) -> PermissionDenied: ...

    def left_behind(self, held: R) -> Sentence:
        """What a request that ends before it is carried out has changed."""
        return say("Nothing was changed.")

    @abstractmethod
    def own_request(self) -> PermissionDenied:
        """The error for a person who would decide on their own request."""

    @abstractmethod
    def changed_since_seen(self) -> Sentence:
        """The reason for a person who has seen something else than what would be done now."""

    @abstractmethod
    def look_again(self, row: R) -> None:
        """Check that the request can still be carried out unchanged.

        :raises Refused: it cannot be carried out any more. :raises PlanChanged: something else would be done.
        """

    def lock_beside(self, row: R) -> None:
        """Take other locks that the transaction needs, before the row's."""

    def check_locked(self, held: R) -> None:
        """Check conditions inside the transaction. :raises Refused: one does not hold."""

    @abstractmethod
    def begin(self, held: R, start: Start[R]) -> None:
        """Start the approved and saved row, or leave it for its window. :raises Refused: nothing may begin now."""

    def noted(self, held: R) -> dict[str, Any]:
        """Further values for the audit entry of an approval."""
        return {}

    # -- what people do ----------------------------------------------------------------------------------------------

    def approve(
        self,
        user: User,
        row: R,
        digest: str,
        start: Start[R],
        address: str | None = None,
        seen: int | None = None,
        browser: str = "",
    ) -> R:
        """Approve what ``digest`` stands for. With the last approval that it needs, it begins or waits for its window.

        :param seen: how many approvals the person saw; ``None`` if nobody can have been misled.
        :param start: called after the commit with what begins; it hands the row to a worker.
        :raises PermissionDenied: ``user`` may not decide, or is the requester.
        :raises PlanChanged: it is not what was shown any more. :raises Refused: it is decided already, or has expired.
        """
        self.check_may_decide(user, row)
        self._fresh(row).refuse_unless(
            self.EVENT.APPROVE
        )  # first, because later checks would give another reason
        if digest != row.digest:  # type: ignore[attr-defined]
            raise PlanChanged(self.changed_since_seen())
        self.look_again(row)
        with transaction.atomic():
            self.lock_beside(row)
            held = row.locked()
            held.refuse_unless(self.EVENT.APPROVE)
            if held.expires_at < timezone.now():
                raise Refused(say("This request has expired. Request it again."))
            if seen is not None and seen != valid(held).count():
                raise PlanChanged(say("The approvals are not those that you have seen. Look at it again."))
            self.check_locked(held)
            missing = note_approval(user, held, browser, digest=digest)
            held.tell(say("%(user)s approved it.", user=user.get_username()), user)
            if missing:
                held.tell(say("It needs %(missing)s more.", missing=missing))
            else:
                held.move(self.EVENT.APPROVE)
                held.decided_by, held.decided_at = user, timezone.now()
                held.save()
                self.begin(held, start)
            record(
                user,
                "approve",
                held.subject,
                address,
                digest=digest,
                approvals_missing=missing,
                **self.noted(held),
            )
        return held

    def decline(self, user: User, row: R, reason: str, address: str | None = None) -> R:
        """Decline a request. :raises Refused: there is no reason, or it is decided already."""
        self.check_may_decide(user, row)
        said = reasons.given(reason, say("Say why you decline: the requester reads it."))
        with transaction.atomic():
            held = row.locked_and_moved(self.EVENT.DECLINE)
            held.decided_by, held.decided_at, held.ended_at = user, timezone.now(), timezone.now()
            held.decision_note = said
            held.save()
            held.tell(say("%(user)s declined it: %(reason)s", user=user.get_username(), reason=said), user)
            record(user, "decline", held.subject, address, reason=said)
        return held

    def cancel(self, user: User, row: R, reason: str, address: str | None = None) -> R:
        """Cancel a request before it runs. :raises Refused: there is no reason, or it is too late."""
        if not may(user, REQUEST, row.pair):  # type: ignore[attr-defined]
            raise self.may_not_cancel()
        said = reasons.for_cancelling(reason)
        who = user.get_username()
        with transaction.atomic():
            held = row.locked_and_moved(self.EVENT.CANCEL)
            held.ended_at = timezone.now()
            held.conclude(
                say(
                    "%(user)s cancelled it: %(reason)s %(left)s",
                    user=who,
                    reason=said,
                    left=self.left_behind(held),
                )
            )
            held.save()
            held.tell(say("%(user)s cancelled the request: %(reason)s", user=who, reason=said), user)
            record(user, "cancel", held.subject, address, reason=said)
        return held

    def is_decider(self, user: User, row: R) -> bool:
        """Whether ``user`` may decide on requests of the pair, and somebody else has made this one."""
        return may(user, DECIDE, row.pair) and user.pk != row.requested_by_id  # type: ignore[attr-defined]

    def may_decide(self, user: User, row: R, approvals: Iterable[Any]) -> bool:
        """Whether ``user`` can decide on the request now, as pages offer it; the action itself checks again.

        :param approvals: those that the request has.
        """
        has_approved = user.pk in {approval.user_id for approval in approvals}
        return row.allows(self.EVENT.APPROVE) and self.is_decider(user, row) and not has_approved

    def may_cancel(self, user: User, row: R) -> bool:
        """Whether ``user`` can cancel the request now, as pages offer it."""
        return row.allows(self.EVENT.CANCEL) and may(user, REQUEST, row.pair)  # type: ignore[attr-defined]

    def check_may_decide(self, user: User, row: R) -> None:
        """:raises PermissionDenied: ``user`` may not decide on this request, or is the requester."""
        if not may(user, DECIDE, row.pair):  # type: ignore[attr-defined]
            raise self.may_not_decide()
        if user.pk == row.requested_by_id:
            raise self.own_request()

    # -- what happens by itself --------------------------------------------------------------------------------------

    def expire_undecided(self) -> int:
        """Expire the requests that nobody decided on in time, and return how many."""
        late = self.MODEL._default_manager.filter(status=AWAITING, expires_at__lt=timezone.now())
        sentence = say("Nobody decided in time: the request has expired.")
        return sum(self.expire(row, sentence, AWAITING) for row in late)

    def expire(self, row: Approvable, sentence: Sentence, status: str) -> bool:
        """Expire a row if it still has ``status`` (else somebody has just decided), and return whether it did."""
        with transaction.atomic():
            held = row.locked()
            if held.status != status:
                return False
            held.move(self.EVENT.EXPIRE)
            held.ended_at = timezone.now()
            held.conclude(sentence)
            held.save()
            held.tell(sentence)
            record(None, "expire", held.subject, outcome=str(sentence))
        return True

    def _fresh(self, row: R) -> Approvable:
        found: Approvable = self.MODEL._default_manager.only("status").get(pk=row.pk)
        return found


class WindowedWorkflow(Workflow[R]):
    """The workflow of switches, and of batches of them: they may have a window (``start_at``, ``start_until``), in
    which they begin by themselves and after which they never do.
    """

    def may_not_decide(self) -> PermissionDenied:
        return PermissionDenied("You may not decide on switches.")

    def may_not_cancel(self) -> PermissionDenied:
        return PermissionDenied("You may not cancel switches.")

    @abstractmethod
    def run(self, held: R, start: Start[R]) -> None:
        """Let an approved row run. The caller has locked ``held``."""

    def waits_for_blackouts(self, held: R) -> bool:
        """Whether the request may not begin in a blackout."""
        return True

    def begin(self, held: Any, start: Start[R]) -> None:
        blackout = nothing_may_start(held.pair) if self.waits_for_blackouts(held) else None
        if held.start_at is None:
            if blackout is not None:
                raise Refused(blackout)
            self.run(held, start)
        elif held.start_at > timezone.now():
            held.tell(say("It starts at %(at)s.", at=utc(held.start_at)))
        elif blackout is None:
            self.run(held, start)  # else begin_due starts it when the blackout is over

    def begin_due(self, start: Start[R]) -> int:
        """Run the approved rows whose window has come, expire those whose window has passed, and return how many run.

        A missed window is never made up for: what was true when people agreed may no longer be true.
        """
        count = 0
        now = timezone.now()
        due: Any = self.MODEL._default_manager.filter(status=APPROVED, start_at__lte=now)
        for row in due.select_related("pair"):
            if row.start_until is not None and row.start_until < now:
                passed = say("Its window has passed, and it was not started: it is dropped.")
                self.expire(row, passed, APPROVED)
                continue
            blackout = nothing_may_start(row.pair) if self.waits_for_blackouts(row) else None
            if blackout is not None:
                row.tell_once(blackout)
                continue
            with transaction.atomic():
                held = row.locked()
                over = held.start_until is not None and held.start_until < timezone.now()
                if held.status != APPROVED or over:
                    continue  # another process was faster, or the window ended during the wait for the lock
                if self.waits_for_blackouts(held) and nothing_may_start(held.pair) is not None:
                    continue
                held.tell(say("Its window has come."))
                self.run(held, start)
                record(None, "start", held.subject)
                count += 1
        return count
