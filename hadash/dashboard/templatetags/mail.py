"""Template tags for reports, as pages and as mail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from hadash.reports import drawing
from hadash.reports.marks import MARK, MARKS
from hadash.reports.report import Cell, Heading, Picture, Table, Tone

register = template.Library()

T = TypeVar("T")


@register.filter
def in_rows(values: Sequence[T], count: int) -> list[Sequence[T]]:
    """Split values into rows of at most ``count``.
    >>> in_rows([1, 2, 3, 4], 3)
    [[1, 2, 3], [4]]
    """
    return [values[start : start + count] for start in range(0, len(values), count)]


@register.filter
def with_columns(row: Iterable[Cell], table: Table) -> Iterator[tuple[Cell, Heading]]:
    return zip(row, table.columns, strict=True)


@register.filter
def hued(text: str) -> SafeString:
    """Render a text with the marks of clusters in their hues (:mod:`hadash.reports.marks`)."""
    signs = {sign: name for name, sign in MARKS.items()}
    shown = MARK.sub(lambda found: f'<span class="hue-{signs[found[0]]}">{found[0]}</span>', escape(text))
    return mark_safe(shown)


@register.filter
def svg(picture: Picture) -> SafeString:
    """Return a picture's SVG in the page's colours. (:mod:`hadash.reports.drawing` escapes what people typed.)"""
    return mark_safe(drawing.for_page(picture.svg))


@register.simple_tag
def tone(value: Any) -> SafeString:
    """Render the mark of a tone, with its word for screen readers; nothing for a tone without a mark."""
    known = Tone(value)
    words = {
        Tone.FINE: _("good"),
        Tone.NOTICE: _("look at it"),
        Tone.BAD: _("bad"),
        Tone.UNKNOWN: _("not known"),
    }
    if known not in words:
        return SafeString("")
    return format_html(
        '<span class="tone tone-{}" aria-hidden="true">{}</span><span class="hidden">{}</span>',
        known.value,
        known.mark,
        words[known],
    )
