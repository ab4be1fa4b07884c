"""The pages with charts, by the name of their picture, and when they are drawn."""

from __future__ import annotations

from playwright.sync_api import Page, expect

PAGES = {
    "overview": "",
    "coverage": "governance/tables/coverage/",
    "sharing": "governance/tables/sharing/",
    "advice": "governance/tables/advice/",
    "lag": "governance/tables/lag/",
    "uncovered": "governance/uncovered/",
    "search": "search/?q=sho",
    "appid": "appids/{shop}/",
    "clusters": "clusters/",
    "cluster": "clusters/east/",
    "clients": "clients/",
    "gateways": "gateways/",
    "gateway": "gateways/gateway-1/",
    "mirrors": "mirrors/?window=hour",
    "mirror": "mirrors/main/shop/?window=hour",
    "graph": "graph/",
    "island": "graph/?island=0",
    "focus": "graph/focus/?appid=shop",
    "differences": "graph/?since={before}",
    "groups": "groups/",
    "group": "groups/east/readers/?change=more",
    "pool": "pools/readers/",
}


#: How many charts each of them has.
CHARTS = {
    "overview": 0,
    "coverage": 2,
    "sharing": 4,
    "advice": 1,
    "lag": 1,
    "uncovered": 0,
    "search": 0,
    "appid": 2,
    "clusters": 0,
    "cluster": 4,
    "clients": 0,
    "gateways": 0,
    "gateway": 9,
    "mirrors": 1,
    "mirror": 5,
    "graph": 1,
    "island": 1,
    "focus": 1,
    "differences": 1,
    "groups": 0,
    "group": 1,
    "pool": 1,
}


def drawn(page: Page, charts: int) -> None:
    """Wait until all charts are drawn: they are when they come into sight, and some are on parts that come
    after the page.
    """
    expect(page.locator("[data-failed]")).to_have_count(0)
    for number in range(charts):
        chart = page.locator("[data-chart]").nth(number)
        # (By the page itself: a part that renews itself may take the chart away between two steps of Playwright's.)
        chart.evaluate("element => element.scrollIntoView({ block: 'center' })")
        expect(chart.locator(".main-svg").first).to_be_visible()
    page.evaluate("scrollTo(0, 0)")
