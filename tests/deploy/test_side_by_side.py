"""Two versions run side by side while an update lasts: what migrations do, older code can do without.

No version has been released yet. From the first release on, the newest migration of each app of that release
stands in ``RELEASED``; what comes after it is held to the rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.apps import apps as installed
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.models.functions import Now

#: app → its newest migration of the last release. (As of 2026-11-26: each app's newest, so that the rule
#: holds for what comes next.)
RELEASED = {
    "accounts": "0001",
    "api": "0001",
    "audit": "0001",
    "auditors": "0001",
    "full_audits": "0001",
    "governance": "0001",
    "inventory": "0001",
    "mirroring": "0001",
    "notices": "0001",
    "outbox": "0001",
    "pipeline": "0001",
    "pools": "0001",
    "reports": "0001",
    "switching": "0001",
}

#: What takes something away that older code reads or writes: two releases later at the earliest.
TAKES_AWAY = (
    migrations.RemoveField,
    migrations.RenameField,
    migrations.DeleteModel,
    migrations.RenameModel,
    migrations.AlterModelTable,
)


def faults_of(operations: Sequence[Any]) -> Iterator[str]:
    """Why older code would fail beside these."""
    for operation in operations:
        if isinstance(operation, TAKES_AWAY):
            yield f"{operation.describe()}: older code still uses it"
        if isinstance(operation, migrations.AddField) and _is_demanded(operation.field):
            yield f"{operation.describe()}: older code writes rows without it; give it null=True or db_default"
        if isinstance(operation, migrations.AlterField) and _is_demanded(operation.field):
            yield f"{operation.describe()}: older code may write rows without it; give it db_default"
        if isinstance(operation, migrations.SeparateDatabaseAndState):
            yield from faults_of(operation.database_operations)


def _is_demanded(field: models.Field[Any, Any]) -> bool:
    """Whether the database refuses a row that says nothing of it. (Django drops what only Python knows as a
    default.)
    """
    return not field.null and not field.has_db_default() and not field.many_to_many


@pytest.mark.parametrize(
    ("operation", "is_wrong"),
    [
        (migrations.AddField("switch", "a", models.TextField(null=True)), False),
        (migrations.AddField("switch", "a", models.TextField(db_default="")), False),
        (migrations.AddField("switch", "a", models.DateTimeField(db_default=Now())), False),
        (migrations.AddField("switch", "a", models.TextField(default="")), True),
        (migrations.AlterField("switch", "a", models.TextField()), True),
        (migrations.RemoveField("switch", "a"), True),
        (migrations.RenameField("switch", "a", "b"), True),
        (migrations.DeleteModel("switch"), True),
        (migrations.CreateModel("new", [("a", models.TextField())]), False),
        (migrations.SeparateDatabaseAndState([migrations.RemoveField("switch", "a")], []), True),
    ],
    ids=lambda value: value.describe() if hasattr(value, "describe") else str(value),
)
def test_what_older_code_can_do_without(operation: Any, is_wrong: bool) -> None:
    assert bool(list(faults_of([operation]))) is is_wrong


def test_every_migration_since_the_last_release_keeps_to_it() -> None:
    loader = MigrationLoader(None)
    ours = {key for key in loader.disk_migrations if key[0] in RELEASED}
    apps = {app for app, _name in loader.disk_migrations if _is_ours(app)}
    assert apps == set(RELEASED), "an app that is new is held to it from its first migration on"
    wrong = [
        f"{app}.{name}: {fault}"
        for app, name in sorted(ours)
        if name[:4] > RELEASED[app]
        for fault in faults_of(loader.disk_migrations[app, name].operations)
    ]
    assert not wrong, "\n".join(wrong)


def _is_ours(app: str) -> bool:
    return installed.get_app_config(app).name.startswith("hadash.")
