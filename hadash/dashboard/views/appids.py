"""AppIDs: the list, the page of one with its clients and declarations, and registering InstanceIDs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from itertools import islice
from operator import attrgetter, itemgetter
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet, Value
from django.db.models.functions import NullIf, Upper
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from django.views.decorators.http import require_GET

from hadash.accounts.roles import CHANGE_APPID, REGISTER, may, may_somewhere
from hadash.dashboard import appid_csv, appid_parts
from hadash.dashboard.binding_forms import GenerateForm
from hadash.dashboard.charts import over_time
from hadash.dashboard.charts.chart import Chart, asked_csv
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.forms import DeclareForm, RegisterForm
from hadash.dashboard.sorting import Fields, Keys, Order, order_of, part_order
from hadash.dashboard.views.common import address_of, denied, paged, part_of, searched, the_appid, user_of
from hadash.governance import critical
from hadash.governance import selectors as governance
from hadash.governance.models.runs import Run
from hadash.inventory import services
from hadash.inventory.declarations import may_declare
from hadash.inventory.models import AppID
from hadash.presentation import appid_rows, badges, changes, declared, engines, observed, selectors
from hadash.presentation.connections import by_cluster
from hadash.presentation.connections import of_appid as connections_of_appid
from hadash.presentation.localized import sentence
from hadash.presentation.tables import Column
from hadash.sentences import Sentence

#: Rows per page of each table of an AppID; it may have thousands of clients.
ROWS_SHOWN = 25

#: Most switches on that page, the newest; the list of switches has all of them.
SWITCHES_SHOWN = 20


#: Parts of that page that are loaded later, and their headings until then.
PARTS = (
    ("appid-moving", _lazy("What would move with it")),
    ("appid-uses", _lazy("Topics and mirrors")),
    ("appid-rights", _lazy("Rules that name it")),
)

#: The sort keys of the list, and of the tables of one AppID.
FIELDS: Fields = {
    "name": ("name",),
    "owner": ("owner_known", "name"),
    "bound": ("bound", "name"),
    "coverage": ("share", "name"),
}
CONNECTED_KEYS: Keys = {
    "client": lambda client: client["client_id"] or None,
    "parked": itemgetter("parked"),
    "library": lambda client: client["library"] or None,
}
BOUND_KEYS: Keys = {
    "kind": lambda bound: str(bound.kind),
    "identity": lambda bound: str(bound.identity),
    "cluster": lambda bound: bound.binding.cluster,
    "state": lambda bound: str(bound.state.word),
    "epoch": lambda bound: bound.binding.epoch,
    "when": attrgetter("at"),
}
OBSERVED_FIELDS: Fields = {
    "client": ("client_known", "kind", "resource"),
    "kind": ("kind", "resource"),
    "resource": ("resource", "kind"),
    "cluster": ("cluster",),
    "library": ("library_known", "version"),
    "when": ("last_seen",),
}
INSTANCE_KEYS: Keys = {
    "name": attrgetter("name"),
    "note": lambda instance: instance.note or None,
    "when": attrgetter("registered_at"),
}

#: AppIDs per read for the CSV.
CSV_CHUNK = 500


@require_GET
def appids(request: HttpRequest) -> HttpResponseBase:
    """List all AppIDs with their bindings: ``?q=`` searches names and owners, ``?pair=`` filters; ``?sort=``;
    ``?format=csv``.
    """
    return listed(request)


def listed(request: HttpRequest, refusals: Sequence[Sentence] = ()) -> HttpResponseBase:
    """Render the list, if need be with the reasons why a file of owners was refused."""
    query, pair = searched(request, "q"), searched(request, "pair")
    pairs = governance.pair_names(user_of(request))
    found = appid_rows.listed_appids(user_of(request))
    if query:
        found = found.filter(Q(folded_name__contains=Upper(Value(query))) | Q(owner__icontains=query))
    if pair in pairs:
        found = found.filter(pair__name=pair)
    look = engines.look()
    order, found, counted = _ordered(request, found, look)
    if request.GET.get("format") == "csv":
        return csv_response("appids", _CSV, _csv_rows(found, look))
    page = paged(request, found, scans=bool(query))
    context = {
        "page": page,
        "order": order,
        "counted": counted,
        "query": query,
        "pair": pair if pair in pairs else "",
        "pairs": pairs,
        "engines": look,
        "appids": appid_rows.bound_appids(page.object_list, look),
        "may_change": may_somewhere(user_of(request), CHANGE_APPID),
        "refusals": refusals,
    }
    return render(request, "appids/list.html", context, status=409 if refusals else 200)


def _ordered(
    request: HttpRequest, found: QuerySet[AppID], look: engines.Engines
) -> tuple[Order, QuerySet[AppID], Run | None]:
    """Return (the order that the address asks for, the AppIDs in it, the run whose coverage orders them). While
    ZooKeeper does not answer, nobody knows an order by clusters.
    """
    order = order_of(request, [name for name in FIELDS if name != "bound" or not look.fault])
    counted = None
    if order.column == "owner":
        found = found.alias(owner_known=NullIf("owner", Value("")))
    elif order.column == "bound":
        found = appid_rows.with_cluster(found, look)
    elif order.column == "coverage":
        counted = governance.published(Run.Job.COVERAGE)
        found = appid_rows.with_share(found, counted)
    return order, order.query(found, FIELDS, ("pair__name", "pk")), counted


_CSV = (
    "pair",
    "appid",
    "owner",
    "critical",
    "bound_to",
    "binding",
    "epoch",
    "clients_seen",
    "of_these_registered",
)


def _csv_rows(found: QuerySet[AppID], look: engines.Engines) -> Iterator[tuple[Any, ...]]:
    every = found.iterator(chunk_size=CSV_CHUNK)
    while some := list(islice(every, CSV_CHUNK)):
        for entry in appid_rows.bound_appids(some, look):
            appid, binding = entry.appid, entry.binding
            whose = "" if binding is None else "its own" if entry.own else "the pair's default"
            yield (
                appid.pair.name, appid.name, appid.owner, appid.critical, binding.cluster if binding else None, whose,
                binding.epoch if binding and entry.own else None, entry.observed, entry.covered,
            )  # fmt: skip


@require_GET
def appid(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Render the page of an AppID, or with htmx only the part that changes.

    ``?client=`` searches InstanceIDs and client.ids; each table has pages of its own: ``?instances=``,
    ``?connected=``, ``?bound=``, ``?seen=``. ``?csv=`` returns all rows of the table, or of the chart, of that name.
    """
    found = the_appid(user_of(request), pk)
    if "csv" in request.GET and (csv := _csv(request, found)) is not None:
        return csv
    if request.headers.get("HX-Request"):
        return render(request, "appids/live.html", _live(request, found))
    return page(request, found)


