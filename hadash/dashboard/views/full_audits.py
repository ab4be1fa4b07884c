"""Full audits of a mirror's Topics: asking for one, its page, cancelling it."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from hadash.accounts.roles import ACCEPT
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.mirrors.selectors import the_mirror
from hadash.dashboard.sorting import Keys, part_order
from hadash.dashboard.views.common import address_of, denied, part_of, typed, user_of
from hadash.full_audits import requests
from hadash.full_audits.models import FullAudit
from hadash.full_audits.selectors import full_audits_of
from hadash.mirroring.models import Mirror
from hadash.presentation import badges
from hadash.presentation.localized import sentence
from hadash.refusals import Refused

#: Partitions on one page of their table; full audits in the mirror's list.
PARTITIONS_SHOWN = 50
AUDITS_SHOWN = 5

#: The sort keys of the partitions.
PARTITION_KEYS: Keys = {
    "partition": itemgetter("partition"),
    "source": lambda each: each["source"] and each["source"][0],
    "target": lambda each: each["target"] and each["target"][0],
    "equal": itemgetter("equal"),
    "differences": lambda each: sum(each["kinds"].values()),
}

#: Topics that a browser offers while somebody types a name.
TOPICS_OFFERED = 200

COLUMNS = (
    "partition", "source_from", "source_to", "target_from", "target_to", "equal", "different", "offsets_moved",
    "older_on_source", "older_on_target", "late",
)  # fmt: skip


def section(request: HttpRequest, mirror: Mirror) -> dict[str, Any]:
    """Return the context of the full audits on a mirror's page."""
    return {
        "full_audits": [(each, badges.of_full_audit(each)) for each in full_audits_of(mirror)[:AUDITS_SHOWN]],
        "may_compare": requests.may_request(user_of(request), mirror),
        "topics_offered": mirror.topics[:TOPICS_OFFERED],
        "only_topic": mirror.topics[0] if len(mirror.topics) == 1 else "",
    }


@require_POST
def ask(request: HttpRequest, pair: str, name: str) -> HttpResponse:
    """Have a whole Topic compared: field ``topic``."""
    mirror = the_mirror(user_of(request), pair, name)
    try:
        made = requests.request(
            user_of(request), mirror, typed(request, "topic").strip(), address_of(request)
        )
    except PermissionDenied as error:
        return denied(request, error, ACCEPT, mirror.pair)
    except Refused as refusal:
        for reason in refusal.reasons:
            messages.error(request, sentence(reason))
        return redirect(f"{reverse('mirror', args=[pair, name])}#full-audits")
    return redirect(made)


@require_GET
def full_audit(request: HttpRequest, pair: str, name: str, pk: int) -> HttpResponseBase:
    """Render a full audit, or with htmx only the part that changes; ``?partitions=`` is a page of its partitions, which
    ``?partitions-sort=`` orders;
    ``?csv=partitions`` has all of them.
    """
    found = _the_audit(request, pair, name, pk)
    if request.GET.get("csv") == "partitions":
        return csv_response(f"full-audit-{found.topic}", COLUMNS, _rows(found.partitions))
    order = part_order(request, "partitions", PARTITION_KEYS, found.get_absolute_url())
    context = {
        "audit": found,
        "mirror": found.mirror,
        "state": badges.of_full_audit(found),
        "order": order,
        "partitions": part_of(
            request,
            "partitions",
            order.rows(found.partitions, PARTITION_KEYS),
            PARTITIONS_SHOWN,
            found.get_absolute_url(),
        ),
        "may_compare": requests.may_request(user_of(request), found.mirror),
    }
    template = (
        "mirrors/full_audit_live.html" if request.headers.get("HX-Request") else "mirrors/full_audit.html"
    )
    return render(request, template, context)


@require_POST
def cancel(request: HttpRequest, pair: str, name: str, pk: int) -> HttpResponse:
    """Cancel a full audit that waits or runs."""
    found = _the_audit(request, pair, name, pk)
    try:
        requests.cancel(user_of(request), found, address_of(request))
    except PermissionDenied as error:
        return denied(request, error, ACCEPT, found.mirror.pair)
    except Refused as refusal:
        for reason in refusal.reasons:
            messages.error(request, sentence(reason))
    else:
        messages.success(request, _("The full audit is cancelled."))
    return redirect(found)


def _rows(partitions: Iterable[dict[str, Any]]) -> Iterable[tuple[Any, ...]]:
    for each in partitions:
        kinds = each["kinds"]
        moved = kinds.get("offsets", 0)
        yield (
            each["partition"], *(each["source"] or (None, None)), *(each["target"] or (None, None)), each["equal"],
            sum(kinds.values()) - moved, moved, *each["older"], each["late"],
        )  # fmt: skip


def _the_audit(request: HttpRequest, pair: str, name: str, pk: int) -> FullAudit:
    """Return a full audit. :raises Http404: there is none of this number, or it is not kept any more."""
    found = full_audits_of(the_mirror(user_of(request), pair, name)).filter(pk=pk).first()
    if found is None:
        raise Http404(_("There is no full audit %(number)s of this mirror.") % {"number": pk})
    return found
