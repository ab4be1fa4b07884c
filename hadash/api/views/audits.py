"""Handlers for what auditors say of a mirror."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.api.idempotency import idempotent
from hadash.api.serializers import audits as serializers
from hadash.api.views.common import KEY, PAGES, PagedView, View, address_of, problems, the_pair
from hadash.auditors import accepting, selectors
from hadash.auditors.models import AuditDifference
from hadash.auditors.proofs import PartitionStanding
from hadash.full_audits import requests
from hadash.full_audits.models import FullAudit
from hadash.full_audits.selectors import full_audits_of
from hadash.mirroring.models import Mirror
from hadash.presentation.localized import sentence


def _the_mirror(user: Any, pair: str, name: str) -> Mirror:
    """Return a mirror. :raises Http404: the pair has none of this name, or ``user`` may not see it."""
    found = (
        Mirror.objects.select_related("pair", "source").filter(pair=the_pair(user, pair), name=name).first()
    )
    if found is None:
        raise Http404(_("There is no mirror %(name)s.") % {"name": name})
    return found


def _partition(each: PartitionStanding) -> dict[str, Any]:
    names: tuple[str, ...] = (
        "topic",
        "partition",
        "source_begin",
        "source_next",
        "source_end",
        "target_next",
    )
    names += ("equal", "different", "accepted", "compared_at")
    return {
        **{name: getattr(each.row, name) for name in names},
        "proof": each.proof.value,
        "source": each.row.source.name,
        "share": each.share,
        "fault": sentence(each.row.fault),
    }


def _difference(found: AuditDifference) -> dict[str, Any]:
    names = ("kind", "source_offset", "target_offset", "parts", "found_at")
    acceptance = found.acceptance
    return {
        **{name: getattr(found, name) for name in names},
        "id": found.pk,
        "topic": found.audited.topic,
        "partition": found.audited.partition,
        "source": found.source.name,
        "accepted_by": acceptance.by.get_username() if acceptance is not None else None,
        "accepted_because": acceptance.reason if acceptance is not None else None,
    }


class MirrorAudit(View):
    @extend_schema(
        operation_id="show_mirror_audit",
        summary="How far auditors have compared both sides of a mirror, and what that proves.",
        responses={200: serializers.MirrorAuditSerializer, **problems(404)},
    )
    def get(self, request: Request, pair: str, mirror: str) -> Response:
        found = _the_mirror(request.user, pair, mirror)
        standing = selectors.standing(found)
        return Response(
            {
                "mirror": found.name,
                "proof": standing.proof.value,
                "says": sentence(standing.sentence),
                "share": standing.share,
                "age_seconds": standing.age.total_seconds() if standing.age is not None else None,
                "differences": standing.differences,
                "accepted": standing.accepted,
                "partitions": [_partition(each) for each in standing.partitions],
            }
        )


class Differences(PagedView):
    @extend_schema(
        operation_id="list_mirror_differences",
        summary="What differs between both sides of a mirror, newest first.",
        parameters=PAGES,
        responses={200: serializers.DifferenceSerializer(many=True), **problems(404)},
    )
    def get(self, request: Request, pair: str, mirror: str) -> Response:
        found = selectors.differences(_the_mirror(request.user, pair, mirror)).select_related("source")
        return self.page(found, _difference)


class AcceptDifferences(View):
    @extend_schema(
        operation_id="accept_mirror_differences",
        summary="Accept differences, with a reason: they stop no switch any more. What is found later counts.",
        request=serializers.AcceptDifferencesRequest,
        parameters=[KEY],
        responses={200: serializers.AcceptedSerializer, **problems(400, 404, 409, 422)},
    )
    @idempotent
    def post(self, request: Request, pair: str, mirror: str) -> Response:
        values = self.validated(serializers.AcceptDifferencesRequest)
        found = _the_mirror(request.user, pair, mirror)
        made = accepting.accept(
            request.user, found, values["reason"], address_of(request), values.get("differences")
        )
        return Response({"accepted": sum(made.counts.values())})


def _full_audit(found: FullAudit) -> dict[str, Any]:
    names = (
        "topic",
        "status",
        "asked_at",
        "began_at",
        "read_at",
        "ended_at",
        "offsets",
        "equal",
        "different",
    )
    return {
        **{name: getattr(found, name) for name in names},
        "id": found.pk,
        "says": sentence(found.verdict),
        "asked_by": found.asked_by.get_username(),
        "source": found.source.name if found.source is not None else None,
    }


def _one_full_audit(found: FullAudit) -> dict[str, Any]:
    return {**_full_audit(found), "progress": found.progress, "partitions": found.partitions}


def _the_full_audit(user: Any, pair: str, mirror: str, number: int) -> FullAudit:
    """Return a full audit. :raises Http404: there is none, or ``user`` may not see its pair."""
    found = full_audits_of(_the_mirror(user, pair, mirror)).filter(pk=number).first()
    if found is None:
        raise Http404(_("There is no full audit %(number)s of this mirror.") % {"number": number})
    return found


class FullAudits(PagedView):
    @extend_schema(
        operation_id="list_full_audits",
        summary="The full audits of a mirror's Topics, newest first.",
        parameters=PAGES,
        responses={200: serializers.FullAuditSerializer(many=True), **problems(404)},
    )
    def get(self, request: Request, pair: str, mirror: str) -> Response:
        return self.page(full_audits_of(_the_mirror(request.user, pair, mirror)), _full_audit)

    @extend_schema(
        operation_id="ask_for_full_audit",
        summary="Have a whole Topic compared on both sides, by Spark; one runs at a time.",
        request=serializers.AskFullAuditRequest,
        parameters=[KEY],
        responses={201: serializers.OneFullAuditSerializer, **problems(400, 404, 409, 422)},
    )
    @idempotent
    def post(self, request: Request, pair: str, mirror: str) -> Response:
        values = self.validated(serializers.AskFullAuditRequest)
        found = _the_mirror(request.user, pair, mirror)
        made = requests.request(request.user, found, values["topic"], address_of(request))
        return Response(_one_full_audit(made), 201)


class OneFullAudit(View):
    @extend_schema(
        operation_id="show_full_audit",
        summary="A full audit: how far it is, and what came of each partition.",
        responses={200: serializers.OneFullAuditSerializer, **problems(404)},
    )
    def get(self, request: Request, pair: str, mirror: str, number: int) -> Response:
        return Response(_one_full_audit(_the_full_audit(request.user, pair, mirror, number)))


class CancelFullAudit(View):
    @extend_schema(
        operation_id="cancel_full_audit",
        summary="Cancel a full audit that waits or runs; what it has compared is lost.",
        request=None,
        parameters=[KEY],
        responses={200: serializers.OneFullAuditSerializer, **problems(404, 409)},
    )
    @idempotent
    def post(self, request: Request, pair: str, mirror: str, number: int) -> Response:
        found = _the_full_audit(request.user, pair, mirror, number)
        requests.cancel(request.user, found, address_of(request))
        return Response(_one_full_audit(_the_full_audit(request.user, pair, mirror, number)))
