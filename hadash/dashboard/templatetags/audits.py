"""Template tags for what auditors say."""

from __future__ import annotations

import math
from typing import Any

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from hadash.auditors.models import AuditDifference
from hadash.auditors.proofs import Proof
from hadash.auditors.versions import Part
from hadash.dashboard.templatetags.hadash import state
from hadash.presentation import badges

register = template.Library()


@register.filter
def exact_percent(share: float) -> str:
    """A share with two decimals, rounded down: what is not whole is never shown as 100.

    >>> exact_percent(0.99999), exact_percent(1.0), exact_percent(0.5)
    ('99.99 %', '100 %', '50.00 %')
    """
    if share >= 1:
        return "100 %"
    return f"{math.floor(share * 10_000) / 100:.2f} %"


@register.filter
def kind_word(kind: str) -> str:
    """The word for a kind of difference, in the reader's language."""
    return str(dict(AuditDifference.KINDS).get(kind, kind))


@register.simple_tag
def proof(value: Proof) -> SafeString:
    """Render the badge of an audit."""
    return state(badges.of_proof(value))


@register.filter
def part_words(difference: AuditDifference) -> str:
    """The parts of a record that differ, in the reader's language."""
    words = {"key": _("key"), "value": _("value"), "headers": _("headers"), "time": _("time")}
    return ", ".join(words[part] for part in difference.parts if part in words) or "–"


@register.inclusion_tag("mirrors/record_part.html")
def record_part(part: Part | None) -> dict[str, Any]:
    """Render a key, value or header: its text, or its size and checksum for who may not see it."""
    return {"part": part}
