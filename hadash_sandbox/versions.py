"""Whether the database of a demo that is started again is one that this version can read."""

from __future__ import annotations

from collections.abc import Collection

#: An application and one of its migrations.
Migration = tuple[str, str]


def strange(applied: Collection[Migration], known: Collection[Migration]) -> list[Migration]:
    """Migrations that were applied to the database and that this version does not have: it was made by another one.

    Of applications that this version knows only; others are nobody's business.

    >>> strange([("switching", "0001_initial"), ("switching", "0020_old"), ("gone", "0001")], [("switching", "0001_initial")])
    [('switching', '0020_old')]
    """
    apps = {app for app, _ in known}
    return sorted(each for each in applied if each[0] in apps and each not in known)
