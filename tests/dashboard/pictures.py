"""What every page has to do in a browser: fit on its screen, and be readable for everybody. A picture of each
is kept in ``var/pictures``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from playwright.sync_api import Page


@dataclass(frozen=True, slots=True)
class Screen:
    """In which language, which colours and on how wide a screen. ``turn``: of all pages only every second
    one, from the first or the second on; ``None`` for all of them.
    """

    language: str
    scheme: Literal["light", "dark"]
    width: int
    turn: int | None = None

    def __str__(self) -> str:
        return f"{self.language}-{self.scheme}-{self.width}"

    def pages(self, pages: Mapping[str, str]) -> dict[str, str]:
        """Those that are looked at so."""
        every = list(pages.items())
        return dict(every if self.turn is None else every[self.turn :: 2])


#: In CI every page once: half of them as a desk in the light has them in English, the others as a telephone
#: in the dark has them in Chinese. (A page takes a browser some seconds, on two cores that other tests want,
#: too.) ``make test-long`` looks at every page in every way.
SCREENS = [
    Screen("en", "light", 1440, turn=0),
    Screen("zh-CN", "dark", 390, turn=1),
    *(
        pytest.param(Screen(language, scheme, width), marks=pytest.mark.long)
        for language in ("en", "zh-CN")
        for scheme in ("light", "dark")
        for width in (1440, 390)
    ),
]

#: What makes a page wider than its screen: the innermost elements that reach beyond it, outside of what
#: scrolls by itself.
_WIDER = """() => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  const beyond = (element) => element.getBoundingClientRect().right > root.clientWidth + 0.5;
  return ["page", ...[...document.body.querySelectorAll("*")]
    .filter((element) => beyond(element) && ![...element.children].some(beyond))
    .map((element) => `${element.tagName} ${element.className.baseVal ?? element.className}: `
      + element.textContent.trim().slice(0, 80))];
}"""
#: Cards that offer more files than they have tables.
_CSV_TWICE = """() => [...document.querySelectorAll(".card")]
  .filter((card) => {
    const links = [...card.querySelectorAll("button.csv, a[download]")];
    const files = links.filter((each) => each.textContent.includes("CSV"));
    return files.length > Math.max(1, card.querySelectorAll("table").length);
  })
  .map((card) => card.querySelector("h2, h3")?.textContent.trim() ?? card.className)
"""
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


def look_at(page: Page, name: str, screen: Screen) -> None:
    """:param name: of the page."""
    folder = settings.BASE_DIR / "var" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}-{screen}.png", full_page=True)
    wider = page.evaluate(_WIDER)
    assert not wider, f"{name} is wider than the screen: {wider}"
    twice = page.evaluate(_CSV_TWICE)
    assert not twice, f"{name} offers a table as CSV more than once: {twice}"
    # What is folded is nothing to axe: it is judged unfolded.
    page.evaluate("document.querySelectorAll('main details').forEach((each) => (each.open = true))")
    can_be_read(page, name)


def can_be_read(page: Page, name: str) -> None:
    """By everybody, as axe judges it."""
    found = Axe().run(page, options={"runOnly": _RULES})
    assert not found.response["violations"], f"{name}: {found.generate_report()}"
