"""Pages with charts in both languages, light and dark, on a desk and on a telephone.

Pictures are kept in ``var/pictures``: look at them after each change of a page.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Browser
from support.browser import STREAM, Window

from dashboard.in_browser.parts import CHARTS, PAGES, drawn
from dashboard.parts import PASSWORD
from dashboard.pictures import SCREENS, Screen, look_at

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_every_page_loads_only_what_it_may_and_can_be_read_by_everybody(
    browser: Browser,
    live_server: Any,
    people: SimpleNamespace,
    published: Any,
    screen: Screen,
) -> None:
    window = Window(browser, f"{live_server.url}/", screen.language, width=screen.width, scheme=screen.scheme)
    try:
        window.page.add_init_script(STREAM)
        window.sign_in("olga", PASSWORD)
        for name, address in screen.pages(PAGES).items():
            page = window.open(address.format(**published.pages))
            drawn(page, CHARTS[name])
            look_at(page, name, screen)
        assert window.errors == [] and window.strangers == []
    finally:
        window.close()
