"""A report as HTML mail: tables for Outlook, styles inlined for Gmail, and its own colours where a mail
program asks for dark ones.
"""

from __future__ import annotations

from functools import lru_cache

import css_inline
from django.template.loader import render_to_string

from hadash.outbox.messages import UNSUBSCRIBE_MARK
from hadash.reports.report import Report


@lru_cache(maxsize=1)
def inliner() -> css_inline.CSSInliner:
    """For all mail."""
    # The styles stay in the head, too: those for dark colours and narrow screens cannot be inlined. Nothing
    # is loaded from anywhere.
    return css_inline.CSSInliner(keep_style_tags=True, load_remote_stylesheets=False)


def html_of(report: Report, why: str, *, can_unsubscribe: bool) -> str:
    """In the language that is active.

    :param why: why the reader gets it, in a sentence.
    """
    context = {
        "report": report,
        "why": why,
        "can_unsubscribe": can_unsubscribe,
        "unsubscribe_mark": UNSUBSCRIBE_MARK,
    }
    return inliner().inline(render_to_string("reports/mail.html", context))
