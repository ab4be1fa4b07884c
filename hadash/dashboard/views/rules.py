"""The rules of a pair: approvals, limits, blackouts. Everybody may read them; administrators change them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from hadash.accounts.roles import CHANGE_POLICY, may, on_pairs
from hadash.dashboard.forms import BlackoutForm, RulesForm
from hadash.dashboard.templatetags.hadash import listed
from hadash.dashboard.views.common import address_of, denied, the_pair, user_of
from hadash.governance.findings import RULES
from hadash.inventory.models import Pair
from hadash.presentation import labels
from hadash.presentation.localized import sentence
from hadash.refusals import Refused
from hadash.sentences import Sentence
from hadash.switching import policy
from hadash.switching.machines.switches import KINDS
from hadash.switching.models.policies import AUDIT_RULES, Blackout
from hadash.switching.stages.run import AuditRule


@require_http_methods(["GET", "POST"])
def rules(request: HttpRequest, pk: int) -> HttpResponse:
    """Show or change the rules of a pair. POST: the fields of :class:`RulesForm`."""
    pair = the_pair(user_of(request), pk)
    if request.method == "GET":
        return _page(request, pair, RulesForm(instance=policy.policy_of(pair)))
    if not may(user_of(request), CHANGE_POLICY, pair):
        error = PermissionDenied("You may not change the rules of a pair.")
        return denied(request, error, CHANGE_POLICY, pair)
    form = RulesForm(request.POST, instance=policy.policy_of(pair))
    if not form.is_valid():
        return _page(request, pair, form, status=409)
    try:
        policy.set_policy(user_of(request), pair, form.values(), address_of(request))
    except Refused as refusal:
        return _page(request, pair, form, refusals=refusal.reasons, status=409)
    messages.success(request, _("The rules are changed. They hold from the next request on."))
    return redirect("rules", pk=pair.pk)


@require_POST
def add_blackout(request: HttpRequest, pk: int) -> HttpResponse:
    """Add a blackout. Fields ``begins``, ``ends``, ``reason``."""
    pair = the_pair(user_of(request), pk)
    form = BlackoutForm(request.POST)
    try:
        if not form.is_valid():
            return _page(request, pair, None, form, status=409)
        values = form.cleaned_data
        policy.add_blackout(
            user_of(request), pair, values["begins"], values["ends"], values["reason"], address_of(request)
        )
    except PermissionDenied as error:
        return denied(request, error, CHANGE_POLICY, pair)
    except Refused as refusal:
        return _page(request, pair, None, form, refusal.reasons, status=409)
    messages.success(request, _("Nothing of this pair starts in that time."))
    return redirect("rules", pk=pair.pk)


#: The rules that are whole numbers.
WHOLE = frozenset({"approvals", "pool_approvals", "max_lag"})


@require_POST
def end_blackout(request: HttpRequest, pk: int) -> HttpResponse:
    visible = Blackout.objects.filter(on_pairs(user_of(request)))
    found = get_object_or_404(visible.select_related("pair"), pk=pk)
    try:
        policy.end_blackout(user_of(request), found, address_of(request))
    except PermissionDenied as error:
        return denied(request, error, CHANGE_POLICY, found.pair)
    messages.success(request, _("The blackout is taken back."))
    return redirect("rules", pk=found.pair_id)


def _audit_rules() -> list[tuple[str, str]]:
    """Return the choices of the rule about auditors, the first one as the settings have it."""
    words = dict(AUDIT_RULES)
    by_setting = words[AuditRule(settings.SWITCH_AUDIT).value]
    first = _("as in the settings: %(rule)s") % {"rule": by_setting}
    return [("", first), *((value, str(said)) for value, said in AUDIT_RULES)]


def _page(
    request: HttpRequest,
    pair: Pair,
    form: RulesForm | None,
    blackout_form: BlackoutForm | None = None,
    refusals: list[Sentence] | None = None,
    status: int = 200,
) -> HttpResponse:
    limits = policy.limits_of(pair)
    stopping: Iterable[str] = policy.stopping(pair)
    if form is not None and isinstance(form.data, QueryDict) and form.is_bound:
        stopping = form.data.getlist("stopping")
    context: dict[str, Any] = {
        "pair": pair,
        "form": form or RulesForm(instance=policy.policy_of(pair)),
        "blackout_form": blackout_form or BlackoutForm(),
        "blackouts": pair.blackouts.filter(ends__gt=timezone.now()),
        "may_change": may(user_of(request), CHANGE_POLICY, pair),
        "in_effect": {
            "max_lag": limits.max_lag,
            "quiesce_seconds": limits.quiesce,
            "block_seconds": limits.block,
            "drain_seconds": limits.drain,
            "forward_seconds": limits.forward,
            "reverse_seconds": limits.reverse,
            "verify_seconds": limits.verify,
            "verify_hold_seconds": limits.verify_hold,
            "rpo_seconds": policy.rpo_of(pair),
            "pool_approvals": settings.POOL_APPROVALS,
        },
        "whole": WHOLE,
        "findings": [
            {"code": code.value, "words": labels.FINDING_WORDS[code], "stops": code.value in stopping}
            for code in RULES
        ],
        "unstopped": listed(sentence(spec.label) for spec in KINDS.values() if not spec.findings_stop),
        "audit_rules": _audit_rules(),
        "refusals": refusals or [],
    }
    return render(request, "rules/page.html", context, status=status)
