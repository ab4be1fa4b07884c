"""Removes old data: reports by the day on which they came, and the quarantine."""

from __future__ import annotations

from datetime import date, timedelta

from hadash.lake import quarantine
from hadash.lake.access import FOLDER, LATE_FOLDER, days
from hadash.lake.store import Store


def expire(store: Store, today: date, keep_days: int) -> list[str]:
    """Remove the days before the last ``keep_days``; return them.

    The newest day stays, however old it is: stopping the Gateways must not empty the lake.

    :param keep_days: at least 1; today counts.
    """
    first = f"{today - timedelta(days=keep_days - 1):%Y-%m-%d}"
    known = days(store)
    gone = [day for day in known[:-1] if day < first]
    for day in gone:
        store.delete_folder(f"{FOLDER}/date={day}")
        store.delete_folder(f"{quarantine.ROWS}/date={day}")
        store.delete_folder(f"{quarantine.FILES}/{FOLDER}/date={day}")
    for folder in (quarantine.LINES, LATE_FOLDER):
        for name in store.folders(folder):
            if name < f"date={first}":
                store.delete_folder(f"{folder}/{name}")
    return gone
