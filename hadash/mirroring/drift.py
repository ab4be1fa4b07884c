"""Whether a connector still has the settings that hadash gives it. Pure."""

from __future__ import annotations

from collections.abc import Mapping


def drifted(wanted: Mapping[str, str], held: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the settings that differ, in order. Never their values: some are passwords.

    Keys that hadash does not set are an operator's own (a metrics reporter, ``tasks.max.enforce``) and stay.

    >>> drifted({"topics": "a", "tasks.max": "1"}, {"topics": "a", "tasks.max": "4", "metric.reporters": "x"})
    ('tasks.max',)
    """
    return tuple(sorted(key for key, value in wanted.items() if held.get(key) != value))
