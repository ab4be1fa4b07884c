"""Declared relations: of one AppID, and of a pair with its files. The services decide what is possible."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from hadash.accounts.roles import REGISTER
from hadash.audit.models import stored
from hadash.dashboard.forms import DeclareForm, ImportForm
from hadash.dashboard.sorting import order_of
from hadash.dashboard.templatetags.hadash import listed
from hadash.dashboard.views import appids
from hadash.dashboard.views.common import address_of, denied, paged, searched, the_appid, the_pair, user_of
from hadash.inventory import declarations
from hadash.inventory.compared import ORDERS, Compared
from hadash.inventory.declarations import Declared, Import, NotDeclared, may_declare
from hadash.inventory.differences import State
from hadash.inventory.models import AppID, Pair
from hadash.inventory.relations_csv import MAX_LINES
from hadash.presentation import badges, declared
from hadash.presentation.declared import chosen
from hadash.presentation.localized import sentence

#: Rows of a page: they are short, and people read through them.
PAGE_SIZE = 50

#: Most changes and faults of a file that its preview lists; the rest are counted.
SHOWN = 200


# -- one AppID -----------------------------------------------------------------------------------------------------


def declare(request: HttpRequest, pk: int) -> HttpResponse:
    """Declare relations of an AppID. The fields of :class:`DeclareForm`."""
    found = the_appid(user_of(request), pk)
    if request.method != "POST":
        return _back(found)
    form = DeclareForm(request.POST)
    fault = form.fault()
    if fault is not None:
        return appids.page(request, found, declare_form=form, refusals=[fault], status=409)
    try:
        done = declarations.declare(user_of(request), found, **form.values(), address=address_of(request))
    except PermissionDenied as error:
        return denied(request, error, REGISTER, found.pair)
    except NotDeclared as refusal:
        return appids.page(request, found, declare_form=form, refusals=refusal.reasons, status=409)
    _tell(request, done)
    return _back(found)


def adopt(request: HttpRequest, pk: int) -> HttpResponse:
    """Declare relations that were seen. Fields ``chosen`` (keys of rows; or ``all``) and ``of`` (``client`` or
    ``appid``).
    """
    found = the_appid(user_of(request), pk)
    if request.method != "POST":
        return _back(found)
    wanted = None if request.POST.get("all") else chosen(found, stored(request.POST.getlist("chosen")))
    whole = request.POST.get("of") == "appid"
    try:
        done = declarations.adopt(user_of(request), found, wanted, whole=whole, address=address_of(request))
    except PermissionDenied as error:
        return denied(request, error, REGISTER, found.pair)
    except NotDeclared as refusal:
        return appids.page(request, found, refusals=refusal.reasons, status=409)
    _tell(request, done)
    for reason in done.left:
        messages.error(request, _("Not declared: %(reason)s") % {"reason": sentence(reason)})
    return _back(found)


def withdraw(request: HttpRequest, pk: int, row: int) -> HttpResponse:
    """Withdraw a declaration. ``row`` is its number; one that was withdrawn meanwhile is no error."""
    found = the_appid(user_of(request), pk)
    if request.method != "POST":
        return _back(found)
    try:
        declarations.withdraw(user_of(request), found, row, address_of(request))
    except PermissionDenied as error:
        return denied(request, error, REGISTER, found.pair)
    messages.success(request, _("It is not declared any more."))
    return _back(found)


def _tell(request: HttpRequest, done: Declared) -> None:
    count = len(done.added)
    if not count:
        messages.success(request, _("It was declared already."))
        return
    text = ngettext("%(n)s relation is declared.", "%(n)s relations are declared.", count) % {"n": count}
    if done.registered:
        text += " " + _("Registered with it: %(names)s.") % {"names": listed(done.registered)}
    messages.success(request, text)


def _back(appid: AppID) -> HttpResponse:
    return redirect(f"{reverse('appid', args=[appid.pk])}#declared")


# -- a pair --------------------------------------------------------------------------------------------------------


@require_GET
def of_pair(request: HttpRequest, pk: int) -> HttpResponse:
    """List the relations of a pair. ``?q=`` searches the AppIDs' names, ``?state=`` is a value of :class:`State`;
    ``?sort=``.
    """
    return _page(request, the_pair(user_of(request), pk))


def _page(
    request: HttpRequest, pair: Pair, refusal: str = "", faults: Import | None = None, status: int = 200
) -> HttpResponse:
    query, state = _filters(request)
    order = order_of(request, ORDERS)
    found = Compared(pair, query, state=State(state) if state else None, order=order.text or "appid")
    page = paged(request, found.first, PAGE_SIZE)
    rows = declared.rows(page.object_list)
    names = {row.relation.appid for row in rows}
    context = {
        "pair": pair,
        "order": order,
        "page": page,
        "rows": rows,
        "appids": dict(AppID.objects.filter(pair=pair, name__in=names).values_list("name", "pk")),
        "query": query,
        "state": state,
        "states": {
            one.value: (badges.of_declaration(one), badges.DECLARATION_REMEDIES[one]) for one in State
        },
        "counts": {state.value: count for state, count in found.counts.items()},
        "filters": urlencode({name: value for name, value in (("q", query), ("state", state)) if value}),
        "may_declare": may_declare(user_of(request), pair),
        "max_lines": MAX_LINES,
        "window_days": settings.ACCESS_WINDOW_DAYS,
        "refusal": refusal,
        "faults": faults.faults[:SHOWN] if faults else (),
        "fault_count": len(faults.faults) if faults else 0,
    }
    return render(request, "declarations/page.html", context, status=status)


def _filters(request: HttpRequest) -> tuple[str, str]:
    state = searched(request, "state")
    query = searched(request, "q")
    return query, state if state in set(State) else ""


@require_GET
def export(request: HttpRequest, pk: int) -> HttpResponse:
    """Export the declared relations as the file that can be imported. The page's filters apply: with a state, relations
    that were only seen are included.
    """
    pair = the_pair(user_of(request), pk)
    query, state = _filters(request)
    # (Excel reads a file without the byte order mark in the code page of its country.)
    text = "\ufeff" + declared.file_of(pair, query, state)
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    name = "-".join(filter(None, ("hadash-relations", pair.name, state, f"{timezone.now():%Y-%m-%d}")))
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def import_file(request: HttpRequest, pk: int) -> HttpResponse:
    """Preview or import a file. The preview's form sends the file again with the digest of the differences: then they
    are applied.

    The fields of :class:`ImportForm`.
    """
    pair = the_pair(user_of(request), pk)
    if request.method != "POST":
        return redirect("declarations", pk=pk)
    if not may_declare(user_of(request), pair):
        return denied(request, PermissionDenied("You may not declare relations."), REGISTER, pair)
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, pair, refusal=str(next(iter(form.errors.values()))[0]), status=409)
    values = form.cleaned_data
    found = declarations.import_csv(
        user_of(request),
        pair,
        values["content"],
        whole=values["whole"],
        dry_run=not values["digest"],
        expected=values["digest"],
        address=address_of(request),
    )
    if found.faults:
        return _page(request, pair, faults=found, status=409)
    if found.done:
        messages.success(request, _("The file is imported. %(changes)s") % {"changes": _in_words(found)})
        return redirect("declarations", pk=pair.pk)
    context = {
        "pair": pair,
        "found": found,
        "lists": _lists(found),
        "carried": form.carry(),
        "whole": values["whole"],
        "overtaken": bool(values["digest"]),
    }
    return render(request, "declarations/import.html", context, status=409 if values["digest"] else 200)


def _lists(found: Import) -> list[dict[str, Any]]:
    """Return the changes by kind: title, number, and the first of them with the new notes."""
    kinds = (
        (_("Newly declared"), found.changes.added),
        (_("With another note"), found.changes.noted),
        (_("Withdrawn"), found.changes.withdrawn),
    )
    return [
        {
            "title": title,
            "noted": relations is not found.changes.withdrawn,
            "count": len(relations),
            "rows": [(relation, found.relations.get(relation, "")) for relation in relations[:SHOWN]],
        }
        for title, relations in kinds
        if relations
    ]


def _in_words(found: Import) -> str:
    changes = found.changes
    return _("%(added)s newly declared, %(noted)s with another note, %(withdrawn)s withdrawn.") % {
        "added": len(changes.added),
        "noted": len(changes.noted),
        "withdrawn": len(changes.withdrawn),
    }
