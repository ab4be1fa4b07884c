"""Template tags for tables: heads that order them, and cells that show a value by the kind of its column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template
from django.http import HttpRequest
from django.template.context import Context
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from hadash.dashboard.charts.chart import Chart, Linked, LinkedCount
from hadash.dashboard.figures import trend_svg
from hadash.dashboard.sorting import Order, order_of
from hadash.dashboard.templatetags.hadash import (
    cluster,
    day,
    does,
    few_names,
    group_state,
    number,
    percent,
    seconds,
    when,
)
from hadash.dashboard.views.common import address_with
from hadash.presentation.tables import Column

register = template.Library()


@register.simple_block_tag
def heading(content: str, order: Order | None, column: str, kind: str = "", hint: Any = "") -> SafeString:
    """Render the head of a column, which orders its table on a click: ``{% heading order "name" %}…{% endheading %}``.

    :param order: ``None`` (or an undefined variable) where the table has a fixed order.
    :param kind: its CSS classes; with ``num`` the first click puts the largest first.
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
    """Render a hidden field that keeps a table's order when its filter form is sent."""
    if not order.text:
        return SafeString("")
    return format_html('<input type="hidden" name="{}" value="{}">', order.name, order.text)


@register.simple_tag(takes_context=True)
def twin_order(context: Context, chart: Chart) -> Order | None:
    """Return the order of a chart's table twin from the address; ``None`` for a chart whose twin has none."""
    if chart.is_fragment:
        return None
    columns = [column.name for column in chart.columns]
    return order_of(context["request"], columns, f"{chart.name}-sort", "", chart.address, anchor=chart.name)


@register.simple_tag
def twin_rows(chart: Chart, order: Order | None) -> list[list[tuple[Column, Any]]]:
    """Return the rows of the twin in this order."""
    return chart.twin(order)


@register.simple_tag(takes_context=True)
def cell(context: Context, column: Column, value: Any) -> SafeString:
    """Render a value below the head of its column. (A page may have thousands of cells: a template for each would
    take ten times as long.)
    """
    if column.is_number:
        classes = ' class="num"'
    elif column.kind in ("time", "day"):
        classes = ' class="nowrap"'
    else:
        classes = ""
    # (A line per cell, so that the words of a row's text are separated.)
    return SafeString(f"<td{classes}>{conditional_escape(_shown(context, column, value))}</td>\n")


def _shown(context: Context, column: Column, value: Any) -> Any:
    if value is None:
        return format_html('<span class="quiet">{}</span>', column.none or "?")
    if isinstance(value, Linked | LinkedCount) and value.href:
        return format_html('<a class="row" href="{}">{}</a>', value.href, _written(column, value))
    if column.kind == "cluster":
        return cluster(context, value) if value else ""
    return _written(column, value)


def _written(column: Column, value: Any) -> Any:
    show = _SHOWN.get(column.kind)
    return show(value) if show is not None else value or "–"


#: kind of a column → the function that renders its values.
_SHOWN: dict[str, Any] = {
    "number": number,
    "seconds": seconds,
    "percent": percent,
    "time": when,
    "day": day,
    "use": does,
    "names": few_names,
    "group_state": group_state,
}


@register.simple_tag
def line(values: Sequence[float | None], word: str) -> SafeString:
    """Draw values of equal steps as a small line; nothing while fewer than two are known.

    :param word: what they are, with the time that they span.
    """
    return trend_svg(values, word)


@register.inclusion_tag("parts/csv.html", takes_context=True)
def csv_link(context: Context, address: str, of: str, **query: str) -> dict[str, str]:
    """Render a link to all rows of a table as CSV, in the page's order and with its search.

    :param query: the parameters that request the CSV at that address.
    """
    request: HttpRequest = context["request"]
    return {"address": address + address_with(request, **query), "of": of}
