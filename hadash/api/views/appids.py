"""Handlers for AppIDs, their InstanceIDs and bindings, and what was observed."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.accounts.roles import REGISTER, may
from hadash.api import representations
from hadash.api.fields import Text
from hadash.api.idempotency import idempotent
from hadash.api.pagination import Pages
from hadash.api.problems import Problem
from hadash.api.serializers import bindings as binding_serializers
from hadash.api.serializers import inventory as serializers
from hadash.api.views.common import KEY, PAGES, PagedView, View, address_of, problems, the_appid
from hadash.governance.critical import mark
from hadash.governance.owners import set_owner
from hadash.inventory import services
from hadash.inventory.generating import generate
from hadash.inventory.models import Access, AppID, InstanceID
from hadash.inventory.selectors import access_since
from hadash.presentation import appid_rows, changes, engines
from hadash.sentences import say
from hadash.switching.binding_changes.unregistering import unregister


class AppIDQuery(s.Serializer):
    pair = s.SlugField(max_length=40, required=False)
    q = Text(max_length=200, required=False, help_text="A part of the name.")


class AppIDs(PagedView):
    @extend_schema(
        operation_id="list_appids",
        summary="AppIDs with their InstanceIDs and where they are bound.",
        parameters=[AppIDQuery, *PAGES],
        responses={200: serializers.AppIDSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request) -> Response:
        asked = self.validated(AppIDQuery, request.query_params.dict())
        found = appid_rows.listed_appids(request.user)
        if "pair" in asked:
            found = found.filter(pair__name=asked["pair"])
        if "q" in asked:
            found = found.filter(name__icontains=asked["q"])
        pages = Pages()
        rows = pages.paginate_queryset(found, request, view=self) or []
        bound = appid_rows.bound_appids(rows, engines.look())
        return pages.get_paginated_response([representations.appid(each) for each in bound])


class OneAppID(View):
    @extend_schema(
        operation_id="show_appid",
        summary="One AppID.",
        responses={200: serializers.AppIDSerializer, **problems(404)},
    )
    def get(self, request: Request, pk: int) -> Response:
        return Response(_shown(the_appid(request.user, pk)))

    @extend_schema(
        operation_id="change_appid",
        summary="Say whether an AppID is critical, and whose it is. What is left out stays as it is.",
        request=serializers.AppIDChange,
        parameters=[KEY],
        responses={200: serializers.AppIDSerializer, **problems(400, 404, 409, 422)},
    )
    @idempotent
    def patch(self, request: Request, pk: int) -> Response:
        found, values = the_appid(request.user, pk), self.validated(serializers.AppIDChange)
        if "critical" in values:
            mark(request.user, found, values["critical"], address_of(request))
        if "owner" in values:
            set_owner(request.user, found, values["owner"], address_of(request))
        return Response(_shown(the_appid(request.user, pk)))


class Instances(View):
    @extend_schema(
        operation_id="register_instance",
        summary="Register an InstanceID under an AppID. One that is registered there already stays as it is (200).",
        request=serializers.InstanceRequest,
        parameters=[KEY],
        responses={
            200: serializers.AppIDSerializer,
            201: serializers.AppIDSerializer,
            **problems(400, 404, 409, 422),
        },
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        found, values = the_appid(request.user, pk), self.validated(serializers.InstanceRequest)
        _, new = services.ensure_instance(request.user, found, **values, address=address_of(request))
        return Response(_shown(the_appid(request.user, pk)), status=201 if new else 200)

    @extend_schema(
        operation_id="unregister_instance",
        summary="Take a registered InstanceID back that is not bound, declared or about to move.",
        parameters=[binding_serializers.UnregisterQuery],
        responses={204: None, **problems(400, 404, 409, 503)},
    )
    def delete(self, request: Request, pk: int) -> Response:
        found = the_appid(request.user, pk)
        name = self.validated(binding_serializers.UnregisterQuery, request.query_params.dict())["name"]
        instance = InstanceID.objects.select_related("appid__pair").filter(appid=found, name=name).first()
        if instance is None and may(request.user, REGISTER, found.pair):
            raise Http404(_("%(appid)s has no InstanceID %(name)s.") % {"appid": found, "name": name})
        if instance is None:
            raise PermissionDenied("You may not register InstanceIDs.")
        unregister(request.user, instance, name, address_of(request))
        return Response(status=204)


class Generate(View):
    @extend_schema(
        operation_id="generate_instances",
        summary="Register InstanceIDs with new names: one for each Topic, or one for all of them.",
        request=binding_serializers.GenerateRequest,
        parameters=[KEY],
        responses={201: binding_serializers.GeneratedSerializer(many=True), **problems(400, 404, 409, 422)},
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        found, values = the_appid(request.user, pk), self.validated(binding_serializers.GenerateRequest)
        made = generate(
            request.user,
            found,
            values["topics"],
            one=values["one"],
            kinds=values["declare"],
            note=values["note"],
            address=address_of(request),
        )
        return Response([{"name": name, "topics": topics} for name, topics in made.items()], status=201)


class Bindings(PagedView):
    @extend_schema(
        operation_id="list_bindings",
        summary="What of an AppID is bound, the widest first: itself, its InstanceIDs, Topic lists, Topics and groups.",
        parameters=PAGES,
        responses={200: serializers.BoundSerializer(many=True), **problems(400, 404, 503)},
    )
    def get(self, request: Request, pk: int) -> Response:
        found, look = the_appid(request.user, pk), engines.look()
        if look.fault:
            raise Problem(
                503,
                say(
                    "ZooKeeper does not answer (%(fault)s): it is not known what is bound.", fault=look.fault
                ),
            )
        document = look.documents.get(found.name)
        rows = changes.bindings_of(document, request.user) if document is not None else []
        return self.page(rows, representations.bound)


class Accesses(PagedView):
    @extend_schema(
        operation_id="list_access",
        summary="What the AppID's clients were seen to do.",
        parameters=PAGES,
        responses={200: serializers.AccessSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request, pk: int) -> Response:
        found = the_appid(request.user, pk)
        seen = Access.objects.filter(pair=found.pair, appid=found.name, last_seen__gte=access_since())
        return self.page(
            seen.order_by("-last_seen", "pk"), lambda each: serializers.AccessSerializer(each).data
        )


def _shown(found: AppID) -> dict[str, object]:
    [bound] = appid_rows.bound_appids([found], engines.look())
    return representations.appid(bound)
