"""Bindings by hand: requesting a change, its page, the actions on it; and generating and unregistering InstanceIDs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from hadash.accounts.browser import browser_of
from hadash.accounts.roles import DECIDE, REGISTER, REQUEST, may
from hadash.changes import Status
from hadash.dashboard.binding_forms import BindForm, GenerateForm
from hadash.dashboard.forms import names_in
from hadash.dashboard.templatetags.hadash import listed
from hadash.dashboard.views import appids
from hadash.dashboard.views.actions import actions_on, decisions_on, refuse_without_zookeeper
from hadash.dashboard.views.common import (
    address_of,
    denied,
    faults_of,
    searched_for_form,
    the_appid,
    typed,
    user_of,
)
from hadash.identity.identity import Identity
from hadash.inventory.declarations import NotDeclared
from hadash.inventory.generating import generate as generate_ids
from hadash.inventory.models import AppID, InstanceID
from hadash.inventory.relations import CONSUME, PRODUCE
from hadash.inventory.services import NotRegistered
from hadash.presentation import badges, changes, engines, observed, selectors
from hadash.presentation.changes import kind_of
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.approvals import four_eyes
from hadash.switching.binding_changes import decisions, requests
from hadash.switching.binding_changes.unregistering import unregister as unregister_instance
from hadash.switching.binding_rule import Judgement, Wanted, governed
from hadash.switching.handovers import handing_over
from hadash.switching.models.binding_changes import BindingChange, digest_of

#: Most uses of each binding that a page lists.
SHOWN_USES = 12


# -- asking --------------------------------------------------------------------------------------------------------


def bind(request: HttpRequest, pk: int) -> HttpResponse:
    """Request a change of bindings. GET: the form; ``?instance=``, ``?topics=``, ``?group=`` or ``?unbind=`` fill it.
    POST: its fields.
    """
    found = the_appid(user_of(request), pk)
    if not may(user_of(request), REQUEST, found.pair):
        error = PermissionDenied("You may not request changes of bindings.")
        return denied(request, error, REQUEST, found.pair)
    form = _form(request, found)
    if request.method != "POST":
        return _form_page(request, found, form)
    if not form.is_valid():
        return _form_page(request, found, form, faults_of(form), 409)
    wanted = form.wanted()
    if wanted is None:
        return _form_page(request, found, form, [say("Say what to bind or to unbind.")], 409)
    try:
        refuse_without_zookeeper()
        values = form.cleaned_data
        change = requests.request(
            requests.ChangeRequest(
                user_of(request),
                found,
                wanted,
                values["reason"],
                address_of(request),
                browser_of(request),
                values["register"],
            ),
            values["digest"],
        )
    except PermissionDenied as error:
        return denied(request, error, REGISTER, found.pair)
    except Refused as refusal:
        return _form_page(request, found, form, refusal.reasons, 409)
    messages.success(request, _("The change is requested. Somebody else has to approve it."))
    return redirect("binding-change", key=change.key)


@require_GET
def preview(request: HttpRequest, pk: int) -> HttpResponse:
    """Render what would be written for the form's present content."""
    found = the_appid(user_of(request), pk)
    form = BindForm(request.GET, appid=found.name, unbind=request.GET.getlist("unbind"))
    form.is_valid()
    return render(request, "bindings/preview.html", _proposal(found, form))


def _form(request: HttpRequest, appid: AppID) -> BindForm:
    if request.method == "POST":
        return BindForm(request.POST, appid=appid.name, unbind=request.POST.getlist("unbind"))
    unbind = request.GET.getlist("unbind")
    return BindForm(initial=searched_for_form(request), appid=appid.name, unbind=unbind)


