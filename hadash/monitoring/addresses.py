"""``/healthz``, ``/readyz`` and ``/metrics`` of the web server.

They are answered before all other middleware, so that they need no session, no database and no host name:
Kubernetes asks by a pod's address, which is not in ``ALLOWED_HOSTS``. Strangers get the status and nothing more.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from prometheus_client import CONTENT_TYPE_LATEST

from hadash.accounts.addresses import address_of
from hadash.monitoring import servers
from hadash.monitoring.fleet import of_fleet
from hadash.monitoring.health import Health, readiness
from hadash.monitoring.metrics import of_process
from hadash.monitoring.probes import ask_all

#: The web server's probes. It cannot serve without PostgreSQL; the other servers only make it degraded.
_PROBES = (
    servers.postgresql(is_needed=True),
    servers.redis_server(is_needed=False),
    servers.zookeeper(is_needed=False),
    servers.bindings(),
    servers.kafka(),
)

_NOT_FOR_STRANGERS = (
    "Metrics are for those who send HADASH_METRICS_TOKEN (Authorization: Bearer …) or come from "
    "HADASH_METRICS_NETWORKS.\n"
)


class HealthAddresses:
    """Middleware that answers the three addresses. It comes first."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._answer = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        found = _ADDRESSES.get(request.path)
        if found is None:
            return self._answer(request)
        if request.method not in ("GET", "HEAD"):
            return HttpResponse(status=405, headers={"Allow": "GET, HEAD"})
        response = found(request)
        response.headers["Cache-Control"] = "no-store"
        return response


def _healthz(request: HttpRequest) -> HttpResponse:
    return _said(Health("web", "ok"), request)


def _readyz(request: HttpRequest) -> HttpResponse:
    return _said(readiness("web", ask_all(_PROBES, settings.HEALTH_SECONDS)), request)


def _metrics(request: HttpRequest) -> HttpResponse:
    if not _is_known(request):
        return HttpResponse(_NOT_FOR_STRANGERS, status=403, content_type="text/plain; charset=utf-8")
    return HttpResponse(of_process() + of_fleet(), content_type=CONTENT_TYPE_LATEST)


_ADDRESSES: dict[str, Callable[[HttpRequest], HttpResponse]] = {
    "/healthz": _healthz,
    "/readyz": _readyz,
    "/metrics": _metrics,
}


def _said(health: Health, request: HttpRequest) -> HttpResponse:
    return JsonResponse(health.to_json(whole=_is_known(request)), status=health.http_status)


def _is_known(request: HttpRequest) -> bool:
    """Whether the caller may see more than the status: by the metrics token, or by the network it comes from."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    own = settings.METRICS_TOKEN.encode()
    if own and scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), own):
        return True
    try:
        address = ipaddress.ip_address(address_of(request) or "")
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in network for network in settings.METRICS_NETWORKS)
