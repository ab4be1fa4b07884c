"""Whether a connector still has the settings that hadash gives it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hadash.mirroring.connector import BY_PROTOCOL, PREFIXES

#: What makes a connector leave records out or change them: these are nobody's own. (``errors.tolerance`` with any
#: value but ``none`` skips what a transformation or a converter refuses.)
_TOLERANCE = "errors.tolerance"
_CHANGING = ("transforms", "predicates")


def drifted(wanted: Mapping[str, str], held: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the settings that differ, in order. Never their values: some are passwords.

    Keys that hadash does not set are an operator's own (a metrics reporter, ``tasks.max.enforce``) and stay,
    but for those that make a mirror leave out or change records, and for how its clients sign in and what
    they trust: of a cluster that was registered with another security protocol, or without the authority or
    certificate that it had, they would go on to use what it had before.

    >>> drifted({"topics": "a", "tasks.max": "1"}, {"topics": "a", "tasks.max": "4", "metric.reporters": "x"})
    ('tasks.max',)
    >>> drifted({"topics": "a"}, {"topics": "a", "errors.tolerance": "all", "transforms": "t", "transforms.t.type": "x"})
    ('errors.tolerance', 'transforms', 'transforms.t.type')
    """
    differing = {key for key, value in wanted.items() if held.get(key) != value}
    others = held.keys() - wanted.keys()
    left_behind = {key for key in others if _left_behind(key, held)}
    return tuple(sorted(differing | left_behind | {key for key in others if _unwanted(key, held[key])}))


def mending(wanted: Mapping[str, str], keys: Iterable[str]) -> dict[str, str | None]:
    """What has to be set to mend ``keys`` of :func:`drifted`; ``None`` takes a key away.

    >>> mending({"topics": "a"}, ("topics", "transforms"))
    {'topics': 'a', 'transforms': None}
    """
    return {key: wanted.get(key) for key in keys}


def _unwanted(key: str, value: str | None) -> bool:
    if key == _TOLERANCE:
        return (value or "none").lower() != "none"
    return bool(value) and (key in _CHANGING or key.startswith(tuple(f"{name}." for name in _CHANGING)))


def _left_behind(key: str, held: Mapping[str, str]) -> bool:
    """Whether hadash gave it to a client when its cluster was registered otherwise."""
    prefix = next((one for one in PREFIXES if key.startswith(one)), None)
    if prefix is None or key.removeprefix(prefix) not in BY_PROTOCOL:
        return False
    store, _, last = key.rpartition(".")
    if last != "type":
        return True
    # hadash's stores are texts. One in a file is an operator's own, whatever its type.
    return held[key] == "PEM" and f"{store}.location" not in held
