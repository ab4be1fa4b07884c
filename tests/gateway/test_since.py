"""Versions of Kafka's APIs that the Gateway's code depends on have one home, and each of them tells something apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from hadash import gateway
from hadash.gateway.protocol.api_keys import SERVED, ApiKey
from hadash.gateway.protocol.since import SINCE

ROOT = Path(gateway.__path__[0])

#: Versions of IP, not of an API.
OTHER_VERSIONS = {"protocol/proxy_protocol.py"}

NAMES = [
    (kind, name, value)
    for kind, names in SINCE.items()
    for name, value in vars(names).items()
    if name.isupper()
]


def _is_version(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name.strip("_") == "version"


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > 0


def compared_with_numbers(source: str) -> Iterator[int]:
    """The lines in which a version is compared with a bare number."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(_is_version, sides)) and any(map(_is_number, sides)):
                yield node.lineno


def test_no_version_is_compared_with_a_bare_number() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted(ROOT.rglob("*.py"))
        if str(path.relative_to(ROOT)) not in OTHER_VERSIONS
        for line in compared_with_numbers(path.read_text(encoding="utf-8"))
    ]
    assert not found, "name it in hadash/gateway/protocol/since.py"


def test_a_bare_number_would_be_found() -> None:
    assert list(compared_with_numbers("if request.version >= 7: pass")) == [1]
    assert list(compared_with_numbers("x = 4 if 3 <= version < 9 else 0")) == [1]
    assert list(compared_with_numbers("if request.version >= Fetch.SESSION: pass")) == []


@pytest.mark.parametrize(
    ("kind", "name", "value"), NAMES, ids=[f"{kind.name}-{name}" for kind, name, _ in NAMES]
)
def test_each_tells_versions_apart_that_are_served(kind: ApiKey, name: str, value: int) -> None:
    low, high = SERVED[kind]
    assert low < value <= high, (
        "no client may send the versions on one side of it: what depends on it is dead"
    )
