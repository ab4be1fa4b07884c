"""Lists in pages: ``?page=2&page_size=100``."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request

#: Digits of a page's number that are read: so many pages has no list.
_DIGITS = 18


class Pages(PageNumberPagination):
    """``{"count", "next", "previous", "results"}``."""

    #: (DRF would take ``last``, too; the schema says a number.)
    last_page_strings = ()
    page_size = 50
    page_size_query_param = "page_size"
    #: A page is rendered in one piece: a larger one would only take longer.
    max_page_size = 200

    def get_page_size(self, request: Request) -> int:
        """Return the rows of a page.

        :raises ValidationError: ``page_size`` is out of range or no number. (DRF would silently use its default.)
        """
        asked = request.query_params.get("page_size")
        if asked is None:
            return self.page_size
        fits = asked.isascii() and asked.isdecimal() and len(asked) <= len(str(self.max_page_size))
        if not fits or not 1 <= int(asked) <= self.max_page_size:
            raise ValidationError(
                {"page_size": [_("From 1 to %(most)s rows fit a page.") % {"most": self.max_page_size}]}
            )
        return int(asked)

    def get_page_number(self, request: Request, paginator: Paginator) -> int:
        """Return the number of the page, from 1.

        :raises ValidationError: ``page`` is no such number. (DRF would take an empty one for the first page.)
        """
        asked = request.query_params.get(self.page_query_param)
        if asked is None:
            return 1
        if not (asked.isascii() and asked.isdecimal()) or int(asked[:_DIGITS]) < 1:
            raise ValidationError({"page": [_("Pages are numbered from 1.")]})
        return int(asked[:_DIGITS])
