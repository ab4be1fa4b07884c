"""The paths: whatever people call their things, nobody's node is somebody else's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.bindings import layout

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@pytest.mark.parametrize("path", [layout.binding, layout.gateway, layout.switch, layout.cluster, layout.pair])
@given(name=names)
def test_a_name_makes_exactly_one_element(path: object, name: str) -> None:
    assert path(name).count("/") == 2  # type: ignore[operator]


def test_the_paths_are_what_other_engines_read() -> None:
    assert layout.binding("shop/web") == "/bindings/shop%2Fweb"
    assert layout.gateway_live("gateway-1") == "/gateways/gateway-1/live"
    assert layout.gateway_applied("gateway-1", "4f2a") == "/gateways/gateway-1/applied-4f2a"
    assert layout.gateway_applied("gateway-1", "") == "/gateways/gateway-1/applied"
    assert layout.returning("4f2a") == "/returning/4f2a"
    assert layout.placement("s#1") == "/switches/s%231/placement"
    assert layout.EPOCH == "/epoch"
