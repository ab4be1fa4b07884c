"""Handlers for the user's own account and tokens, the other people, and the audit log."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.accounts import people, tokens
from hadash.accounts.models import ApiToken
from hadash.accounts.roles import MANAGE_PEOPLE, ROLES, VIEW_AUDIT, may, may_somewhere
from hadash.api import representations
from hadash.api.fields import Text
from hadash.api.idempotency import idempotent
from hadash.api.serializers import people as serializers
from hadash.api.views.common import KEY, PAGES, PagedView, View, address_of, browser, problems, the_pair
from hadash.audit.models import Entry, stored
from hadash.inventory.models import Pair


class Me(View):
    @extend_schema(
        operation_id="me",
        summary="Who you are, and what you may do.",
        responses={200: serializers.MeSerializer, **problems()},
    )
    def get(self, request: Request) -> Response:
        names = sorted({name for role in ROLES.values() for name in role})
        allowed = [name for name in names if may_somewhere(request.user, name)]
        return Response({**_person(request.user), "permissions": allowed})


def _person(user: Any) -> dict[str, Any]:
    roles = [{"role": group.name, "pair": None} for group in user.groups.all() if group.name in ROLES]
    roles += [{"role": held.group.name, "pair": held.pair.name} for held in user.pair_roles.all()]
    return {
        "username": user.get_username(),
        "name": user.get_full_name(),
        "active": user.is_active,
        "roles": roles,
    }


# -- tokens --------------------------------------------------------------------------------------------------------


class Tokens(PagedView):
    @extend_schema(
        operation_id="list_tokens",
        summary="Your tokens, without their secrets.",
        parameters=PAGES,
        responses={200: serializers.TokenSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request) -> Response:
        own = ApiToken.objects.filter(user=request.user).select_related("pair")
        return self.page(own, representations.token)

    @extend_schema(
        operation_id="issue_token",
        summary="A new token of your own; only from a browser's session. Its secret is shown this once.",
        request=serializers.TokenRequest,
        responses={201: serializers.NewTokenSerializer, **problems(400, 404)},
    )
    def post(self, request: Request) -> Response:
        values = self.validated(serializers.TokenRequest)
        pair = the_pair(request.user, values["pair"]) if values["pair"] else None
        token, secret = tokens.issue(
            request.user,
            values["name"],
            values["scopes"],
            values["days"],
            pair,
            address_of(request),
            browser(request),
        )
        return Response({**representations.token(token), "secret": secret}, status=201)


class OneToken(View):
    @extend_schema(
        operation_id="revoke_token",
        summary="End one of your tokens for good: any from a browser's session, a token only itself.",
        responses={204: None, **problems(404)},
    )
    def delete(self, request: Request, pk: int) -> Response:
        found = ApiToken.objects.filter(user=request.user, pk=pk).first()
        if found is None:
            raise Http404(_("You have no such token."))
        # (A leaked token must not revoke the others: even one that may only read could lock its owner out.)
        if request.auth is not None and request.auth.pk != found.pk:
            raise PermissionDenied("A token revokes only itself: revoke others at a browser.")
        tokens.revoke(request.user, found, address_of(request))
        return Response(status=204)


# -- other people --------------------------------------------------------------------------------------------------


class PersonRequest(s.Serializer):
    username = Text(max_length=people.MAX_USERNAME)
    name = Text(max_length=people.MAX_NAME, required=False, default="", allow_blank=True)
    password = Text(max_length=1000, trim_whitespace=False, write_only=True)


class ActiveRequest(s.Serializer):
    active = s.BooleanField(help_text="False keeps somebody out, with all sessions and tokens.")


class People(PagedView):
    @extend_schema(
        operation_id="list_people",
        summary="All people with their roles.",
        parameters=PAGES,
        responses={200: serializers.PersonSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request) -> Response:
        _manages(request.user)
        return self.page(_everybody(), _person)

    @extend_schema(
        operation_id="create_person",
        summary="A local account, without any role yet.",
        request=PersonRequest,
        parameters=[KEY],
        responses={201: serializers.PersonSerializer, **problems(400, 409, 422)},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        _manages(request.user)
        values = self.validated(PersonRequest)
        made = people.create(request.user, **values, address=address_of(request))
        return Response(_person(made), status=201)


class OnePerson(View):
    @extend_schema(
        operation_id="change_person",
        summary="Let somebody in, or keep them out.",
        request=ActiveRequest,
        parameters=[KEY],
        responses={200: serializers.PersonSerializer, **problems(400, 404, 409, 422)},
    )
    @idempotent
    def put(self, request: Request, username: str) -> Response:
        _manages(request.user)
        values = self.validated(ActiveRequest)
        people.set_active(request.user, _the_person(username), values["active"], address_of(request))
        return Response(_person(_the_person(username)))


class Roles(View):
    @extend_schema(
        operation_id="give_role",
        summary="Give a role, on one pair or on all.",
        request=serializers.RoleSerializer,
        parameters=[KEY],
        responses={200: serializers.PersonSerializer, **problems(400, 404, 409, 422)},
    )
    @idempotent
    def post(self, request: Request, username: str) -> Response:
        return self._change(request, username, people.grant)

    @extend_schema(
        operation_id="take_role",
        summary="Take a role away, on one pair or on all: ``?role=operator&pair=main``.",
        parameters=[serializers.RoleSerializer],
        responses={200: serializers.PersonSerializer, **problems(400, 404, 409)},
    )
    def delete(self, request: Request, username: str) -> Response:
        return self._change(request, username, people.revoke, request.query_params.dict())

    def _change(self, request: Request, username: str, change: Any, data: Any = None) -> Response:
        _manages(request.user)
        values = self.validated(serializers.RoleSerializer, data)
        person, pair = _the_person(username), _pair(values["pair"])
        change(request.user, person, values["role"], pair, address_of(request))
        return Response(_person(_the_person(username)))


def _pair(name: str | None) -> Pair | None:
    """Return the pair of this name, also one that the user may not see: people with this permission give roles on
    every pair.

    :raises Http404: there is no such pair.
    """
    if not name:
        return None
    found = Pair.objects.filter(name=name).first()
    if found is None:
        raise Http404(_("There is no pair %(name)s.") % {"name": name})
    return found


def _manages(user: Any) -> None:
    if not may(user, MANAGE_PEOPLE):
        raise PermissionDenied("You may not manage people.")


def _everybody() -> QuerySet[User]:
    return User.objects.order_by("username").prefetch_related(
        "groups", "pair_roles__group", "pair_roles__pair"
    )


def _the_person(username: str) -> User:
    found = _everybody().filter(username=stored(username)).first()
    if found is None:
        raise Http404(_("There is nobody called %(username)s.") % {"username": username})
    return found


# -- the audit log -------------------------------------------------------------------------------------------------


class AuditQuery(s.Serializer):
    q = Text(max_length=200, required=False, help_text="A part of the subject.")
    actor = Text(max_length=150, required=False, help_text="A user name.")
    verb = Text(max_length=40, required=False)
    after = s.IntegerField(
        min_value=0, max_value=2**62, required=False, help_text="Only entries with larger numbers."
    )


class Audit(PagedView):
    @extend_schema(
        operation_id="list_audit",
        summary="The audit log, newest first.",
        parameters=[AuditQuery, *PAGES],
        responses={200: serializers.AuditSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request) -> Response:
        if not may(request.user, VIEW_AUDIT):
            raise PermissionDenied("You may not read the audit log.")
        asked = self.validated(AuditQuery, request.query_params.dict())
        fields = {"q": "subject__icontains", "actor": "actor_name", "verb": "verb", "after": "number__gt"}
        found = Entry.objects.filter(**{fields[name]: value for name, value in asked.items()})
        return self.page(found, Entry.to_json)
