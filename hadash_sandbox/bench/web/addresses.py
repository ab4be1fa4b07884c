"""``python -m hadash_sandbox.bench.web.addresses VIEWER ADMINISTRATOR``: lists every page and every list of the API.

It runs beside a demo with a generated fleet, in its environment, and prints JSON: by name, the address, the user, the
status, and the number of database queries.
"""

from __future__ import annotations

import json
import os
import sys
from string import Formatter
from typing import Any
from urllib.parse import quote

import django

#: Pages, by the name in the report. ``{…}`` is looked up in the fleet (:func:`_things`); a page whose thing is not
#: there is left out.
PAGES = {
    "overview": "",
    "AppIDs": "appids/",
    "AppIDs, searched": "appids/?q=ledger",
    "switches": "switches/",
    "switch that has ended": "switches/{switch}/",
    "its record": "switches/{switch}/record/",
    "what it says to scripts": "switches/{switch}/state.json",
    "batches": "batches/",
    "request for a batch": "batches/new/?pair={pair}",
    "clusters": "clusters/",
    "cluster": "clusters/{cluster}/",
    "quotas of a cluster": "clusters/{cluster}/quotas/",
    "connected clients": "clients/",
    "gateways": "gateways/",
    "mirrors": "mirrors/",
    "groups": "groups/",
    "pools": "pools/",
    "search": "search/?q=ledger",
    "island map": "graph/?pair={pair}",
    "differences of the map": "graph/?pair={pair}&since={before}",
    "largest island": "graph/?pair={pair}&island={island}",
    "focus of the graph": "graph/focus/?pair={pair}&kind=appid&appid={sharing_name}",
    "risks": "governance/risks/",
    "risk": "governance/risks/{finding}/",
    "risks of an AppID": "governance/risks/?q={finding_appid}",
    "rules of governance": "governance/rules/",
    "to be registered": "governance/uncovered/",
    "declarations": "pairs/{pair_pk}/declarations/",
    "rules": "pairs/{pair_pk}/rules/",
    "pipeline": "pipeline/",
    "run": "pipeline/runs/{run}/",
    "comparison of runs": "pipeline/runs/{run}/compare/?with={before}",
    "reports": "reports/",
    "addresses of owners": "reports/owners/",
    "tokens": "tokens/",
    "people": "people/",
    "audit": "audit/",
    "about": "about/",
}

#: Lists of the API, and single things.
API = (
    "pairs/", "appids/", "switches/", "batches/", "binding-changes/", "findings/", "scores/", "gateways/", "pools/",
    "pool-changes/", "handovers/", "jobs/", "runs/", "people/", "tokens/", "audit/", "drafts/", "governance-rules/",
    "tables/coverage/over-time/", "pairs/{pair}/mirrors/", "pairs/{pair}/rules/", "pairs/{pair}/blackouts/",
    "pairs/{pair}/mirrors/{mirror}/audit/", "pairs/{pair}/mirrors/{mirror}/differences/",
    "pairs/{pair}/mirrors/{mirror}/full-audits/",
    "pairs/{pair}/declarations/", "appids/{sharing}/bindings/", "switches/{switch}/", "switches/{switch}/log/",
    "findings/{finding}/", "runs/{run}/", "runs/{run}/changes/?since={before}",
)  # fmt: skip

#: Pages and parts of two AppIDs: one that shares Topics, and the one with the most clients.
OF_APPID = {
    "AppID that {what}": "appids/{appid}/",
    **{
        f"AppID that {{what}}, {part}": f"appids/{{appid}}/{part}/"
        for part in ("moving", "uses", "rights", "lags")
    },
    "AppID that {what}, change of bindings": "appids/{appid}/bindings/change/",
    "API AppID that {what}": "api/v1/appids/{appid}/",
    "API access of the AppID that {what}": "api/v1/appids/{appid}/access/",
    "request for the AppID that {what}": "switches/request/?appid={appid}&scope=appid",
}

