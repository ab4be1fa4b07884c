"""Handlers for findings and their acceptances, the rules, scores, and the tables that jobs publish."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.accounts.roles import VIEW, may_somewhere
from hadash.api.idempotency import idempotent
from hadash.api.serializers import governance as serializers
from hadash.api.views.common import KEY, PAGES, PagedView, View, address_of, problems
from hadash.governance import accepting, selectors
from hadash.governance.catalogue import CATALOGUE
from hadash.governance.models.findings import Finding
from hadash.presentation import published_tables
from hadash.presentation.localized import sentence
from hadash.presentation.published_tables import evidence_of, filtered_findings, sentence_of, the_finding
from hadash.presentation.tables import TABLES


def _finding(found: Finding) -> dict[str, Any]:
    names = ("pair", "code", "weight", "appid", "name", "state")
    times = ("first_at", "opened_at", "worse_at", "resolved_at", "reopened")
    return {
        "id": found.pk,
        **{name: getattr(found, name) for name in (*names, *times)},
        "evidence": evidence_of(found),
        "severity": found.entry.severity.value if found.entry else "",
        "sentence": sentence(sentence_of(found)),
        "accepted_until": getattr(found, "accepted_until", None),
    }


def _whole(found: Finding) -> dict[str, Any]:
    acceptances = [
        {
            "until": each.until,
            "reason": each.reason,
            "by": each.accepted_by.get_username(),
            "at": each.accepted_at,
            "withdrawn_at": each.withdrawn_at,
        }
        for each in found.acceptances.select_related("accepted_by")
    ]
    return {**_finding(found), "acceptances": acceptances}


class Findings(PagedView):
    @extend_schema(
        operation_id="list_findings",
        summary="What the rules of governance have found, the gravest first.",
        parameters=[serializers.FindingQuery, *PAGES],
        responses={200: serializers.FindingSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request) -> Response:
        asked = self.validated(serializers.FindingQuery, request.query_params.dict())
        pairs = selectors.pair_names(request.user)
        if "pair" in asked:
            pairs = [name for name in pairs if name == asked["pair"]]
        found = filtered_findings(
            pairs, asked.get("severity", ""), asked.get("code", ""), asked["show"], asked.get("q", "")
        )
        if "appid" in asked:
            found = found.filter(appid=asked["appid"])
        return self.page(found, _finding)


class OneFinding(View):
    @extend_schema(
        operation_id="show_finding",
        summary="One finding with who has accepted it.",
        responses={200: serializers.WholeFindingSerializer, **problems(404)},
    )
    def get(self, request: Request, pk: int) -> Response:
        return Response(_whole(the_finding(request.user, pk)))


class Accept(View):
    @extend_schema(
        operation_id="accept_finding",
        summary="Accept a finding up to and with a day: it stays, and does not count meanwhile.",
        request=serializers.AcceptRequest,
        parameters=[KEY],
        responses={200: serializers.WholeFindingSerializer, **problems(400, 404, 409, 422)},
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        found, values = the_finding(request.user, pk), self.validated(serializers.AcceptRequest)
        accepting.accept(request.user, found, values["until"], values["reason"], address_of(request))
        return Response(_whole(the_finding(request.user, pk)))


class Withdraw(View):
    @extend_schema(
        operation_id="withdraw_acceptance",
        summary="A finding counts again.",
        request=None,
        parameters=[KEY],
        responses={200: serializers.WholeFindingSerializer, **problems(404, 409, 422)},
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        accepting.withdraw(request.user, the_finding(request.user, pk), address_of(request))
        return Response(_whole(the_finding(request.user, pk)))


class GovernanceRules(View):
    @extend_schema(
        operation_id="list_governance_rules",
        summary="Every rule of governance: what it looks for, how bad that is, what to do.",
        responses={200: serializers.GovernanceRuleSerializer(many=True), **problems()},
    )
    def get(self, request: Request) -> Response:
        return Response(
            [
                {
                    "code": entry.code.value,
                    "severity": entry.severity.value,
                    "weight": entry.weight,
                    "about": entry.about.value,
                    "title": sentence(entry.title),
                    "holds": sentence(entry.holds),
                    "remedy": sentence(entry.remedy),
                    "source": entry.source,
                }
                for entry in (CATALOGUE.values() if may_somewhere(request.user, VIEW) else ())
            ]
        )


class Scores(View):
    @extend_schema(
        operation_id="list_scores",
        summary="The score of each pair: the weights of what is open and not accepted, added up.",
        responses={200: serializers.ScoreSerializer(many=True), **problems()},
    )
    def get(self, request: Request) -> Response:
        found = []
        for pair in selectors.pair_names(request.user):
            score = selectors.score(selectors.counting([pair]))
            figures = {name: getattr(score, name) for name in ("score", "high", "medium", "low")}
            found.append({"pair": pair, **figures})
        return Response(found)


class CoverageOverTime(View):
    @extend_schema(
        operation_id="list_coverage_over_time",
        summary="How well clients were known in each run that is kept, the newest first.",
        parameters=[serializers.CoverageQuery],
        responses={200: serializers.CoverageSerializer(many=True), **problems(400)},
    )
    def get(self, request: Request) -> Response:
        asked = self.validated(serializers.CoverageQuery, request.query_params.dict())
        pairs = selectors.pair_names(request.user)
        if "pair" in asked:
            pairs = [name for name in pairs if name == asked["pair"]]
        found = selectors.coverage_over_time(pairs, asked.get("appid", ""))
        return Response(serializers.CoverageSerializer(found, many=True).data)


class PublishedTable(PagedView):
    @extend_schema(
        operation_id="show_table",
        summary="A table of the last published run of its job.",
        parameters=[
            OpenApiParameter("name", str, OpenApiParameter.PATH, enum=serializers.TABLE_NAMES),
            serializers.TableQuery,
            *PAGES,
        ],
        responses={200: serializers.TableRowSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request, name: str) -> Response:
        table = TABLES.get(name)
        if table is None:
            raise Http404(_("There is no table %(name)s.") % {"name": name})
        asked = self.validated(serializers.TableQuery, request.query_params.dict())
        sort = asked.get("sort", "")
        if sort and table.column(sort.removeprefix("-")) is None:
            known = ", ".join(column.name for column in table.columns)
            raise ValidationError({"sort": [_("The columns are %(known)s.") % {"known": known}]})
        show = asked.get("show", "")
        if show and table.show(show) is None:
            known = ", ".join(each.name for each in table.shows) or _("none")
            raise ValidationError({"show": [_("The filters of this table: %(known)s.") % {"known": known}]})
        pairs = selectors.pair_names(request.user)
        if "pair" in asked:
            pairs = [pair for pair in pairs if pair == asked["pair"]]
        rows = published_tables.rows_of(table, pairs, asked.get("q", ""), sort, table.narrowed(show))
        return self.page(rows.values(*(column.name for column in table.columns)), dict)
