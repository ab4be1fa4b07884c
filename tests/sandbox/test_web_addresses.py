"""What ``make bench-web`` measures: every page and every list of the API, or there is a reason why not."""

from __future__ import annotations

import re

import pytest
from api.endpoints import API, PAGES

from hadash_sandbox.bench.web.addresses import NOT_MEASURED, templates


def shape(path: str) -> str:
    """
    >>> shape("mirrors/{pair}/{mirror}/?window={window}")
    'mirrors/{}/{}/'
    """
    return re.sub(r"\{\w*\}", "{}", path.partition("?")[0])


OFFERED = [path for method, path in PAGES if method == "GET"]
OFFERED += [f"api/v1/{path}" for method, path in API if method == "GET"]
MEASURED = {shape(path) for path in templates()}
LEFT_OUT = [path for paths in NOT_MEASURED.values() for path in paths]


@pytest.mark.parametrize("path", OFFERED, ids=lambda path: path or "overview")
def test_it_is_measured_or_there_is_a_reason(path: str) -> None:
    assert (shape(path) in MEASURED) != (shape(path) in LEFT_OUT)


@pytest.mark.parametrize("path", [*sorted(MEASURED), *LEFT_OUT], ids=lambda path: path or "overview")
def test_what_is_named_is_there(path: str) -> None:
    assert path in set(map(shape, OFFERED))
