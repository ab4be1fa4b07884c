"""Charts as PNG, for mail. Drawn by resvg: no browser, and the machine's own fonts."""

from __future__ import annotations

import resvg_py

from hadash.reports.report import Picture

#: Pixels of the picture for one of the mail: screens have two.
SCALE = 2


def png_of(picture: Picture) -> bytes:
    return bytes(resvg_py.svg_to_bytes(svg_string=picture.svg, zoom=SCALE))
