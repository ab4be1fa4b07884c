"""Renders a report as HTML mail: with tables for Outlook, inline styles for Gmail, and colours for dark mode."""

from __future__ import annotations

from functools import lru_cache

import css_inline
from django.template.loader import render_to_string

from hadash.outbox.messages import UNSUBSCRIBE_MARK
from hadash.reports.report import Report


@lru_cache(maxsize=1)
def inliner() -> css_inline.CSSInliner:
    """Return the CSS inliner for all mail."""
    # The styles are also kept in the head, because those for dark mode and narrow screens cannot be inlined.
    # Nothing is loaded from the network.
    return css_inline.CSSInliner(keep_style_tags=True, load_remote_stylesheets=False)


def html_of(report: Report, why: str, *, can_unsubscribe: bool) -> str:
    """Return a report as HTML in the active language.

    :param why: a sentence that says why the reader gets it.
    """
    context = {
        "report": report,
        "why": why,
        "can_unsubscribe": can_unsubscribe,
        "unsubscribe_mark": UNSUBSCRIBE_MARK,
    }
    return inliner().inline(render_to_string("reports/mail.html", context))
