"""Base classes, look-ups and descriptions that the handlers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from hadash.accounts.addresses import address_of as address_of
from hadash.accounts.browser import browser_of
from hadash.accounts.roles import pairs_where
from hadash.api.idempotency import HEADER
from hadash.api.pagination import Pages
from hadash.api.problems import TITLES
from hadash.api.serializers.common import ProblemSerializer
from hadash.inventory.models import Cluster, Pair
from hadash.presentation.lookups import the_appid as the_appid
from hadash.presentation.lookups import the_switch as the_switch


class View(APIView):
    """The base of all handlers. The user is always signed in: nothing here is public."""

    def validated(self, shape: type[BaseSerializer], data: Any = None) -> dict[str, Any]:
        """Return the body, or ``data``, validated by ``shape``.

        :raises ValidationError: it does not fit.
        """
        serializer = shape(data=self.request.data if data is None else data)
        serializer.is_valid(raise_exception=True)
        found: dict[str, Any] = serializer.validated_data
        return found


@extend_schema(exclude=True)
class NoSuchAddress(View):
    """All other addresses: this answer, too, is a problem and not a page."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise Http404(_("There is no such address."))


class PagedView(View):
    """A handler whose lists come in pages."""

    pagination_class = Pages

    def page(self, rows: Any, present: Any) -> Response:
        """Return one page of ``rows``, each represented by ``present``."""
        return self.page_together(rows, lambda found: [present(row) for row in found])

    def page_together(self, rows: Any, present: Callable[[list[Any]], list[Any]]) -> Response:
        """Return one page of ``rows``; ``present`` represents all of them at once."""
        pages = Pages()
        found = pages.paginate_queryset(rows, self.request, view=self) or []
        return pages.get_paginated_response(present(found))


def browser(request: Request) -> str:
    """Return the name of a session's browser; for a program, of the browser in which its token was issued."""
    if request.auth is None:
        return browser_of(request._request)
    found: str = request.auth.issued_in
    return found


def the_pair(user: Any, name: str) -> Pair:
    """Return the pair of this name.

    :raises Http404: there is none, or ``user`` may not see it.
    """
    found = pairs_where(user).select_related("first", "second", "default").filter(name=name).first()
    if found is None:
        raise Http404(_("There is no pair %(name)s.") % {"name": name})
    return found


def the_cluster(pair: Pair, name: str) -> Cluster:
    """Return the cluster of this name.

    :raises Http404: the pair has no such cluster.
    """
    for cluster in pair.clusters:
        if cluster.name == name:
            return cluster
    raise Http404(_("Pair %(pair)s has no cluster %(name)s.") % {"pair": pair.name, "name": name})


# -- for the description -------------------------------------------------------------------------------------------

#: The header of every write.
KEY = OpenApiParameter(
    HEADER,
    str,
    OpenApiParameter.HEADER,
    description="Send the same key to repeat a request whose answer was lost: it is carried out once.",
)


def _query(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(name, int, OpenApiParameter.QUERY, description=description)


#: The parameters of every list.
PAGES = [_query("page", "From 1."), _query("page_size", f"At most {Pages.max_page_size}.")]


def problems(*codes: int) -> dict[Any, Any]:
    """Return the description of the errors that any handler may answer, and of those with ``codes``."""
    writes = {400, 413} if 422 in codes else set()  # (a malformed key, a body that is too large)
    return {
        (code, "application/problem+json"): OpenApiResponse(
            ProblemSerializer, description=str(TITLES[code][1])
        )
        for code in sorted({401, 403, *codes, *writes})
    }
