"""Addresses the texts for owners with what is known of them for reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hadash.presentation.uncovered import Uncovered
from hadash.reports.models import OwnerAddress


def addressed(rows: Sequence[Uncovered]) -> list[Uncovered]:
    """Return the rows with their owners' mail addresses and languages, where they are known. One query."""
    owners = {row.owner for row in rows if row.owner}
    known = {each.owner: each for each in OwnerAddress.objects.filter(owner__in=owners)} if owners else {}
    return [
        replace(row, address=known[row.owner].address, language=known[row.owner].language)
        if row.owner in known
        else row
        for row in rows
    ]
