"""Debian's Chromium, one window for each person."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from .waiting import SLOWER

#: Without these Chromium asks for servers of its maker at every start; --no-sandbox because tests may run as root.
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


#: Milliseconds for a page to be there, and for what it is expected to show.
PAGE_MS = 30_000 * SLOWER
SHOWN_MS = 10_000 * SLOWER
expect.set_options(timeout=SHOWN_MS)


@contextmanager
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.fail("Chromium is not installed: make browser installs it.", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        yield browser
        browser.close()


#: What htmx says of a request that it gave up for a newer one.
_ABORTED = ("htmx:sendAbort", "htmx:afterRequest")

#: Stands for the browser's EventSource: the test says when the server sends what. (Django's server for tests
#: answers streams to their end, which they do not have.)
STREAM = """
window.EventSource = class {
  static OPEN = 1;
  constructor() { this.readyState = 1; this.heard = {}; window.theStream = this; }
  addEventListener(name, action) { this.heard[name] = action; }
  close() {}
};
"""


class Window:
    """One person's browser. ``errors`` are what its console complained of: also what a page may not load
    (Content-Security-Policy).
    """

    def __init__(
        self,
        browser: Browser,
        url: str,
        language: str = "en",
        *,
        width: int = 1440,
        scheme: Literal["light", "dark"] = "light",
        zone: str | None = None,
    ) -> None:
        """:param zone: the time zone of the browser; ``None``: that of this machine."""
        self.url = url
        self.errors: list[str] = []
        self._context = browser.new_context(
            viewport={"width": width, "height": 900}, locale=language, color_scheme=scheme, timezone_id=zone
        )
        self._context.set_default_timeout(PAGE_MS)
        self.page: Page = self._context.new_page()
        self.page.on(
            "console",
            lambda message: (
                self.errors.append(message.text)
                if message.type in ("error", "warning") and not message.text.startswith(_ABORTED)
                else None
            ),
        )
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("requestfailed", lambda request: self._note(request.url, request.failure))
        #: Addresses that were asked for and are not ours.
        self.strangers: list[str] = []
        self.page.on("request", lambda request: self._note_stranger(request.url))

    def _note(self, address: str, failure: str | None) -> None:
        # What is under way ends when its page is left.
        if "stream" not in address and failure != "net::ERR_ABORTED":
            self.errors.append(f"{address} failed ({failure})")

    def _note_stranger(self, address: str) -> None:
        if not address.startswith((self.url, "data:", "blob:")):
            self.strangers.append(address)

    def open(self, path: str = "") -> Page:
        self.page.goto(self.url + path)
        return self.page

    def sign_in(self, name: str, password: str) -> Page:
        page = self.open()
        page.fill("input[name=username]", name)
        page.fill("input[name=password]", password)
        page.click("form button.primary")
        page.wait_for_url(self.url)
        return page

    def close(self) -> None:
        self._context.close()
