"""Handlers for pools of consumers, and changes of them."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.accounts.roles import OPERATE, pairs_where
from hadash.api.fields import Text
from hadash.api.idempotency import idempotent
from hadash.api.serializers import pools as serializers
from hadash.api.views.actions import Actions
from hadash.api.views.common import KEY, PAGES, PagedView, View, address_of, browser, problems
from hadash.api.views.lists import InboxQuery, inbox
from hadash.changes import Status
from hadash.inventory.models import Cluster
from hadash.pools import applier, consumers, decisions, requests
from hadash.pools.actions import Action, Change
from hadash.pools.models import PoolChange, PoolStep
from hadash.presentation import pools
from hadash.presentation.localized import sentence
from hadash.presentation.pools import MemberRow, PoolRow, PoolsLook, TopicRow
from hadash.sentences import say
from hadash.switching.approvals import four_eyes
from hadash.switching.refusals import EnginesAway


def _summary(row: PoolRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "state": row.state.word,
        "pair": row.pair.name if row.pair is not None else None,
        "strategy": row.settings.strategy,
        "shadow": row.settings.shadow,
        "stopped": row.settings.is_stopped,
        "topics": len(row.topics),
        "partitions": row.partitions,
        "members": len(row.members),
        "isolated": row.isolated,
        "lag": row.lag,
        "fault": sentence(row.fault),
    }


def _whole(row: PoolRow, look: PoolsLook) -> dict[str, Any]:
    return {
        **_summary(row),
        "stopped_by": row.settings.by,
        "stopped_because": row.settings.reason,
        "topics": [_topic(topic) for topic in row.topics],
        "members": [_member(member) for member in row.members],
        "coordinator": look.said.leader.name if look.said.leader is not None else None,
        "coordinator_fault": sentence(look.said.fault),
    }


def _topic(row: TopicRow) -> dict[str, Any]:
    return {
        "topic": row.topic,
        "state": row.standing.value if row.standing is not None else None,
        "servers": row.servers,
        "cluster": row.cluster.name if row.cluster is not None else None,
        "group": row.group,
        "partitions": {str(partition): who for partition, who in sorted(row.members.items())},
        "to_start": {member: sorted(own) for member, own in row.to_start.items()},
        "to_close": {member: sorted(own) for member, own in row.to_close.items()},
        "unstable_since": row.since,
        "held_by": row.held_by or None,
        "waits": sentence(row.why),
        "error": sentence(row.error),
        "shadow": row.shadow,
    }


def _member(row: MemberRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "state": row.state.word,
        "assigned": row.assigned,
        "reads": row.reads,
        "bytes_per_second": row.bytes_per_second,
        "lag": row.lag,
        "isolated_by": row.isolation.by if row.isolation is not None else None,
        "isolated_because": row.isolation.reason if row.isolation is not None else None,
        "coming_back": row.isolation is not None and row.isolation.is_ending,
        "error": row.error,
    }


def _look(user: Any) -> PoolsLook:
    """Return a look at all pools. :raises EnginesAway: ZooKeeper does not answer."""
    found = pools.look(user)
    if found.fault:
        raise EnginesAway(say("ZooKeeper does not answer (%(fault)s).", fault=found.fault))
    return found


def _the_pool(user: Any, name: str) -> tuple[PoolRow, PoolsLook]:
    """Return a pool. :raises Http404: there is none that ``user`` may see. :raises EnginesAway: see :func:`_look`."""
    look = _look(user)
    row = next((each for each in look.pools if each.name == name), None)
    if row is None:
        raise Http404(_("There is no pool %(name)s.") % {"name": name})
    return row, look


class Pools(View):
    @extend_schema(
        operation_id="list_pools",
        summary="All pools of consumers.",
        responses={200: serializers.PoolSummarySerializer(many=True), **problems(503)},
    )
    def get(self, request: Request) -> Response:
        return Response([_summary(row) for row in _look(request.user).pools])

    @extend_schema(
        operation_id="create_pool",
        summary="Create a pool; with 202 somebody else has to approve it first.",
        request=serializers.PoolRequest,
        parameters=[KEY],
        responses={
            201: serializers.PoolChangeSerializer,
            202: serializers.PoolChangeSerializer,
            **problems(400, 409, 422, 503),
        },
    )
    @idempotent
    def post(self, request: Request) -> Response:
        values = self.validated(serializers.PoolRequest)
        known = {row.name: row for row in _look(request.user).pools}
        change = Change(values["name"], Action.CREATE, strategy=values["strategy"])
        return _asked(request, change, known.get(values["name"]), values["reason"])


class OnePool(View):
    @extend_schema(
        operation_id="show_pool",
        summary="A pool: its Topics with who has which partition, and its members.",
        responses={200: serializers.PoolSerializer, **problems(404, 503)},
    )
    def get(self, request: Request, pool: str) -> Response:
        return Response(_whole(*_the_pool(request.user, pool)))


class PoolSteps(PagedView):
    @extend_schema(
        operation_id="list_pool_steps",
        summary="What the coordinator has done in a pool, newest first.",
        parameters=PAGES,
        responses={200: serializers.StepSerializer(many=True), **problems(404, 503)},
    )
    def get(self, request: Request, pool: str) -> Response:
        row, _look = _the_pool(request.user, pool)
        return self.page(pools.steps(row.name), _step)


def _step(step: PoolStep) -> dict[str, Any]:
    return {name: getattr(step, name) for name in ("at", "topic", "event", "state", "moved")}


class ChangePool(View):
    @extend_schema(
        operation_id="change_pool",
        summary="Isolate a member, take it back, stop all, choose a strategy, add or remove a Topic, delete the pool. "
        "With 202 somebody else has to approve it first, or ZooKeeper does not answer.",
        request=serializers.PoolChangeRequest,
        parameters=[KEY],
        responses={
            201: serializers.PoolChangeSerializer,
            202: serializers.PoolChangeSerializer,
            **problems(400, 404, 409, 422, 503),
        },
    )
    @idempotent
    def post(self, request: Request, pool: str) -> Response:
        values = self.validated(serializers.PoolChangeRequest)
        row, _found = _the_pool(request.user, pool)
        change = _change(request.user, pool, values)
        return _asked(request, change, row, values["reason"], values["confirm"])


def _change(user: Any, pool: str, values: dict[str, Any]) -> Change:
    """Return what is asked for. :raises Http404: the cluster is none of those where ``user`` may operate."""
    action = Action(values["action"])
    if action is Action.ADD_TOPIC:
        of_pairs = pairs_where(user, OPERATE).values_list("first", "second")
        allowed = {pk for both in of_pairs for pk in both}
        cluster = Cluster.objects.filter(pk__in=allowed, name=values["cluster"]).first()
        if cluster is None:
            raise Http404(_("There is no cluster %(name)s.") % {"name": values["cluster"]})
        return consumers.adding(pool, values["topic"], cluster, values["group"], values["settings"])
    return Change(
        pool,
        action,
        member=values["member"] if action in (Action.ISOLATE, Action.TAKE_BACK) else "",
        topic=values["topic"] if action in (Action.REMOVE_TOPIC, Action.RELEASE) else "",
        strategy=values["strategy"] if action in (Action.STRATEGY, Action.SHADOW) else "",
    )


def _asked(
    request: Request, change: Change, row: PoolRow | None, reason: str, confirmed: str = ""
) -> Response:
    held = requests.request(
        requests.ChangeRequest(
            request.user,
            row.pair if row is not None else None,
            change,
            reason,
            row.view if row is not None else None,
            {member.name for member in row.members} if row is not None else (),
            confirmed,
            address_of(request),
            browser(request),
        ),
        applier.apply,
    )
    held.refresh_from_db()
    return Response(shown(held), status=202 if held.open else 201)


# -- changes -------------------------------------------------------------------------------------------------------


def shown(found: PoolChange) -> dict[str, Any]:
    """Return a change of a pool as ``PoolChangeSerializer``."""
    names: tuple[str, ...] = (
        "key",
        "pool",
        "action",
        "member",
        "topic",
        "strategy",
        "digest",
        "status",
        "reason",
        "requested_at",
    )
    names += ("approvals_needed", "expires_at", "decided_at", "decision_note", "ended_at")
    return {
        **{name: getattr(found, name) for name in names},
        "pair": found.pair.name if found.pair is not None else None,
        "settings": found.consumer,
        "what": sentence(found.sentence),
        "requested_by": found.requested_by.get_username(),
        "decided_by": found.decided_by.get_username() if found.decided_by else None,
        "approvals": [{"by": given.user.get_username(), "at": given.at} for given in four_eyes.shown(found)],
        "outcome": sentence(found.outcome),
    }


class ChangesQuery(InboxQuery):
    status = s.ChoiceField([status.value for status in Status], required=False)
    pool = Text(max_length=200, required=False, help_text="The exact name.")


class PoolChanges(PagedView):
    @extend_schema(
        operation_id="list_pool_changes",
        summary="Changes of pools of consumers, newest first.",
        parameters=[ChangesQuery, *PAGES],
        responses={200: serializers.PoolChangeSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request) -> Response:
        asked = self.validated(ChangesQuery, request.query_params.dict())
        found = inbox(request.user, asked, pools.changes, pools.waiting_for, "status", "pool")
        return self.page(found.prefetch_related("approvals__user"), shown)


class OnePoolChange(View):
    @extend_schema(
        operation_id="show_pool_change",
        summary="A change of a pool, with its approvals and what came of it.",
        responses={200: serializers.PoolChangeSerializer, **problems(404)},
    )
    def get(self, request: Request, key: str) -> Response:
        return Response(shown(pools.the_change(request.user, key)))


actions = Actions(
    "pool_change", pools.the_change, serializers.PoolChangeSerializer, shown, (Status.APPROVED,)
)

ACTIONS: dict[str, type[View]] = {
    **actions.decisions(
        decisions.POOL_CHANGES,
        applier.apply,
        serializers.PoolApprovalRequest,
        approve="Approve a change of a pool. With the last approval it is written.",
        decline="Decline a change of a pool, with a reason.",
        cancel="Take a request back before it is approved, with a reason.",
    ),
}
