"""``python -m hadash_sandbox.bench.web.addresses VIEWER ADMINISTRATOR``: lists every page and every list of the API.

It runs beside a demo with a generated fleet, in its environment, and prints JSON: by name, the address, the user, the
status, and the number of database queries.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any
from urllib.parse import urlencode

import django

#: Pages with a fixed address.
PLAIN = {
    "overview": "",
    "AppIDs": "appids/",
    "AppIDs, searched": "appids/?q=ledger",
    "switches": "switches/",
    "batches": "batches/",
    "clusters": "clusters/",
    "gateways": "gateways/",
    "mirrors": "mirrors/",
    "groups": "groups/",
    "pools": "pools/",
    "search": "search/?q=ledger",
    "risks": "governance/risks/",
    "rules of governance": "governance/rules/",
    "to be registered": "governance/uncovered/",
    "pipeline": "pipeline/",
    "people": "people/",
    "tokens": "tokens/",
    "audit": "audit/",
    "about": "about/",
}

#: Lists of the API.
LISTS = (
    "pairs/", "appids/", "switches/", "batches/", "binding-changes/", "findings/", "scores/", "gateways/",
    "handovers/", "jobs/", "runs/", "people/", "audit/", "drafts/", "governance-rules/", "tables/coverage/over-time/",
)  # fmt: skip

#: Prefix of the names of pages that build a plan before they are shown.
PREVIEW = "request"


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
    django.setup()
    viewer, administrator = sys.argv[1:]
    addresses = _addresses()
    of_people = {name: path for name, path in addresses.items() if path.endswith("people/")}
    found = _measured(viewer, {name: path for name, path in addresses.items() if name not in of_people})
    json.dump(found | _measured(administrator, of_people), sys.stdout)
    return 0


def _addresses() -> dict[str, str]:
    from hadash.dashboard.views.tables import TABLES
    from hadash.governance.models.findings import Finding
    from hadash.governance.models.published import Edge, Island
    from hadash.governance.models.runs import Run
    from hadash.inventory.models import AppID, Pair
    from hadash.mirroring.models import Mirror
    from hadash_sandbox.fleet.model import Side

    names = Side()
    pair = Pair.objects.get(name=names.pair)
    found = {**PLAIN, **{f"API {path}": f"api/v1/{path}" for path in LISTS}}
    found |= {f"table {name}": f"governance/tables/{name}/" for name in TABLES}
    found |= {f"API table {name}": f"api/v1/tables/{name}/" for name in TABLES}
    # An AppID that shares Topics, and the one with the most clients.
    run, before, *_older = Run.objects.filter(job="topology", state="published").order_by("-pk")
    island = Island.objects.filter(run=run, pair=pair.name).order_by("-things").first()
    assert island is not None
    shared = Edge.objects.filter(run=run, pair=pair.name, resource__startswith="shared.").order_by("appid")
    appids = {
        "shares": shared.values_list("appid", flat=True)[0],
        "has most clients": _busiest(run, pair.name),
    }
    for what, name in appids.items():
        pk = AppID.objects.get(pair=pair, name=name).pk
        found[f"AppID that {what}"] = f"appids/{pk}/"
        for part in ("moving", "uses", "rights", "lags"):
            found[f"AppID that {what}, {part}"] = f"appids/{pk}/{part}/"
        found[f"AppID that {what}, change of bindings"] = f"appids/{pk}/bindings/change/"
        found[f"API AppID that {what}"] = f"api/v1/appids/{pk}/"
        found[f"API access of the AppID that {what}"] = f"api/v1/appids/{pk}/access/"
        found[f"{PREVIEW} for the AppID that {what}"] = (
            f"switches/request/?{urlencode({'appid': pk, 'scope': 'appid'})}"
        )
    focus = urlencode({"pair": pair.name, "kind": "appid", "appid": appids["shares"]})
    found |= {
        "island map": f"graph/?{urlencode({'pair': pair.name})}",
        "largest island": f"graph/?{urlencode({'pair': pair.name, 'island': island.island})}",
        "focus of the graph": f"graph/focus/?{focus}",
        "cluster": f"clusters/{names.first}/",
        "declarations": f"pairs/{pair.pk}/declarations/",
        "rules": f"pairs/{pair.pk}/rules/",
        "run": f"pipeline/runs/{run.pk}/",
        "comparison of runs": f"pipeline/runs/{run.pk}/compare/?with={before.pk}",
        "request for a batch": f"batches/new/?{urlencode({'pair': pair.name})}",
        "API mirrors": f"api/v1/pairs/{pair.name}/mirrors/",
        "API rules of a pair": f"api/v1/pairs/{pair.name}/rules/",
        "API declarations": f"api/v1/pairs/{pair.name}/declarations/",
        "API changes of a run": f"api/v1/runs/{run.pk}/changes/?since={before.pk}",
    }
    own = Mirror.objects.filter(pair=pair)
    seen = own.exclude(known_ends=[])
    most = max(
        seen.only("name", "topics"), key=lambda mirror: (len(mirror.topics), mirror.name), default=None
    )
    for word, mirror in (("mirror", own.order_by("name").first()), ("mirror of most Topics", most)):
        if mirror is not None:
            for window in ("hour", "day", "month"):
                address = f"mirrors/{pair.name}/{mirror.name}"
                found[f"{word}, {window}"] = f"{address}/?window={window}"
                found[f"{word}, {window}: over time"] = f"{address}/over-time/?window={window}"
    finding = Finding.objects.filter(pair=pair.name).order_by("pk").first()
    if finding is not None:
        found["risk"] = f"governance/risks/{finding.pk}/"
        found["risks of an AppID"] = f"governance/risks/?{urlencode({'q': finding.appid})}"
    return found


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