#: The pages of a mirror.
OF_MIRROR = {
    "{what}, {window}": "mirrors/{pair}/{mirror}/?window={window}",
    "{what}, {window}: over time": "mirrors/{pair}/{mirror}/over-time/?window={window}",
}

#: The published tables.
OF_TABLE = {"table {table}": "governance/tables/{table}/", "API table {table}": "api/v1/tables/{table}/"}

#: What is not measured, with the reason: pages by their address, those of the API with "api/v1/" before it.
NOT_MEASURED = {
    # Forms, small parts of pages, and single things, that do not grow with the fleet.
    "a form": (
        "new-pool/", "gateways/exclude/", "notices/channels/new/", "reports/schedules/new/", "reports/schedules/times/",
        "reports/schedules/{}/edit/", "appids/{}/instances/{}/unregister/", "pools/{}/change/", "pools/{}/topics/add/",
    ),
    "one thing, of whatever fleet": (
        "notices/", "notices/channels/{}/", "reports/schedules/{}/", "reports/issues/{}/", "reports/deliveries/",
        "reports/{}/", "reports/{}/pdf/", "reports/{}/mail/", "reports/{}/files/{}",
        "binding-changes/{}/", "pool-changes/{}/", "batches/{}/", "api/v1/openapi.json", "api/v1/me/",
        "api/v1/binding-changes/{}/", "api/v1/pool-changes/{}/", "api/v1/drafts/{}/", "api/v1/batches/{}/",
        "api/v1/batches/{}/items/", "api/v1/batches/{}/log/", "mirrors/{}/{}/full-audits/{}/",
        "api/v1/pairs/{}/mirrors/{}/full-audits/{}/",
    ),
    "a file of all rows, as long as it is": (
        "audit/export.jsonl", "pairs/{}/declarations/export.csv", "api/v1/pairs/{}/declarations/export/",
    ),
    "measured as a user waits for it, in a real pair (make bench-web PARTS=plans)": (
        "switches/request/preview/", "switches/request/checks/", "switches/{}/standing/", "appids/{}/bindings/preview/",
    ),
    "made when it is asked for, like its mail": ("reports/preview/",),
    "the generated fleet has none: there are no servers behind it": (
        "gateways/{}/", "groups/{}/{}/", "pools/{}/", "api/v1/pools/{}/", "api/v1/pools/{}/steps/",
        "mirrors/{}/{}/differences/{}/",
    ),
}  # fmt: skip

#: The ends of addresses that only administrators see.
OF_ADMINISTRATORS = ("people/", "reports/owners/")

#: Prefix of the names of pages that build a plan before they are shown.
PREVIEW = "request"


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
    django.setup()
    viewer, administrator = sys.argv[1:]
    addresses = _addresses()
    theirs = {name: path for name, path in addresses.items() if path.endswith(OF_ADMINISTRATORS)}
    found = _measured(viewer, {name: path for name, path in addresses.items() if name not in theirs})
    json.dump(found | _measured(administrator, theirs), sys.stdout)
    return 0


def templates() -> list[str]:
    """Return the addresses of all pages and lists that are measured, with ``{…}`` for what is looked up."""
    own = [*PAGES.values(), *OF_APPID.values(), *OF_MIRROR.values(), *OF_TABLE.values()]
    return [*own, *(f"api/v1/{path}" for path in API)]


def _addresses() -> dict[str, str]:
    from hadash.dashboard.views.tables import TABLES

    things, appids, mirrors = _things()
    found = {}
    for name, path in {**PAGES, **{f"API {path}": f"api/v1/{path}" for path in API}}.items():
        if things.keys() >= {field for _, field, _, _ in Formatter().parse(path) if field}:
            found[name.format_map(things)] = path.format_map(things)
    for what, appid in appids.items():
        found |= {name.format(what=what): path.format(appid=appid) for name, path in OF_APPID.items()}
    for what, mirror in mirrors.items():
        for window in ("hour", "day", "month"):
            values = {"what": what, "window": window, "mirror": mirror, "pair": things["pair"]}
            found |= {name.format_map(values): path.format_map(values) for name, path in OF_MIRROR.items()}
    for table in TABLES:
        found |= {name.format(table=table): path.format(table=table) for name, path in OF_TABLE.items()}
    return found


