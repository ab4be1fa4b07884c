"""The lookup ``name__one_of=names``: one parameter for all names, where ``__in`` has one for each.

A query for thousands of names stays below PostgreSQL's limit of 65,535 parameters, and is built quickly.
"""

from __future__ import annotations

from typing import Any

from django.db.models import CharField, Lookup


@CharField.register_lookup
class OneOf(Lookup):
    """Whether a column equals one of some names."""

    lookup_name = "one_of"
    prepare_rhs = False

    def get_db_prep_lookup(self, value: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        return "%s", (sorted(value),)

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        column, of_column = self.process_lhs(compiler, connection)
        names, of_names = self.process_rhs(compiler, connection)
        return f"{column} = ANY({names})", (*of_column, *of_names)
