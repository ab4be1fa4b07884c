"""Helpers for views: the user and their input, denials, and pages of tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from hadash.accounts.addresses import address_of as address_of
from hadash.accounts.roles import pairs_where
from hadash.audit.models import stored
from hadash.inventory.models import Pair
from hadash.presentation import selectors
from hadash.presentation.lookups import the_appid as the_appid
from hadash.presentation.lookups import the_switch as the_switch
from hadash.presentation.paging import counted
from hadash.sentences import Sentence, say

PAGE_SIZE = 25


def user_of(request: HttpRequest) -> User:
    """Return the signed-in user: LoginRequiredMiddleware has turned everybody else away."""
    user = request.user
    assert isinstance(user, User) or getattr(user, "is_authenticated", False)
    return user  # type: ignore[return-value]


def searched(request: HttpRequest, name: str) -> str:
    """Return a query parameter in a form that PostgreSQL can search for (it has no NUL)."""
    return str(stored(request.GET.get(name, ""))).strip()


def typed(request: HttpRequest, name: str) -> str:
    """Return a form field in a form that PostgreSQL can store."""
    return str(stored(request.POST.get(name, "")))


def searched_for_form(request: HttpRequest) -> dict[str, Any]:
    """Return all query parameters, to fill a form with."""
    return {name: stored(value) for name, value in request.GET.items()}


def faults_of(form: Form) -> list[Sentence]:
    """Return what is wrong with the fields of an invalid form."""
    return [say("%(error)s", error=text) for texts in form.errors.values() for text in texts]


def denied(
    request: HttpRequest,
    error: PermissionDenied,
    permission: str,
    pair: Pair | None = None,
    besides: User | None = None,
) -> HttpResponse:
    """Answer 403 with the names of people who have the permission.

    :param besides: a person whose name is left out.
    """
    context = {"exception": str(error), "people": selectors.people_who(permission, pair, besides)}
    return render(request, "403.html", context, status=403)


def the_pair(user: Any, pk: int) -> Pair:
    """Return the pair with this number.

    :raises Http404: there is none, or ``user`` may not see it.
    """
    found = pairs_where(user).select_related("first", "second", "default").filter(pk=pk).first()
    if found is None:
        raise Http404(_("There is no pair with number %(pk)s.") % {"pk": pk})
    return found


def paged(
    request: HttpRequest,
    rows: Any,
    size: int = PAGE_SIZE,
    count: int | None = None,
    *,
    scans: bool = False,
) -> Page[Any]:
    """Return the page of ``rows`` that ``?page=`` names, or the nearest one that exists.

    :param count: the number of all rows, if the caller knows it.
    :param scans: whether the database has to scan every row of a large table to find these.
    """
    paginator = Paginator(rows, size)
    asked = request.GET.get("page") or "1"
    if scans and asked.isdecimal() and int(asked[:9]) > 0:
        place = int(asked[:9])
        of_page, of_all = counted(rows, (place - 1) * size, place * size)
        if of_all is not None or place == 1:
            paginator.count = of_all or 0
            return Page(of_page, place, paginator)
    if count is not None:
        paginator.count = count
    number = request.GET.get("page")
    if count is None and number in (None, "", "1") and isinstance(rows, QuerySet):
        # Rows that fit on one page need no counting.
        first = list(rows[: size + 1])
        if len(first) <= size:
            paginator.count = len(first)
        return Page(first[:size], 1, paginator)
    return paginator.get_page(number)


@dataclass(frozen=True, slots=True)
class Part:
    """A page of one of several tables on a page, with the addresses of the next and the previous; empty for none."""

    page: Page[Any]
    before: str
    after: str

    @property
    def every_row(self) -> Any:
        """The rows of all pages."""
        return self.page.paginator.object_list


def part_of(request: HttpRequest, name: str, rows: Any, size: int, address: str = "") -> Part:
    """Return the page of ``rows`` that ``?<name>=`` names, for a table that is not alone on its page.

    :param address: the page that shows the table, when a POST to another address may have to show it, too.
    """
    page = Paginator(rows, size).get_page(request.GET.get(name))

    def beside(number: int) -> str:
        return f"{address}{address_with(request, **{name: str(number)})}"

    return Part(
        page,
        beside(page.number - 1) if page.has_previous() else "",
        beside(page.number + 1) if page.has_next() else "",
    )


def address_with(request: HttpRequest, **values: str | None) -> str:
    """Return the query of this page with some values changed: filters and pages are part of the address. (``part`` is
    only of requests for a part of a page, whose links lead to the whole of it.)
    """
    query = request.GET.copy()
    query.pop("part", None)
    for name, value in values.items():
        query.pop(name, None)
        if value:
            query[name] = value
    return f"?{query.urlencode()}"
