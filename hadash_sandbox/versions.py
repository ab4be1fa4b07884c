"""Checks whether this version can read the database of a demo that is started again."""

from __future__ import annotations

from collections.abc import Collection

#: An application and one of its migrations.
Migration = tuple[str, str]


def strange(applied: Collection[Migration], known: Collection[Migration]) -> list[Migration]:
    """Migrations that were applied to the database and that this version does not have.

    If there are any, another version made the database. Applications that this version does not know are ignored.

    >>> applied = [("switching", "0001_initial"), ("switching", "0020_old"), ("gone", "0001")]
    >>> strange(applied, [("switching", "0001_initial")])
    [('switching', '0020_old')]
    """
    apps = {app for app, _ in known}
    return sorted(each for each in applied if each[0] in apps and each not in known)