def page(
    request: HttpRequest,
    found: AppID,
    *,
    form: RegisterForm | None = None,
    declare_form: DeclareForm | None = None,
    generate_form: GenerateForm | None = None,
    typed_owner: str | None = None,
    refusals: Sequence[Sentence] = (),
    status: int = 200,
) -> HttpResponse:
    """Render the page of an AppID, if need be with refused forms and the reasons."""
    switches = list(selectors.history_of(user_of(request), found)[: SWITCHES_SHOWN + 1])
    live = _live(request, found)
    runs = _runs(found)
    context = {
        **live,
        **_registered(request, found, live),
        "form": form or RegisterForm(),
        "history": [(switch, badges.of_row(switch)) for switch in switches[:SWITCHES_SHOWN]],
        "older_switches": len(switches) > SWITCHES_SHOWN,
        "over_time": runs,
        "coverage": _coverage(found, runs),
        "risk": governance.score(governance.counting([found.pair.name]).filter(appid=found.name)),
        "retirements": [(one, badges.of_row(one)) for one in selectors.retirements(user_of(request), found)],
        **declared.section(found),
        "parts": [(reverse(name, args=[found.pk]), heading) for name, heading in PARTS],
        "generate_form": generate_form or GenerateForm(),
        "typed_owner": typed_owner,
        "declare_form": declare_form or DeclareForm(),
        "may_declare": may_declare(user_of(request), found.pair),
        "refusals": refusals,
    }
    return render(request, "appids/page.html", context, status=status)


#: Its tables that are available as CSV, in addition to those of its charts.
CSV_TABLES = ("connected", "bound", "seen", "instances")


def _csv(request: HttpRequest, found: AppID) -> HttpResponseBase | None:
    """Return the table that ``?csv=`` names; ``None`` when there is none of that name."""
    name = request.GET["csv"]
    if name not in CSV_TABLES:
        graph = appid_parts.graph_of(governance.published(Run.Job.TOPOLOGY), found)
        return asked_csv(request, [_coverage(found, _runs(found)), *([graph] if graph is not None else [])])
    live = _live(request, found)
    tables = {
        "connected": (appid_csv.CONNECTED, live["connected"]),
        "bound": (appid_csv.BOUND, live["bindings"]),
        "seen": (appid_csv.SEEN, live["seen"]),
        "instances": (appid_csv.INSTANCES, _registered(request, found, live)["registered"]),
    }
    table, part = tables[name]
    return csv_response(f"{found.name}-{name}", table.head, table.rows(part.every_row))


def _runs(found: AppID) -> list[dict[str, Any]]:
    """Return the AppID's coverage in each run that is kept."""
    return governance.coverage_over_time([found.pair.name], found.name)


def _coverage(found: AppID, runs: Sequence[Mapping[str, Any]]) -> Chart:
    today = timezone.now().astimezone(UTC).date()
    days = [replace(day, pair=found.name) for day in over_time.last_of_each_day(runs)]
    chart = over_time.coverage(days, today, Column("pair", _("AppID")))
    return replace(chart, address=reverse("appid", args=[found.pk]))


def _searched(request: HttpRequest) -> str:
    """Return the text that the clients' names are searched for."""
    return searched(request, "client")


