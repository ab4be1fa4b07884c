"""Renders charts as PNG for mail with resvg: without a browser, and with the machine's own fonts."""

from __future__ import annotations

import resvg_py

from hadash.reports.report import Picture

#: Pixels of the image for each pixel of the mail, for high-resolution screens.
SCALE = 2


def png_of(picture: Picture) -> bytes:
    """Return a chart as PNG."""
    return bytes(resvg_py.svg_to_bytes(svg_string=picture.svg, zoom=SCALE))
