"""Renders a message as mail: as HTML and as text."""

from __future__ import annotations

from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from hadash.notices.payloads import Message
from hadash.outbox.messages import UNSUBSCRIBE_MARK
from hadash.reports.html import inliner


def html_of(message: Message) -> str:
    """Return a message as HTML in the active language."""
    return inliner().inline(
        render_to_string("notices/mail.html", {"message": message, "unsubscribe_mark": UNSUBSCRIBE_MARK})
    )


def text_of(message: Message) -> str:
    """Return a message as plain text in the active language."""
    lines = [message.title, ""]
    if len(message.items) > 1:
        for item in message.items:
            lines += [f"{'! ' if item.is_urgent else ''}{item.text}", f"  {item.url}", ""]
    else:
        lines += [item.url for item in message.items] + [""]
    lines += ["-- ", _("Which notices you get, and when, is set on the page Notices."), UNSUBSCRIBE_MARK]
    return "\n".join(lines) + "\n"