def _registered(request: HttpRequest, found: AppID, live: dict[str, Any]) -> dict[str, Any]:
    """Return the context for its InstanceIDs, and the names that the form suggests."""
    user, query = user_of(request), _searched(request)
    instances = [each for each in found.instances.all() if query.casefold() in each.name.casefold()]
    address = reverse("appid", args=[found.pk])
    order = part_order(request, "instances", INSTANCE_KEYS, address)
    most = max(len(instances), live["seen"].page.paginator.count, live["client_count"])
    return {
        "instance_order": order,
        "registered": part_of(
            request, "instances", order.rows(instances, INSTANCE_KEYS), ROWS_SHOWN, address
        ),
        "unregistered": observed.unregistered(found) if may(user, REGISTER, found.pair) else [],
        "searchable": bool(query) or most > ROWS_SHOWN,
    }


def _live(request: HttpRequest, found: AppID) -> dict[str, Any]:
    """Return the context for the part that changes: bindings, connected clients, and observed uses."""
    user, query, address = user_of(request), _searched(request), reverse("appid", args=[found.pk])
    look = engines.look()
    connections, silent = connections_of_appid(found.pair, found.name, look.answering)
    [bound] = appid_rows.bound_appids([found], look)
    document = look.documents.get(found.name)
    under_way = changes.open_changes(user, found)
    clients = _by_client(connections)
    shown = [client for client in clients if query.casefold() in client["client_id"].casefold()]
    bindings = changes.bindings_of(document, user) if document is not None else []
    orders = {
        "bound": part_order(request, "bound", BOUND_KEYS, address),
        "connected": part_order(request, "connected", CONNECTED_KEYS, address),
        "seen": part_order(request, "seen", OBSERVED_FIELDS, address),
    }
    uses = observed.observed_uses(found, query).alias(
        client_known=NullIf("client_id", Value("")), library_known=NullIf("library", Value(""))
    )
    uses = orders["seen"].query(uses, OBSERVED_FIELDS, ("client_id", "pk"))
    seen = part_of(request, "seen", uses, ROWS_SHOWN, address)
    return {
        "appid": found,
        "engines": look,
        "bound": bound,
        "query": query,
        "orders": orders,
        "bindings": part_of(
            request, "bound", orders["bound"].rows(bindings, BOUND_KEYS), ROWS_SHOWN, address
        ),
        "open_changes": [(change, badges.of_row(change)) for change in under_way],
        "binding_state": badges.of_binding(bound.binding.state) if bound.binding else None,
        "client_count": len(clients),
        "connected": part_of(
            request, "connected", orders["connected"].rows(shown, CONNECTED_KEYS), ROWS_SHOWN, address
        ),
        "connection_count": len(connections),
        "silent": silent,
        "seen": seen,
        "observed": observed.by_client(found, seen.page.object_list),
    }


def _by_client(connections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one entry per client.id: its clusters with the numbers of connections, and its parked requests.

    :func:`~hadash.presentation.connections.by_cluster` explains ``left_open``.
    """
    found: dict[str, dict[str, Any]] = {}
    for connection in connections:
        entry = found.setdefault(
            connection["client_id"],
            {
                "client_id": connection["client_id"],
                "connections": [],
                "parked": 0,
                "hosts": set(),
                "library": "",
            },
        )
        entry["connections"].append(connection)
        entry["parked"] += bool(connection.get("parked"))
        entry["hosts"].add(connection.get("host") or "")
        entry["library"] = (
            f"{connection.get('library') or ''} {connection.get('version') or ''}".strip() or entry["library"]
        )
    for entry in found.values():
        here, left_open = by_cluster(entry.pop("connections"))
        entry["clusters"], entry["left_open"] = sorted(here.items()), sorted(left_open.items())
        entry["hosts"] = sorted(entry["hosts"] - {""})
    return sorted(found.values(), key=lambda entry: entry["client_id"])


def mark_critical(request: HttpRequest, pk: int) -> HttpResponse:
    """Mark an AppID as critical or not. Field ``critical``: yes or no."""
    if request.method != "POST":
        return redirect("appid", pk=pk)
    found = the_appid(user_of(request), pk)
    try:
        critical.mark(user_of(request), found, request.POST.get("critical") == "yes", address_of(request))
    except PermissionDenied as error:
        return denied(request, error, CHANGE_APPID, found.pair)
    return redirect("appid", pk=found.pk)


def register_instance(request: HttpRequest, pk: int) -> HttpResponse:
    """Register an InstanceID. Fields ``name`` and ``note``."""
    if request.method != "POST":
        return redirect("appid", pk=pk)
    found = the_appid(user_of(request), pk)
    form = RegisterForm(request.POST)
    try:
        if form.is_valid():
            instance, new = services.ensure_instance(
                user_of(request),
                found,
                form.cleaned_data["name"],
                form.cleaned_data["note"],
                address_of(request),
            )
            said = _("%(instance)s is registered.") if new else _("%(instance)s is registered already.")
            messages.success(request, said % {"instance": f"{found.name} › {instance.name}"})
            return redirect("appid", pk=found.pk)
    except PermissionDenied as error:
        return denied(request, error, REGISTER, found.pair)
    except services.NotRegistered as error:
        form.add_error("name", sentence(error.sentence))
    return page(request, found, form=form, status=409)
