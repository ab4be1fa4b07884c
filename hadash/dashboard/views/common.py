"""What several views need: who asks from where, and how a refusal or a denial is answered."""

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
    """The signed-in user: LoginRequiredMiddleware has turned everybody else away."""
    user = request.user
    assert isinstance(user, User) or getattr(user, "is_authenticated", False)
    return user  # type: ignore[return-value]


def searched(request: HttpRequest, name: str) -> str:
    """What the address says under ``name``, as PostgreSQL can look for it (it knows no NUL)."""
    return str(stored(request.GET.get(name, ""))).strip()


def typed(request: HttpRequest, name: str) -> str:
    """What the form says under ``name``, as PostgreSQL can keep it."""
    return str(stored(request.POST.get(name, "")))


def searched_for_form(request: HttpRequest) -> dict[str, Any]:
    """All that the address says, to fill a form with."""
    return {name: stored(value) for name, value in request.GET.items()}


def faults_of(form: Form) -> list[Sentence]:
    """What is wrong with the fields of a form that is not valid."""
    return [say("%(error)s", error=text) for texts in form.errors.values() for text in texts]


def denied(
    request: HttpRequest,
    error: PermissionDenied,
    permission: str,
    pair: Pair | None = None,
    besides: User | None = None,
) -> HttpResponse:
    """403 with the names of those who may."""
    context = {"exception": str(error), "people": selectors.people_who(permission, pair, besides)}
    return render(request, "403.html", context, status=403)


def the_pair(user: Any, pk: int) -> Pair:
    """:raises Http404: the same."""
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
    """A page of ``rows`` from ``?page=``; a number that does not exist is the nearest one.

    :param count: how many there are in all, where the caller knows. :param scans: the database has to look at
        every row of a large table to find these.
    """
    paginator = Paginator(rows, size)
    asked = request.GET.get("page") or "1"
    if scans and asked.isdecimal() and int(asked[:9]) > 0:
        place = int(asked[:9])
        of_page, of_all = counted(rows, (place - 1) * size, place * size)
        if of_all is not None:
            paginator.count = of_all
            return Page(of_page, place, paginator)
    if count is not None:
        paginator.count = count
    number = request.GET.get("page")
    if count is None and number in (None, "", "1") and isinstance(rows, QuerySet):
        # What fits on one page needs no counting.
        first = list(rows[: size + 1])
        if len(first) <= size:
            paginator.count = len(first)
        return Page(first[:size], 1, paginator)
    return paginator.get_page(number)


@dataclass(frozen=True, slots=True)
class Part:
    """A page of one of several tables on a page, and the addresses of the pages beside it (empty: there is none)."""

    page: Page[Any]
    before: str
    after: str

    @property
    def every_row(self) -> Any:
        """Those of all pages."""
        return self.page.paginator.object_list


def part_of(request: HttpRequest, name: str, rows: Any, size: int, address: str = "") -> Part:
    """A page of ``rows`` from ``?<name>=``: for a table that is not alone on its page.

    :param address: of the page that shows it, when a POST to another address may have to show it as well.
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
    """This page's query with some values changed: filters and pages stand in the address."""
    query = request.GET.copy()
    for name, value in values.items():
        query.pop(name, None)
        if value:
            query[name] = value
    return f"?{query.urlencode()}"