def _things() -> tuple[dict[str, str], dict[str, int], dict[str, str]]:
    """Return what addresses name: (things of the fleet, its AppIDs by what they are, its mirrors by what they are)."""
    from hadash.governance.models.findings import Finding
    from hadash.governance.models.published import Edge, Island
    from hadash.governance.models.runs import Run
    from hadash.inventory.models import AppID, Pair
    from hadash.mirroring.models import Mirror
    from hadash.switching.models.switches import Switch
    from hadash_sandbox.fleet.model import Side

    names = Side()
    pair = Pair.objects.get(name=names.pair)
    run, before, *_older = Run.objects.filter(job="topology", state="published").order_by("-pk")
    island = Island.objects.filter(run=run, pair=pair.name).order_by("-things").first()
    assert island is not None
    shared = Edge.objects.filter(run=run, pair=pair.name, resource__startswith="shared.").order_by("appid")
    sharing = shared.values_list("appid", flat=True)[0]
    numbers = dict(AppID.objects.filter(pair=pair).values_list("name", "pk"))
    own = Mirror.objects.filter(pair=pair)
    first = own.order_by("name").first()
    most = max(
        own.exclude(known_ends=[]).only("name", "topics"),
        key=lambda mirror: (len(mirror.topics), mirror.name),
        default=None,
    )
    things: dict[str, Any] = {
        "pair": pair.name,
        "pair_pk": pair.pk,
        "cluster": names.first,
        "run": run.pk,
        "before": before.pk,
        "island": island.island,
        "sharing": numbers[sharing],
        "sharing_name": sharing,
    }
    if first is not None:
        things["mirror"] = first.name
    finding = Finding.objects.filter(pair=pair.name).order_by("pk").first()
    if finding is not None:
        things |= {"finding": finding.pk, "finding_appid": finding.appid}
    switch = Switch.objects.filter(pair=pair, status="succeeded").order_by("-pk").first()
    if switch is not None:
        things["switch"] = switch.key
    appids = {"shares": numbers[sharing], "has most clients": numbers[_busiest(run, pair.name)]}
    mirrors = {"mirror": first, "mirror of most Topics": most}
    return (
        {name: quote(str(value)) for name, value in things.items()},
        appids,
        {what: mirror.name for what, mirror in mirrors.items() if mirror is not None},
    )


def _busiest(run: Any, pair: str) -> str:
    from hadash.governance.models.published import Sharing

    return str(
        Sharing.objects.filter(run=run, pair=pair).order_by("-clients").values_list("appid", flat=True)[0]
    )


def _measured(username: str, addresses: dict[str, str]) -> dict[str, dict[str, Any]]:
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    settings.ALLOWED_HOSTS = ["*"]
    client = Client()
    client.force_login(User.objects.get(username=username))
    found: dict[str, dict[str, Any]] = {}
    for name, path in addresses.items():
        client.get(f"/{path}")  # (fills caches, whose queries do not count)
        with CaptureQueriesContext(
            connection,
        ) as asked:
            answer = client.get(f"/{path}")
        slowest = max(asked.captured_queries, key=lambda each: float(each["time"]), default=None)
        found[name] = {
            "path": path,
            "who": username,
            "status": answer.status_code,
            "queries": len(asked),
            "slowest": "" if slowest is None else f"{slowest['time']} s: {slowest['sql'][:300]}",
        }
    return found


if __name__ == "__main__":
    sys.exit(main())
