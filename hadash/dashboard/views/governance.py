"""The risks of a fleet: findings with their acceptances, and the rules that find them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from hadash.accounts.roles import ACCEPT, may
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.graph.nodes import Focus
from hadash.dashboard.sorting import Fields, order_of
from hadash.dashboard.views.common import address_of, denied, paged, searched, typed, user_of
from hadash.governance import accepting, selectors
from hadash.governance.catalogue import CATALOGUE, WEIGHTS, About, Code, Entry, Severity
from hadash.governance.catalogue.figures import WORSE_BY, WORSE_TIMES
from hadash.governance.models.findings import Finding
from hadash.governance.models.runs import Run
from hadash.inventory.models import Access, AppID, Cluster, Pair
from hadash.mirroring.models import Mirror
from hadash.presentation import badges, labels
from hadash.presentation.localized import sentence
from hadash.presentation.published_tables import SHOWS, filtered_findings, sentence_of, the_finding
from hadash.radius.nodes import INSTANCE, TOPIC
from hadash.sentences import Sentence, say

#: AppIDs with the highest scores that are listed beside the findings.
WORST = 8

#: Days of an acceptance that the form suggests: about until the next release.
OFFERED_DAYS = 30


#: The sort keys of the list.
FIELDS: Fields = {
    "severity": ("weight",),
    "what": ("code", "name"),
    "appid": ("appid",),
    "pair": ("pair",),
    "state": ("state",),
    "since": ("opened_at",),
}


@dataclass(frozen=True)
class Shown:
    """A finding as a page shows it. ``entry`` is ``None`` for a rule that this version no longer has."""

    finding: Finding
    entry: Entry | None
    accepted_until: date | None

    @property
    def state(self) -> badges.State:
        return badges.of_finding(self.finding, self.accepted_until is not None)

    @property
    def severity(self) -> badges.State | None:
        return badges.of_severity(self.entry.severity) if self.entry else None

    @property
    def about(self) -> str:
        return str(labels.ABOUT_WORDS[self.entry.about]) if self.entry else ""

    @property
    def evidence(self) -> Sentence:
        return sentence_of(self.finding)


def shown(finding: Finding) -> Shown:
    """Return a finding as a page shows it.

    :param finding: a row of :func:`selectors.findings`.
    """
    return Shown(finding, finding.entry, getattr(finding, "accepted_until", None))


@require_GET
def findings(request: HttpRequest) -> HttpResponseBase:
    """List the findings, the gravest first.

    ``?pair=``, ``?severity=``, ``?code=`` and ``?show=`` (open, the default; worse, accepted, resolved, all) filter,
    ``?q=`` searches AppIDs and names; ``?sort=``; ``?format=csv``.
    """
    pairs = selectors.pair_names(user_of(request))
    pair = _chosen(searched(request, "pair"), pairs)
    severity = _chosen(searched(request, "severity"), [each.value for each in Severity])
    code = _chosen(searched(request, "code"), [each.value for each in Code])
    show = _chosen(searched(request, "show"), SHOWS) or "open"
    query = searched(request, "q")
    wanted = [pair] if pair else pairs
    found = filtered_findings(wanted, severity, code, show, query)
    order = order_of(request, FIELDS)
    found = order.query(found, FIELDS, ("-weight", "pair", "code", "appid", "name"))
    if request.GET.get("format") == "csv":
        return csv_response("findings", _CSV, _csv_rows(found.iterator()))
    page = paged(request, found, scans=bool(query))
    scores, worst = selectors.scores(wanted, WORST)
    context = {
        "page": page,
        "order": order,
        "rows": [shown(each) for each in page.object_list],
        "pairs": pairs,
        "pair": pair,
        "severity": severity,
        "severities": labels.SEVERITY_WORDS,
        "code": code,
        "codes": {each.value: sentence(entry.title) for each, entry in CATALOGUE.items()},
        "show": show,
        "query": query,
        "filtered": bool(pair or severity or code or query or show != "open"),
        "scores": list(scores.items()),
        "worst": _with_pages(worst),
        "run": selectors.published(Run.Job.RISK),
        "job_label": Run.Job.RISK.label,
    }
    return render(request, "governance/findings.html", context)


def _chosen(value: str, known: Sequence[str]) -> str:
    """Return the value if it is known, else an empty string."""
    return value if value in known else ""


def _with_pages(worst: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the number of each AppID's page; ``None`` if it has none."""
    rows = AppID.objects.filter(name__in={row["appid"] for row in worst}).values_list(
        "pair__name", "name", "pk"
    )
    pages = {(pair, name): pk for pair, name, pk in rows}
    return [{**row, "page": pages.get((row["pair"], row["appid"]))} for row in worst]


_CSV = (
    "pair",
    "code",
    "severity",
    "weight",
    "appid",
    "name",
    "state",
    "accepted_until",
    "first_at",
    "opened_at",
    "worse_at",
    "resolved_at",
    "evidence",
)


def _csv_rows(found: Iterator[Finding]) -> Iterator[list[Any]]:
    for each in found:
        row = shown(each)
        yield [
            each.pair,
            each.code,
            row.entry.severity.value if row.entry else "",
            each.weight,
            each.appid,
            each.name,
            each.state,
            row.accepted_until,
            each.first_at.isoformat(),
            each.opened_at.isoformat(),
            each.worse_at.isoformat() if each.worse_at else "",
            each.resolved_at.isoformat() if each.resolved_at else "",
            sentence(row.evidence),
        ]