def _form_page(
    request: HttpRequest,
    appid: AppID,
    form: BindForm,
    refusals: list[Sentence] | None = None,
    status: int = 200,
) -> HttpResponse:
    look = engines.look()
    document = look.documents.get(appid.name)
    bound = changes.bindings_of(document, user_of(request)) if document is not None else []
    context = {
        "form": form,
        "bound": [(one, one.identity.key in form.unbind) for one in bound],
        "names": sorted(appid.instances.values_list("name", flat=True)),
        "topics": observed.topics(appid.pair, appid),
        "refusals": refusals or [],
        "may_register": may(user_of(request), REGISTER, appid.pair),
        **_proposal(appid, form),
    }
    return render(request, "bindings/request.html", context, status=status)


def _proposal(appid: AppID, form: BindForm) -> dict[str, Any]:
    """Return the context for what the form would write, and its blockers."""
    look, wanted = engines.look(), form.wanted()
    shown: dict[str, Any] = {
        "appid": appid,
        "engines": look,
        "action": form.the_action,
        "kind": form.the_kind,
        "incomplete": wanted is None,
    }
    if wanted is None or look.fault:
        return shown
    values = form.cleaned_data if form.is_bound else form.initial
    return {**shown, **_looked_at(appid, wanted, register=bool(values.get("register")))}


def _looked_at(appid: AppID, wanted: Wanted, *, register: bool = False) -> dict[str, Any]:
    """Return a change as it would be written now; ``reasons`` say why it cannot be."""
    try:
        found = requests.look(appid, wanted, register=register)
    except Refused as refusal:
        return {"reasons": refusal.reasons}
    return {
        "rows": _rows(appid, found),
        "digest": digest_of(appid.pair.name, appid.name, found.edits),
        "reasons": found.blockers,
        "instead": _switch_instead(appid, wanted, found),
    }


def _rows(appid: AppID, found: Judgement) -> list[dict[str, Any]]:
    """Return a row per identity: its new binding, and the uses that the binding governs."""
    uses = sorted(requests.known_of(appid).uses)
    rows = []
    for identity, cluster in found.edits.items():
        its = governed(found.after if cluster is not None else found.before, identity, uses)
        own = found.before.binding_of(identity)
        rows.append(
            {
                "identity": identity,
                "kind": kind_of(identity),
                "cluster": cluster,
                "stays_on": own.cluster if own is not None and not found.moves else "",
                "uses": its[:SHOWN_USES],
                "more": max(len(its) - SHOWN_USES, 0),
            }
        )
    return rows


def _switch_instead(appid: AppID, wanted: Wanted, found: Judgement) -> str:
    """Return the query to request a switch with the same effect; empty when no client would move."""
    if not found.moves:
        return ""
    identity = next(iter((*wanted.unbind, *wanted.bind)), Identity(appid.name))
    values = {"appid": str(appid.pk), "scope": "appid", "target": found.moves[0].after}
    if identity.instance_id is not None:
        values |= {"scope": "instance", "instance": identity.instance_id}
    elif identity.topics:
        values |= {"scope": "topics", "topics": ", ".join(identity.topics)}
    return urlencode(values)


# -- one change ----------------------------------------------------------------------------------------------------


@require_GET
def change(request: HttpRequest, key: str) -> HttpResponse:
    return _page(request, changes.the_change(user_of(request), key))


def _page(
    request: HttpRequest,
    found: BindingChange,
    refusals: list[Sentence] | None = None,
    status: int = 200,
    reason: str = "",
) -> HttpResponse:
    user = user_of(request)
    awaiting, own = found.current is Status.AWAITING_APPROVAL, found.requested_by_id == user.pk
    approvals = four_eyes.shown(found)
    appid = AppID.objects.select_related("pair__default").filter(pair=found.pair, name=found.appid).first()
    now: dict[str, Any] = {}
    if awaiting and appid is not None and not engines.look_at_gateways().fault:
        now = _looked_at(appid, found.wanted)
    context = {
        "change": found,
        "state": badges.of_row(found),
        "edits": [(kind_of(identity), identity, cluster) for identity, cluster in found.the_edits.items()],
        "the_appid": appid,
        "awaiting": awaiting,
        "own": own,
        "writing": _goes_on(found),
        "approvals": approvals,
        "approvals_missing": four_eyes.missing_of(found, len(approvals)),
        "may_decide": decisions.BINDING_CHANGES.may_decide(user, found, approvals),
        "may_cancel": decisions.BINDING_CHANGES.may_cancel(user, found),
        "deciders": selectors.people_who(
            DECIDE, found.pair, found.requested_by, *(given.user for given in approvals)
        )
        if awaiting
        else [],
        "now": now,
        "refusals": refusals or [],
        "typed_reason": reason,
    }
    part = "bindings/live.html" if request.headers.get("HX-Request") else "bindings/page.html"
    return render(request, part, context, status=status)


