"""Tables of pages: heads that order them, and cells that show a value as its column says."""

from __future__ import annotations

from typing import Any

from django import template
from django.http import HttpRequest
from django.template.context import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from hadash.dashboard.charts.chart import Chart
from hadash.dashboard.sorting import Order, order_of
from hadash.dashboard.templatetags.hadash import cluster, day, does, few_names, number, percent, seconds, when
from hadash.dashboard.views.common import address_with
from hadash.presentation.tables import Column

register = template.Library()


@register.simple_block_tag
def heading(content: str, order: Order | None, column: str, kind: str = "", hint: Any = "") -> SafeString:
    """The head of a column that orders its table when it is clicked: ``{% heading order "name" %}…{% endheading %}``.

    :param order: ``None`` (or nothing of that name) where the table stands on a page that has an order of its
        own. :param kind: its classes; with ``num`` the first click puts the largest first.
    """
    if not order:
        return format_html(
            "<th{}{}>{}</th>",
            format_html(' class="{}"', kind) if kind else "",
            format_html(' title="{}"', hint) if hint else "",
            mark_safe(content.strip()),
        )
    now = order.of(column)
    arrow = {"": "", "ascending": " ↑", "descending": " ↓"}[now]
    return format_html(
        '<th{}{}{}><a class="row" href="{}">{}{}</a></th>',
        format_html(' class="{}"', kind) if kind else "",
        format_html(' aria-sort="{}"', now) if now else "",
        format_html(' title="{}"', hint) if hint else "",
        order.link(column, largest_first="num" in kind.split()),
        mark_safe(content.strip()),
        arrow,
    )


@register.simple_tag
def sorted_by(order: Order) -> SafeString:
    """In a form that filters a table: what it is ordered by stays."""
    if not order.text:
        return SafeString("")
    return format_html('<input type="hidden" name="{}" value="{}">', order.name, order.text)


@register.simple_tag(takes_context=True)
def twin_order(context: Context, chart: Chart) -> Order | None:
    """How the table twin of a chart is ordered: as the address says. ``None``: it cannot say."""
    if chart.is_fragment:
        return None
    columns = [column.name for column in chart.columns]
    return order_of(context["request"], columns, f"{chart.name}-sort", "", chart.address, anchor=chart.name)


@register.simple_tag
def twin_rows(chart: Chart, order: Order | None) -> list[list[tuple[Column, Any]]]:
    """The rows of the twin in this order."""
    return chart.twin(order)


@register.simple_tag(takes_context=True)
def cell(context: Context, column: Column, value: Any) -> SafeString:
    """A value below the head of its column. (A page may have thousands: as a template of its own each would
    take ten times as long.)
    """
    if column.is_number:
        classes = ' class="num"'
    elif column.kind in ("time", "day"):
        classes = ' class="nowrap"'
    else:
        classes = ""
    # (A line each: in the text of a row the cells are words apart.)
    return format_html("<td{}>{}</td>\n", mark_safe(classes), _shown(context, column, value))


def _shown(context: Context, column: Column, value: Any) -> Any:
    if value is None:
        return format_html('<span class="quiet">{}</span>', column.none or "?")
    if column.kind == "cluster":
        return cluster(context, value) if value else ""
    show = _SHOWN.get(column.kind)
    return show(value) if show is not None else value or "–"


#: By the kind of a column, how a value is shown.
_SHOWN: dict[str, Any] = {
    "number": number,
    "seconds": seconds,
    "percent": percent,
    "time": when,
    "day": day,
    "use": does,
    "names": few_names,
}


@register.inclusion_tag("parts/csv.html", takes_context=True)
def csv_link(context: Context, address: str, of: str, **query: str) -> dict[str, str]:
    """To all rows of a table, in the order and with the search that the page has.

    :param query: what asks for it at that address.
    """
    request: HttpRequest = context["request"]
    return {"address": address + address_with(request, **query), "of": of}
