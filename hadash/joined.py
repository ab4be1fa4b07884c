"""Joined rows with only some of their columns: a page that shows the names of people and clusters beside each row needs
neither their passwords nor the other forty columns, which cost as much time as the rows themselves.
"""

from __future__ import annotations

from functools import cache
from typing import TypeVar

from django.db.models import Model, QuerySet

M = TypeVar("M", bound=Model)

#: The fields by which pages name a person.
NAME_OF_A_PERSON = ("username", "first_name", "last_name")


def joined_only(found: QuerySet[M], way: str, *fields: str) -> QuerySet[M]:
    """Return rows of which the row at the end of ``way`` (as in ``select_related``) has only ``fields`` and its key.
    Others are read from the database when somebody asks for them.
    """
    return found.defer(*_others(found.model, way, fields))


@cache
def _others(model: type[Model], way: str, fields: tuple[str, ...]) -> tuple[str, ...]:
    for name in way.split("__"):
        related = model._meta.get_field(name).related_model
        assert isinstance(related, type), f"{name} leads to no row"
        model = related
    left_out = (field for field in model._meta.concrete_fields if not field.primary_key)
    return tuple(f"{way}__{field.name}" for field in left_out if field.name not in fields)


def with_names(found: QuerySet[M], *ways: str) -> QuerySet[M]:
    """Return rows with only the names of the people at the ends of ``ways``."""
    for way in ways:
        found = joined_only(found, way, *NAME_OF_A_PERSON)
    return found
