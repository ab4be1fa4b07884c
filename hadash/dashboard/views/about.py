"""What runs here: the version of each process, and where programs and people find the rest."""

from __future__ import annotations

from typing import NamedTuple

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from hadash import VERSION
from hadash.accounts.roles import VIEW, may_somewhere
from hadash.dashboard.views.common import user_of
from hadash.inventory import workers
from hadash.presentation import engines


class Process(NamedTuple):
    """A process of hadash. ``differs``: whether its version is another one than this page's."""

    kind: str
    name: str
    version: str
    differs: bool


def _processes(look: engines.Engines) -> list[Process]:
    found = [(_("Worker"), worker.name, worker.version) for worker in workers.known()]
    found += [(_("Gateway"), gateway.id, gateway.version) for gateway in look.gateways]
    return [Process(*each, differs=each[-1] != VERSION) for each in found]


@require_GET
def about(request: HttpRequest) -> HttpResponseBase:
    """Render the versions of all processes. (While an installation is updated, they differ for a moment.)"""
    look = engines.look_at_gateways()
    may_see = may_somewhere(user_of(request), VIEW)
    context = {
        "version": VERSION,
        "may_see": may_see,
        "processes": _processes(look) if may_see else [],
        "engines": look,
    }
    return render(request, "about/page.html", context)