def _goes_on(found: BindingChange) -> bool:
    """Whether the page has to refresh itself: until the change is written, and the engines have reported it or the
    time for their reports is over.
    """
    if found.current is not Status.APPLIED or found.ended_at is None:
        return found.current is Status.APPROVED
    return timezone.now() - found.ended_at < timedelta(seconds=settings.BINDING_APPLY_SECONDS + 2)


def _refused(request: HttpRequest, found: BindingChange, reasons: list[Sentence]) -> HttpResponse:
    return _page(request, found, reasons, 409, typed(request, "reason"))


action = actions_on(changes.the_change, "binding-change", _refused)


approve, decline, cancel = decisions_on(
    action,
    decisions.BINDING_CHANGES,
    lambda change: handing_over.start_change(change),
    lambda change: _("Approved. It is being written."),
)


# -- InstanceIDs ---------------------------------------------------------------------------------------------------


def generate(request: HttpRequest, pk: int) -> HttpResponse:
    """Register InstanceIDs with new names for the Topics of the form."""
    found = the_appid(user_of(request), pk)
    if request.method != "POST":
        return redirect("appid", pk=pk)
    form = GenerateForm(request.POST)
    if not form.is_valid():
        return appids.page(request, found, generate_form=form, refusals=faults_of(form), status=409)
    values = form.cleaned_data
    kinds = [kind for kind in (PRODUCE, CONSUME) if values[kind]]
    try:
        made = generate_ids(
            user_of(request),
            found,
            names_in(values["topics"]),
            one=values["one"] == "one",
            kinds=kinds,
            note=values["note"],
            address=address_of(request),
        )
    except PermissionDenied as error:
        return denied(request, error, REGISTER, found.pair)
    except NotRegistered as refusal:
        return appids.page(request, found, generate_form=form, refusals=[refusal.sentence], status=409)
    except NotDeclared as refusal:
        return appids.page(request, found, generate_form=form, refusals=refusal.reasons, status=409)
    messages.success(request, _("Registered: %(names)s.") % {"names": listed(made)})
    return redirect("appid", pk=pk)


def unregister(request: HttpRequest, pk: int, row: int) -> HttpResponse:
    """Unregister an InstanceID. ``row`` is its number; field ``typed`` its name, to confirm."""
    found = the_appid(user_of(request), pk)
    if not may(user_of(request), REGISTER, found.pair):
        error = PermissionDenied("You may not register InstanceIDs.")
        return denied(request, error, REGISTER, found.pair)
    instance = InstanceID.objects.select_related("appid__pair").filter(appid=found, pk=row).first()
    if instance is None:
        raise Http404(_("%(appid)s has no such InstanceID.") % {"appid": found.name})
    context: dict[str, Any] = {"appid": found, "instance": instance, "typed": typed(request, "typed")}
    if request.method != "POST":
        return render(request, "bindings/unregister.html", context)
    try:
        refuse_without_zookeeper()
        unregister_instance(user_of(request), instance, context["typed"], address_of(request))
    except Refused as refusal:
        context["refusals"] = refusal.reasons
        return render(request, "bindings/unregister.html", context, status=409)
    messages.success(request, _("%(name)s is not registered any more.") % {"name": instance.name})
    return redirect("appid", pk=pk)
