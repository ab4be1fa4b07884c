"""Every endpoint of the API and every page, with the roles that may: what the tests of this folder go through."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from .conftest import NAMES

ROLES = tuple(NAMES.values())
EVERYBODY = frozenset(ROLES)
ASKING = frozenset({"requester", "operator"})
REQUESTING = ASKING | {"rescuer"}
INVOLVED = REQUESTING | {"approver"}
RESCUER = frozenset({"rescuer"})
OPERATOR, APPROVER, ADMINISTRATOR = (
    frozenset({"operator"}),
    frozenset({"approver"}),
    frozenset({"administrator"}),
)

GOVERNING = OPERATOR | ADMINISTRATOR

#: (method, address under /api/v1/) → who may. ``{…}`` stands for what the fixtures have made.
API: dict[tuple[str, str], frozenset[str]] = {
    ("GET", "openapi.json"): EVERYBODY,
    ("GET", "me/"): EVERYBODY,
    ("GET", "tokens/"): EVERYBODY,
    # Only at a browser: see test_signing_in.py.
    ("POST", "tokens/"): frozenset(),
    ("DELETE", "tokens/{token}/"): EVERYBODY,
    ("GET", "people/"): ADMINISTRATOR,
    ("POST", "people/"): ADMINISTRATOR,
    ("PUT", "people/{username}/"): ADMINISTRATOR,
    ("POST", "people/{username}/roles/"): ADMINISTRATOR,
    ("DELETE", "people/{username}/roles/"): ADMINISTRATOR,
    ("GET", "pairs/"): EVERYBODY,
    ("GET", "pairs/{pair}/mirrors/"): EVERYBODY,
    ("GET", "pairs/{pair}/rules/"): EVERYBODY,
    ("PATCH", "pairs/{pair}/rules/"): ADMINISTRATOR,
    ("GET", "pairs/{pair}/blackouts/"): EVERYBODY,
    ("POST", "pairs/{pair}/blackouts/"): ADMINISTRATOR,
    ("DELETE", "pairs/{pair}/blackouts/{blackout}/"): ADMINISTRATOR,
    ("GET", "appids/"): EVERYBODY,
    ("GET", "appids/{appid}/"): EVERYBODY,
    ("PATCH", "appids/{appid}/"): GOVERNING,
    ("POST", "appids/{appid}/instances/"): ASKING,
    ("DELETE", "appids/{appid}/instances/"): ASKING,
    ("POST", "appids/{appid}/instances/generate/"): ASKING,
    ("GET", "appids/{appid}/access/"): EVERYBODY,
    ("GET", "appids/{appid}/bindings/"): EVERYBODY,
    ("POST", "appids/{appid}/declarations/"): ASKING,
    ("POST", "appids/{appid}/declarations/adopt/"): ASKING,
    ("DELETE", "appids/{appid}/declarations/{declaration}/"): ASKING,
    ("GET", "pairs/{pair}/declarations/"): EVERYBODY,
    ("POST", "pairs/{pair}/declarations/import/"): ASKING,
    ("GET", "pairs/{pair}/declarations/export/"): EVERYBODY,
    ("GET", "binding-changes/"): EVERYBODY,
    ("POST", "binding-changes/"): REQUESTING,
    ("POST", "binding-changes/preview/"): EVERYBODY,
    ("GET", "binding-changes/{change}/"): EVERYBODY,
    ("POST", "binding-changes/{change}/approve/"): APPROVER,
    ("POST", "binding-changes/{change}/decline/"): APPROVER,
    ("POST", "binding-changes/{change}/cancel/"): REQUESTING,
    ("GET", "gateways/"): EVERYBODY,
    ("POST", "gateways/{gateway}/exclude/"): OPERATOR,
    ("POST", "gateways/{gateway}/include/"): OPERATOR,
    ("GET", "handovers/"): EVERYBODY,
    ("POST", "plans/"): EVERYBODY,
    ("GET", "switches/"): EVERYBODY,
    ("POST", "switches/"): REQUESTING,
    ("GET", "switches/{switch}/"): EVERYBODY,
    ("GET", "switches/{switch}/log/"): EVERYBODY,
    ("POST", "switches/{switch}/approve/"): APPROVER,
    ("POST", "switches/{switch}/decline/"): APPROVER,
    ("POST", "switches/{switch}/cancel/"): REQUESTING,
    ("POST", "switches/{switch}/go/"): INVOLVED,
    ("POST", "switches/{switch}/review/"): APPROVER,
    ("POST", "switches/{switch}/give-up/"): RESCUER,
    ("POST", "switches/{switch}/rebuild/"): RESCUER,
    ("POST", "switches/{switch}/abort/"): INVOLVED,
    ("POST", "switches/{switch}/retry/"): OPERATOR,
    ("POST", "switches/{switch}/close/"): OPERATOR,
    ("POST", "switches/{switch}/put-off/"): OPERATOR,
    ("POST", "switches/{switch}/keep/"): OPERATOR,
    ("POST", "switches/{switch}/retire/"): OPERATOR,
    ("POST", "switches/{switch}/comment/"): INVOLVED,
    # One's own: whoever may not request any more still sees them, and can discard them at a browser.
    ("GET", "drafts/"): EVERYBODY,
    ("POST", "drafts/"): REQUESTING,
    ("GET", "drafts/{draft}/"): EVERYBODY,
    ("PUT", "drafts/{draft}/"): REQUESTING,
    ("DELETE", "drafts/{draft}/"): REQUESTING,
    ("POST", "batch-plans/"): EVERYBODY,
    ("GET", "batches/"): EVERYBODY,
    ("POST", "batches/"): REQUESTING,
    ("GET", "batches/{batch}/"): EVERYBODY,
    ("GET", "batches/{batch}/items/"): EVERYBODY,
    ("GET", "batches/{batch}/log/"): EVERYBODY,
    ("POST", "batches/{batch}/approve/"): APPROVER,
    ("POST", "batches/{batch}/decline/"): APPROVER,
    ("POST", "batches/{batch}/cancel/"): REQUESTING,
    ("POST", "batches/{batch}/stop/"): INVOLVED,
    ("POST", "batches/{batch}/go-on/"): OPERATOR,
    ("POST", "batches/{batch}/end/"): OPERATOR | RESCUER,
    ("GET", "findings/"): EVERYBODY,
    ("GET", "findings/{finding}/"): EVERYBODY,
    ("POST", "findings/{finding}/accept/"): GOVERNING,
    ("POST", "findings/{finding}/withdraw/"): GOVERNING,
    ("GET", "governance-rules/"): EVERYBODY,
    ("GET", "scores/"): EVERYBODY,
    ("GET", "tables/coverage/over-time/"): EVERYBODY,
    ("GET", "tables/{table}/"): EVERYBODY,
    ("GET", "jobs/"): EVERYBODY,
    ("PATCH", "jobs/{job}/"): ADMINISTRATOR,
    ("POST", "jobs/{job}/run/"): GOVERNING,
    ("GET", "runs/"): EVERYBODY,
    ("GET", "runs/{run}/"): EVERYBODY,
    ("GET", "runs/{run}/changes/"): EVERYBODY,
    ("GET", "audit/"): EVERYBODY,
}

#: (method, address of a page) → who may.
PAGES: dict[tuple[str, str], frozenset[str]] = {
    ("GET", ""): EVERYBODY,
    ("GET", "appids/"): EVERYBODY,
    ("GET", "appids/{appid}/"): EVERYBODY,
    ("GET", "appids/{appid}/moving/"): EVERYBODY,
    ("GET", "appids/{appid}/uses/"): EVERYBODY,
    ("GET", "appids/{appid}/rights/"): EVERYBODY,
    ("GET", "appids/{appid}/lags/"): EVERYBODY,
    ("POST", "appids/{appid}/critical/"): GOVERNING,
    ("POST", "appids/{appid}/instances/"): ASKING,
    ("POST", "appids/{appid}/instances/generate/"): ASKING,
    ("GET", "appids/{appid}/instances/{instance}/unregister/"): ASKING,
    ("POST", "appids/{appid}/instances/{instance}/unregister/"): ASKING,
    ("GET", "appids/{appid}/bindings/change/"): REQUESTING,
    ("POST", "appids/{appid}/bindings/change/"): REQUESTING,
    ("GET", "appids/{appid}/bindings/preview/"): EVERYBODY,
    ("GET", "binding-changes/{change}/"): EVERYBODY,
    ("POST", "binding-changes/{change}/approve/"): APPROVER,
    ("POST", "binding-changes/{change}/decline/"): APPROVER,
    ("POST", "binding-changes/{change}/cancel/"): REQUESTING,
    ("POST", "appids/{appid}/declarations/"): ASKING,
    ("POST", "appids/{appid}/declarations/adopt/"): ASKING,
    ("POST", "appids/{appid}/declarations/{declaration}/withdraw/"): ASKING,
    ("GET", "pairs/{pair_pk}/declarations/"): EVERYBODY,
    ("GET", "pairs/{pair_pk}/declarations/export.csv"): EVERYBODY,
    ("POST", "pairs/{pair_pk}/declarations/import/"): ASKING,
    ("GET", "switches/"): EVERYBODY,
    ("GET", "switches/request/"): REQUESTING,
    ("POST", "switches/request/"): REQUESTING,
    ("GET", "switches/request/preview/"): EVERYBODY,
    ("GET", "switches/request/checks/"): EVERYBODY,
    ("POST", "switches/drafts/{draft}/discard/"): EVERYBODY,
    ("GET", "switches/{switch}/"): EVERYBODY,
    ("GET", "switches/{switch}/record/"): EVERYBODY,
    ("GET", "switches/{switch}/state.json"): EVERYBODY,
    ("GET", "switches/{switch}/standing/"): EVERYBODY,
    ("POST", "switches/{switch}/approve/"): APPROVER,
    ("POST", "switches/{switch}/decline/"): APPROVER,
    ("POST", "switches/{switch}/cancel/"): REQUESTING,
    ("POST", "switches/{switch}/comment/"): INVOLVED,
    ("POST", "switches/{switch}/go/"): INVOLVED,
    ("POST", "switches/{switch}/review/"): APPROVER,
    ("POST", "switches/{switch}/give-up/"): RESCUER,
    ("POST", "switches/{switch}/rebuild/"): RESCUER,
    ("POST", "switches/{switch}/abort/"): INVOLVED,
    ("POST", "switches/{switch}/retry/"): OPERATOR,
    ("POST", "switches/{switch}/close/"): OPERATOR,
    ("POST", "switches/{switch}/put-off/"): OPERATOR,
    ("POST", "switches/{switch}/keep/"): OPERATOR,
    ("POST", "switches/{switch}/retire/"): OPERATOR,
    ("GET", "batches/"): EVERYBODY,
    ("GET", "batches/new/"): REQUESTING,
    ("POST", "batches/new/"): REQUESTING,
    ("GET", "batches/{batch}/"): EVERYBODY,
    ("POST", "batches/{batch}/approve/"): APPROVER,
    ("POST", "batches/{batch}/decline/"): APPROVER,
    ("POST", "batches/{batch}/cancel/"): REQUESTING,
    ("POST", "batches/{batch}/stop/"): INVOLVED,
    ("POST", "batches/{batch}/go-on/"): OPERATOR,
    ("POST", "batches/{batch}/end/"): OPERATOR | RESCUER,
    ("GET", "pairs/{pair_pk}/rules/"): EVERYBODY,
    ("POST", "pairs/{pair_pk}/rules/"): ADMINISTRATOR,
    ("POST", "pairs/{pair_pk}/blackouts/"): ADMINISTRATOR,
    ("POST", "blackouts/{blackout}/end/"): ADMINISTRATOR,
    ("GET", "clusters/"): EVERYBODY,
    ("GET", "clusters/{cluster}/"): EVERYBODY,
    ("GET", "clusters/{cluster}/quotas/"): EVERYBODY,
    ("GET", "gateways/"): EVERYBODY,
    ("GET", "gateways/{member}/"): EVERYBODY,
    ("GET", "gateways/exclude/"): OPERATOR,
    ("POST", "gateways/exclude/"): OPERATOR,
    ("GET", "tokens/"): EVERYBODY,
    ("POST", "tokens/"): EVERYBODY,
    ("GET", "people/"): ADMINISTRATOR,
    ("POST", "people/"): ADMINISTRATOR,
    ("POST", "people/{user_pk}/role/"): ADMINISTRATOR,
    ("POST", "people/{user_pk}/let-in/"): ADMINISTRATOR,
    ("GET", "governance/risks/"): EVERYBODY,
    ("GET", "governance/risks/{finding}/"): EVERYBODY,
    ("POST", "governance/risks/{finding}/accept/"): GOVERNING,
    ("POST", "governance/risks/{finding}/withdraw/"): GOVERNING,
    ("GET", "governance/rules/"): EVERYBODY,
    ("GET", "governance/uncovered/"): EVERYBODY,
    ("GET", "governance/tables/{table}/"): EVERYBODY,
    ("GET", "mirrors/"): EVERYBODY,
    ("GET", "mirrors/{pair}/{mirror}/"): EVERYBODY,
    ("GET", "search/"): EVERYBODY,
    ("GET", "graph/"): EVERYBODY,
    ("GET", "graph/focus/"): EVERYBODY,
    ("GET", "groups/"): EVERYBODY,
    ("GET", "groups/{cluster}/{group}/"): EVERYBODY,
    ("GET", "pipeline/"): EVERYBODY,
    ("GET", "pipeline/runs/{run}/"): EVERYBODY,
    ("GET", "pipeline/runs/{run}/compare/"): EVERYBODY,
    ("POST", "pipeline/jobs/{job}/run/"): GOVERNING,
    ("POST", "pipeline/jobs/{job}/schedule/"): ADMINISTRATOR,
    ("GET", "audit/"): EVERYBODY,
    ("GET", "audit/export.jsonl"): EVERYBODY,
}

#: Pages that have nothing to do with roles: tested where they belong.
OPEN = {
    "sign-in/",
    "sign-in/oidc/",
    "sign-in/oidc/return/",
    "sign-out/",
    "language/",
    "password/",
    "tokens/*/revoke/",
}

#: These streams never end: tests/dashboard/test_live.py and test_mirrors.py read them.
ENDLESS = {"switches/<slug:key>/stream/", "mirrors/<slug:pair>/<slug:name>/stream/"}

#: Whatever has no address of its own.
ELSEWHERE = {"api/v1/"}


def bodies(things: dict[str, Any]) -> dict[str, Any]:
    """By the last word of an address: what is sent there."""
    return {
        "plans": {"pair": "main", "scope": {"kind": "appid", "appid": "shop"}, "target": "west"},
        "switches": {
            "pair": "main",
            "scope": {"kind": "appid", "appid": "shop"},
            "target": "west",
            "reason": "x",
        },
        "approve": {"plan_digest": things["digest"], "digest": things["change_digest"]},
        "binding-changes": {"pair": "main", "appid": "shop", "bind": [{}], "reason": "x"},
        "preview": {"pair": "main", "appid": "shop", "bind": [{}]},
        "generate": {"topics": ["orders"]},
        "batch-plans": {"pair": "main", "target": "west"},
        "batches": {"pair": "main", "target": "west", "reason": "x"},
        "decline": {"reason": "x"},
        "cancel": {"reason": "x"},
        "end": {"reason": "x"},
        "close": {"reason": "x"},
        "review": {"reason": "x"},
        "give-up": {"confirm": "west", "reason": "x"},
        "rebuild": {"confirm": "east", "note": "x"},
        "put-off": {"days": 7, "reason": "x"},
        "keep": {"reason": "x"},
        "retire": {"confirm": "east"},
        "comment": {"text": "x"},
        "instances": {"name": "new-one"},
        "exclude": {"confirm": "gateway-9", "reason": "x"},
        "blackouts": {"begins": "2030-02-01T00:00Z", "ends": "2030-02-02T00:00Z", "reason": "x"},
        "declarations": {"topics": ["orders"], "kinds": ["consume"]},
        "adopt": {},
        "import": {"csv": "appid,instance_id,kind,resource,note\nshop,,consume,orders,\n"},
        "rules": {"approvals": 2},
        "people": {"username": "new", "password": "a-long-password"},
        "somebody": {"active": False},
        "roles": {"role": "viewer", "pair": None},
        "tokens": {"name": "x"},
        "accept": {"until": f"{timezone.now():%Y-%m-%d}", "reason": "x"},
        "risk": {"enabled": False},
    }


def body_of(things: dict[str, Any], path: str) -> Any:
    """What is sent to an address (to those that end alike: what the thing before it needs)."""
    word = path.rstrip("/").rpartition("/")[2]
    if path.startswith("batches/") and word == "approve":
        return {"digest": things["batch_digest"]}
    if path.startswith("appids/") and path.count("/") == 2:
        return {"critical": True}
    if path.startswith("drafts/"):
        return {"pair": "main", "typed": {"reason": "x"}}
    return bodies(things).get(word)
