"""What every page has to do in a browser: fit on its screen, and be readable for everybody. A picture of each is kept in ``var/pictures``."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from playwright.sync_api import Page

#: In which language, which colours and on how wide a screen.
Look = tuple[str, str, int]

#: In CI each language, scheme and width once; ``make test-long`` looks at the others.
LOOKS = [
    ("en", "light", 1440),
    ("zh-CN", "dark", 390),
    pytest.param("zh-CN", "dark", 1440, marks=pytest.mark.long),
    pytest.param("en", "light", 390, marks=pytest.mark.long),
]

_WIDER = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


def look_at(page: Page, name: str, look: Look) -> None:
    """:param name: of the page."""
    assert not page.evaluate(_WIDER), f"{name} is wider than the screen"
    folder = settings.BASE_DIR / "var" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}-{'-'.join(map(str, look))}.png", full_page=True)
    found = Axe().run(page, options={"runOnly": _RULES})
    assert not found.response["violations"], f"{name}: {found.generate_report()}"
