"""What the drawings of reports are made of: colours, texts and lines as SVG.

Pure. The colours are those of the pages in light mode (:func:`for_page` takes the page's own, for dark mode): hues are
reserved for clusters, all else is grey, and bad values are marked as well as coloured.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

#: Pixels. Mail is 600 pixels wide, with margins of 24.
WIDTH = 552

INK, QUIET, LINE, SURFACE = "#1f2328", "#5b6570", "#d5d9de", "#ffffff"
BAD, WAITING, FINE = "#a4232b", "#8a5a00", "#1d6b43"
#: Greys from strong to faint.
GREYS = ("#3b4450", "#8b95a1", "#c3c9d0")


class Hue(NamedTuple):
    """The colours of one of a pair's clusters."""

    ink: str
    tint: str
    line: str


#: By the place of the cluster in its pair, as :func:`hadash.presentation.selectors.hues` tells it.
HUES = {
    "first": Hue("#1b60b0", "#e5effb", "#a9c8ec"),
    "second": Hue("#b0500a", "#fdeee1", "#eebd92"),
}
#: What the pages call these colours (``static/hadash.css``).
PAGE_COLOURS = {
    INK: "--ink",
    QUIET: "--ink-3",
    LINE: "--line",
    SURFACE: "--surface",
    BAD: "--bad",
    WAITING: "--waiting",
    FINE: "--fine",
    GREYS[0]: "--ink-2",
    GREYS[1]: "--line-strong",
    GREYS[2]: "--line",
    **{hue.ink: f"--{name}" for name, hue in HUES.items()},
    **{hue.tint: f"--{name}-tint" for name, hue in HUES.items()},
    **{hue.line: f"--{name}-line" for name, hue in HUES.items()},
}
_TAG = re.compile("<[^>]*>")
_COLOUR = re.compile('(fill|stroke)="(#[0-9a-f]{6})"')
#: The largest width of a bold letter in pixels, except for the widest letters.
LETTER = 9.0
#: Characters that XML must not contain (XML 1.0, 2.2), but a client.id may.
_NOT_OF_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: Common fonts, for Latin letters and for texts with Chinese ones. (What draws a mail's pictures takes the first font
#: that there is, and for a letter that this lacks just any.)
FONTS = "DejaVu Sans, Noto Sans, Noto Sans CJK SC, Source Han Sans SC, Microsoft YaHei, sans-serif"
CHINESE_FONTS = "Noto Sans CJK SC, Source Han Sans SC, Microsoft YaHei, DejaVu Sans, sans-serif"


def for_page(svg: str) -> str:
    """Return a drawing with the colours of the page that it stands on, which are others in dark mode.

    A colour that is not among :data:`PAGE_COLOURS` stays: the drawing may be one of a report of an earlier version.
    """

    def of_page(found: re.Match[str]) -> str:
        name = PAGE_COLOURS.get(found[2])
        return f'{found[1]}="var({name})"' if name else found[0]

    def named(tag: re.Match[str]) -> str:
        return _COLOUR.sub(of_page, tag[0])

    # (In tags only: a client.id may read like a colour.)
    return _TAG.sub(named, svg)


def cut(text: str, most: int) -> str:
    """Shorten a long name to its end, which is more specific.

    :param most: Latin letters; a Chinese one takes the room of two.

    >>> cut("orders-writer", 7), cut("购物车", 6), cut("购物车结算", 6)
    ('…writer', '购物车', '…结算')
    """
    if sum(1 + _is_wide(letter) for letter in text) <= most:
        return text
    left, kept = most - 1, ""
    for letter in reversed(text):
        left -= 1 + _is_wide(letter)
        if left < 0:
            break
        kept = letter + kept
    return "…" + kept


def _is_wide(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in "WF"


def rule(x1: float, y1: float, x2: float, y2: float, colour: str, dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{dashed}/>'


def words(
    x: float, y: float, text: str, colour: str, anchor: str = "start", *, bold: bool = False, size: int = 0
) -> str:
    """Return a text. :param size: pixels; 0 for that of the drawing."""
    look = ' font-weight="bold"' if bold else ""
    look += f' font-size="{size}"' if size else ""
    look += f" font-family={quoteattr(CHINESE_FONTS)}" if any(map(_is_wide, text)) else ""
    text = _NOT_OF_XML.sub("\ufffd", text)
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}"{look}>{escape(text)}</text>'


def svg_of(height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family={quoteattr(FONTS)} font-size="12">'
        f'<rect width="{WIDTH}" height="{height}" fill="{SURFACE}"/>{"".join(parts)}</svg>'
    )