# -- one finding -------------------------------------------------------------------------------------------------


@require_GET
def finding(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, the_finding(user_of(request), pk))


@require_POST
def accept(request: HttpRequest, pk: int) -> HttpResponse:
    """Accept a finding. Fields ``until`` (a day) and ``reason``."""
    found = the_finding(user_of(request), pk)
    try:
        accepting.check_may(user_of(request), found)
        until = date.fromisoformat(typed(request, "until").strip())
        accepting.accept(user_of(request), found, until, typed(request, "reason"), address_of(request))
    except PermissionDenied as error:
        return _denied(request, error, found)
    except ValueError:
        return _page(request, found, [say("Choose a day until which it is accepted.")], 409)
    except accepting.NotAccepted as refusal:
        return _page(request, found, refusal.reasons, 409)
    messages.success(request, _("It is accepted up to and with %(day)s.") % {"day": until.isoformat()})
    return redirect("finding", pk=pk)


@require_POST
def withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    found = the_finding(user_of(request), pk)
    try:
        accepting.withdraw(user_of(request), found, address_of(request))
    except PermissionDenied as error:
        return _denied(request, error, found)
    except accepting.NotAccepted as refusal:
        return _page(request, found, refusal.reasons, 409)
    messages.success(request, _("It counts again."))
    return redirect("finding", pk=pk)


def _denied(request: HttpRequest, error: PermissionDenied, found: Finding) -> HttpResponse:
    return denied(request, error, ACCEPT, Pair.objects.filter(name=found.pair).first())


def _place(found: Finding) -> str:
    """Return the page of the thing that a finding is about, if it has one; for a group, on the cluster where it was
    seen last.
    """
    match found.entry.about if found.entry else None:
        case About.GROUP:
            seen = Access.objects.filter(pair__name=found.pair, kind=Access.Kind.GROUP, resource=found.name)
            cluster = seen.order_by("-last_seen").values_list("cluster", flat=True).first()
            return reverse("group", args=[cluster, found.name]) if cluster else ""
        case About.MIRROR if Mirror.objects.filter(pair__name=found.pair, name=found.name).exists():
            return reverse("mirror", args=[found.pair, found.name])
        case About.CLUSTER if Cluster.objects.filter(name=found.name).exists():
            return reverse("cluster", args=[found.name])
        case About.TOPIC:
            return Focus(found.pair, TOPIC, name=found.name).href
        case About.CLIENT if found.appid and found.name:
            return Focus(found.pair, INSTANCE, found.appid, found.name).href
    return ""


def _page(
    request: HttpRequest, found: Finding, refusals: Sequence[Sentence] = (), status: int = 200
) -> HttpResponse:
    pair = Pair.objects.filter(name=found.pair).first()
    today = timezone.now().date()
    context = {
        "row": shown(found),
        "place": _place(found),
        "appid": AppID.objects.filter(pair=pair, name=found.appid).first() if found.appid else None,
        "history": found.acceptances.select_related("accepted_by"),
        "today": today,
        "last_day": today + timedelta(days=accepting.MOST_DAYS),
        "until": typed(request, "until") or (today + timedelta(days=OFFERED_DAYS)).isoformat(),
        "reason": typed(request, "reason"),
        "may_accept": pair is not None and may(user_of(request), ACCEPT, pair),
        "refusals": refusals,
    }
    return render(request, "governance/finding.html", context, status=status)


# -- the rules ---------------------------------------------------------------------------------------------------


_RULE_COLUMNS = ("code", "title", "severity", "weight", "about", "looks_for", "remedy", "source", "open")


def _rule_row(code: Code, entry: Entry, counts: Mapping[str, int]) -> tuple[Any, ...]:
    return (
        code.value,
        sentence(entry.title),
        entry.severity.value,
        entry.weight,
        entry.about.value,
        sentence(entry.holds),
        sentence(entry.remedy),
        entry.source,
        counts.get(code.value, 0),
    )


@require_GET
def catalogue(request: HttpRequest) -> HttpResponseBase:
    """List every rule: what it looks for, its severity, the remedy, its source, and its number of findings now;
    ``?format=csv`` returns them as a table.
    """
    pairs = selectors.pair_names(user_of(request))
    counts = dict(selectors.counting(pairs).order_by().values_list("code").annotate(Count("pk")))
    if request.GET.get("format") == "csv":
        return csv_response("rules", _RULE_COLUMNS, (_rule_row(c, e, counts) for c, e in CATALOGUE.items()))
    rules = [
        {
            "entry": entry,
            "severity": badges.of_severity(entry.severity),
            "about": labels.ABOUT_WORDS[entry.about],
            "count": counts.get(code.value, 0),
        }
        for code, entry in CATALOGUE.items()
    ]
    context = {
        "rules": rules,
        "weights": [(badges.of_severity(s), w) for s, w in WEIGHTS.items()],
        "worse_times": WORSE_TIMES,
        "worse_by": WORSE_BY,
    }
    return render(request, "governance/catalogue.html", context)
