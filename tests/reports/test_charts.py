"""The charts of reports take the colours of the page that they stand on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hadash.reports import charts, drawing

DRAWN = {
    "lines": charts.lines(
        [
            charts.Series("high", [3.0, None, 5.0], drawing.BAD),
            charts.Series("medium", [1.0, 2.0, 3.0], drawing.GREYS[0]),
            charts.Series("low", [1.0, 2.0, 2.0], drawing.GREYS[1]),
        ],
        ("11-01", "11-03"),
        limit=(4.0, "RPO"),
    ),
    "bars": charts.bars([("shop", 3.0, ""), ("购物车", 1.0, "")]),
}


@pytest.mark.parametrize("chart", DRAWN.values(), ids=DRAWN.keys())
def test_no_colour_of_light_mode_is_left(chart: str) -> None:
    shown = drawing.for_page(chart)
    assert re.search("#[0-9a-f]{6}", chart)
    assert not re.search("#[0-9a-f]{6}", shown)
    assert 'fill="var(--surface)"' in shown


def test_pages_have_these_colours() -> None:
    style = (Path(__file__).parents[2] / "static" / "hadash.css").read_text()
    assert [name for name in drawing.PAGE_COLOURS.values() if f"  {name}: light-dark(" not in style] == []


def test_a_name_that_reads_like_a_colour_stays() -> None:
    name = 'fill="#1f2328"'
    assert f">{name}<" in drawing.for_page(charts.bars([(name, 3.0, "")]))


def test_a_colour_of_an_earlier_version_stays() -> None:
    assert drawing.for_page('<rect fill="#123456"/>') == '<rect fill="#123456"/>'
