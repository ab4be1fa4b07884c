"""Lists in pages: ``?page=2&page_size=100``."""

from __future__ import annotations

from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request


class Pages(PageNumberPagination):
    """``{"count", "next", "previous", "results"}``."""

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
        fits = asked.isdecimal() and len(asked) <= len(str(self.max_page_size))
        if not fits or not 1 <= int(asked) <= self.max_page_size:
            raise ValidationError(
                {"page_size": [_("From 1 to %(most)s rows fit a page.") % {"most": self.max_page_size}]}
            )
        return int(asked)
