"""Finds settings of a connector that differ from those that hadash gives it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hadash.mirroring.connector import BY_PROTOCOL, PREFIXES

#: Settings with which a connector omits or changes records: operators must not set them. (``errors.tolerance``
#: with any value but ``none`` skips records that a transformation or a converter refuses.)
_TOLERANCE = "errors.tolerance"
_CHANGING = ("transforms", "predicates")


def drifted(wanted: Mapping[str, str], held: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the settings that differ, sorted. Never their values: some are passwords.

    Operators may set keys that hadash does not set (a metrics reporter, ``tasks.max.enforce``). Exceptions are
    keys that make a mirror omit or change records, and keys for the sign-in and TLS of its clients: when a
    cluster is registered with another security protocol, or without its former authority or certificate, the
    old values have to go.

    >>> drifted({"topics": "a", "tasks.max": "1"}, {"topics": "a", "tasks.max": "4", "metric.reporters": "x"})
    ('tasks.max',)
    >>> held = {"topics": "a", "errors.tolerance": "all", "transforms": "t", "transforms.t.type": "x"}
    >>> drifted({"topics": "a"}, held)
    ('errors.tolerance', 'transforms', 'transforms.t.type')
    """
    differing = {key for key, value in wanted.items() if held.get(key) != value}
    others = held.keys() - wanted.keys()
    left_behind = {key for key in others if _left_behind(key, held)}
    return tuple(sorted(differing | left_behind | {key for key in others if _unwanted(key, held[key])}))


def mending(wanted: Mapping[str, str], keys: Iterable[str]) -> dict[str, str | None]:
    """Return the settings that mend ``keys`` of :func:`drifted`; ``None`` removes a key.

    >>> mending({"topics": "a"}, ("topics", "transforms"))
    {'topics': 'a', 'transforms': None}
    """
    return {key: wanted.get(key) for key in keys}


def _unwanted(key: str, value: str | None) -> bool:
    if key == _TOLERANCE:
        return (value or "none").lower() != "none"
    return bool(value) and (key in _CHANGING or key.startswith(tuple(f"{name}." for name in _CHANGING)))


def _left_behind(key: str, held: Mapping[str, str]) -> bool:
    """Return whether a key is left from an earlier registration of the client's cluster."""
    prefix = next((one for one in PREFIXES if key.startswith(one)), None)
    if prefix is None or key.removeprefix(prefix) not in BY_PROTOCOL:
        return False
    store, _, last = key.rpartition(".")
    if last != "type":
        return True
    # hadash's stores are PEM texts. A store in a file was set by an operator, whatever its type.
    return held[key] == "PEM" and f"{store}.location" not in held
