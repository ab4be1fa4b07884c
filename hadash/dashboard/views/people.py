"""People and their roles, for administrators."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from hadash.accounts import people
from hadash.accounts.roles import MANAGE_PEOPLE, ROLES, may
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.forms import PersonForm, RoleForm
from hadash.dashboard.sorting import Fields, order_of
from hadash.dashboard.views.common import address_of, denied, paged, searched, user_of
from hadash.inventory.models import Pair
from hadash.sentences import Sentence, say

#: The sort keys of the list.
FIELDS: Fields = {"username": ("username",), "name": ("first_name", "last_name")}


def _denied(request: HttpRequest, error: PermissionDenied | None = None) -> HttpResponse:
    return denied(request, error or PermissionDenied("You may not manage people."), MANAGE_PEOPLE)


@require_http_methods(["GET", "POST"])
def everybody(request: HttpRequest) -> HttpResponseBase:
    """List all people; ``?q=`` searches names; ``?sort=``; ``?format=csv``. POST: create a local account, with the
    fields of :class:`PersonForm`.
    """
    if not may(user_of(request), MANAGE_PEOPLE):
        return _denied(request)
    form = PersonForm(request.POST or None)
    if request.method == "GET" or not form.is_valid():
        return _page(request, form, status=200 if request.method == "GET" else 409)
    try:
        made = people.create(user_of(request), **form.cleaned_data, address=address_of(request))
    except people.PersonRefused as refusal:
        return _page(request, form, [refusal.sentence], 409)
    messages.success(request, _("%(name)s can sign in. Give a role, too.") % {"name": made.username})
    return redirect("people")


def _page(
    request: HttpRequest, form: PersonForm, refusals: list[Sentence] | None = None, status: int = 200
) -> HttpResponseBase:
    query = searched(request, "q")
    found = User.objects.order_by("username").prefetch_related(
        "groups", "pair_roles__group", "pair_roles__pair"
    )
    if query:
        found = found.filter(
            Q(username__icontains=query) | Q(first_name__icontains=query) | Q(last_name__icontains=query)
        )
    order = order_of(request, FIELDS)
    found = order.query(found, FIELDS, ("username",))
    if request.GET.get("format") == "csv":
        return csv_response("people", _CSV, map(_csv_row, found.iterator(chunk_size=500)))
    page = paged(request, found)
    context = {
        "page": page,
        "order": order,
        "rows": [(person, _roles(person)) for person in page.object_list],
        "query": query,
        "form": form,
        "roles": list(ROLES),
        "pairs": Pair.objects.all(),
        "refusals": refusals or [],
    }
    return render(request, "people/list.html", context, status=status)


_CSV = ("username", "first_name", "last_name", "active", "roles")


def _csv_row(person: User) -> tuple[Any, ...]:
    roles = [f"{role} ({pair})" if pair else role for role, pair in _roles(person)]
    return person.username, person.first_name, person.last_name, person.is_active, roles


def _roles(person: User) -> list[tuple[str, str]]:
    """Return a person's roles as (role, pair); the pair is empty for a role on all."""
    everywhere = [(group.name, "") for group in person.groups.all() if group.name in ROLES]
    held: Any = person
    return everywhere + [(each.group.name, each.pair.name) for each in held.pair_roles.all()]


@require_POST
def change_role(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Give or take a role. Fields ``role``, ``pair`` (empty for all) and ``action``: give or take."""
    change = people.revoke if request.POST.get("action") == "take" else people.grant
    form = RoleForm(request.POST)

    def carry_out(person: User) -> None:
        if not form.is_valid():
            raise people.PersonRefused(say("Choose a role, and all pairs or one of them."))
        pair = form.cleaned_data["pair"]
        change(user_of(request), person, form.cleaned_data["role"], pair, address_of(request))

    return _change(request, pk, carry_out, _("The roles of %(name)s are changed."))


@require_POST
def let_in(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Let a person in, or keep them out. Field ``active``: 1 lets them in, anything else keeps them out."""
    active = request.POST.get("active") == "1"
    said = (
        _("%(name)s may sign in again.")
        if active
        else _("%(name)s is kept out, with all sessions and tokens.")
    )
    return _change(
        request,
        pk,
        lambda person: people.set_active(user_of(request), person, active, address_of(request)),
        said,
    )


def _change(request: HttpRequest, pk: int, carry_out: Any, said: str) -> HttpResponseBase:
    if not may(user_of(request), MANAGE_PEOPLE):
        return _denied(request)
    person = User.objects.filter(pk=pk).first()
    if person is None:
        raise Http404(_("There is nobody with number %(pk)s.") % {"pk": pk})
    try:
        carry_out(person)
    except PermissionDenied as error:
        return _denied(request, error)
    except people.PersonRefused as refusal:
        return _page(request, PersonForm(), [refusal.sentence], 409)
    messages.success(request, said % {"name": person.username})
    return redirect("people")
