"""Reports in a browser: their pages, and their mails as a reader's program shows them, in both languages, in
the light and in the dark.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from dashboard.conftest import browser, collected
from dashboard.parts import PASSWORD
from dashboard.pictures import SCREENS, Screen, look_at
from django.conf import settings
from django.urls import reverse
from django.utils import timezone, translation
from notices.parts import channel
from playwright.sync_api import Browser
from support.browser import Window
from support.smtp import mail_server

from hadash.governance.models.findings import Finding
from hadash.governance.models.posture import Posture
from hadash.governance.models.published import Coverage, LagDay
from hadash.governance.models.runs import Run
from hadash.inventory.models import Pair
from hadash.notices import announcing, gathering, routing
from hadash.notices.kinds import NoticeKind
from hadash.outbox.backoff import RetryPlan
from hadash.outbox.models import Unsubscription
from hadash.outbox.sending import send_due
from hadash.outbox.services import Recipient, keep_content, queue
from hadash.outbox.smtp import Security, Server
from hadash.reports import editions
from hadash.reports.html import html_of
from hadash.reports.models import Kind, MailPreference
from hadash.reports.recipients import View
from hadash.reports.text import text_of
from hadash.sentences import say
from hadash_sandbox.mailbox.reading import Mail

from .parts import sent

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def published(fleet: SimpleNamespace) -> None:
    """What jobs have said within thirty days."""
    now = timezone.now()
    runs = {
        job: Run.objects.create(job=job, state="published", began_at=now, ended_at=now)
        for job in ("topology", "coverage", "risk", "lag", "advice")
    }
    for days in range(30):
        Posture.objects.create(
            pair="main", day=(now - timedelta(days=days)).date(), appids=40, mirrored_appids=31, clients=120,
            registered=97 - days, shared_appids=7, largest_radius=25, high=3 + days // 9, medium=12, low=30 - days // 3,
        )  # fmt: skip
    for appid, clients, registered in (("shop", 40, 31), ("购物车", 12, 2), ("billing", 9, 9)):
        Coverage.objects.create(
            run=runs["coverage"],
            pair="main",
            appid=appid,
            clients=clients,
            registered=registered,
            nameless=1,
            new_clients=0,
            days=7,
            duplicates=0,
            bypassing=0,
        )
    for days in range(7):
        LagDay.objects.create(
            run=runs["lag"],
            pair="main",
            mirror="shop",
            date=(now - timedelta(days=days)).date(),
            samples=43_200,
            unknown=60,
            over_rpo=400 * (days == 2),
            seconds_p50=1.0,
            seconds_p95=4.0 + days,
            seconds_most=75.0 if days == 2 else 12.0,
            records_most=900,
        )
    for number in range(12):
        Finding.objects.create(
            pair="main",
            code="acks-not-all",
            appid="shop",
            name=f"购物车-writer-{number}",
            weight=10 if number < 3 else 4,
            first_at=now - timedelta(days=number),
            opened_at=now - timedelta(days=number),
            last_run=runs["risk"].pk,
        )


@pytest.fixture
def pages(published: None, people: SimpleNamespace, engines: Any, fleet: SimpleNamespace) -> dict[str, str]:
    edition, _delivery = sent(preview(Kind.POSTURE, "en"))
    Unsubscription.objects.create(address="ada@example.org", topic="notices")
    path = "/mirrors/main/shop/"
    announcing.announce(NoticeKind.MIRROR_LATE, "a", say("Mirror shop is late."), path, Pair.objects.get())
    return {
        "reports": reverse("reports"),
        "report": reverse("report", args=[edition.pk]),
        "report-preview": f"{reverse('report-preview')}?kind=lag",
        "schedule-new": reverse("new-report-schedule"),
        "schedule": reverse("report-schedule", args=[edition.issue.schedule_id]),
        "report-issue": reverse("report-issue", args=[edition.issue_id]),
        "report-owners": reverse("report-owners"),
        "deliveries": f"{reverse('deliveries')}?state=all",
        "notices": reverse("notices"),
        "channel-new": reverse("new-channel"),
        "channel": reverse("channel", args=[channel().pk]),
    }


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_every_page_loads_only_what_it_may_and_can_be_read_by_everybody(
    browser: Browser, live_server: Any, pages: dict[str, str], screen: Screen
) -> None:
    window = Window(browser, f"{live_server.url}/", screen.language, width=screen.width, scheme=screen.scheme)
    try:
        window.sign_in("ada", PASSWORD)
        for name, address in screen.pages(pages).items():
            page = window.open(address.lstrip("/"))
            look_at(page, name, screen)
        assert window.errors == [] and window.strangers == []
    finally:
        window.close()


def preview(kind: Kind, language: str, about: str = "") -> Any:
    """A report as it would be now."""
    with translation.override(language):
        made = editions.preview(kind, View(language, "UTC", ("main",)), about)
    assert made is not None
    return made


@pytest.fixture
def mail_window(browser: Browser) -> Iterator[Any]:
    contexts = []

    def opened(scheme: Literal["light", "dark"], width: int) -> Any:
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        contexts.append(context)
        return context.new_page()

    yield opened
    for context in contexts:
        context.close()


#: Gmail cuts off the HTML of a mail after so many bytes, with its link to unsubscribe.
GMAIL_CUTS = 102 * 1024


@pytest.fixture
def taken(
    published: None, people: SimpleNamespace, engines: Any, make_switch: Any
) -> dict[str, list[tuple[str, Mail]]]:
    """By language, mail of every kind of report and of notices, as a real server has taken it."""
    now = timezone.now()
    switch = make_switch("running", started_at=now - timedelta(seconds=30))
    switch.status, switch.ended_at = "succeeded", now
    switch.save(update_fields=["status", "outcome", "ended_at"])
    for hours, language in ((1, "en"), (2, "zh-hans")):
        for kind in Kind:
            about = switch.key if kind is Kind.SWITCH else ""
            made = preview(kind, language, about)
            with translation.override(language):
                html = html_of(made, "Because.", can_unsubscribe=True)
                content = keep_content(
                    made.subject,
                    text_of(made, ["Because."]),
                    html,
                    editions._parts(made),
                    kind.value,
                    language,
                )
            queue(content, [Recipient("arne@example.org", f"{kind} {language}")], kind.value)
        MailPreference.objects.update_or_create(user=people.olga, defaults={"language": language})
        announcing.announce(
            NoticeKind.MIRROR_FAILED,
            language,
            say("Mirror %(mirror)s has failed.", mirror="购物车"),
            "/",
            Pair.objects.get(),
        )

        routing.route_new(now)
        gathering.tell_due(now + timedelta(hours=hours))
    with mail_server() as server:
        send_due(
            Server("127.0.0.1", server.port, Security.NONE, "", "", "", 10.0),
            RetryPlan(()),
            lambda: now + timedelta(hours=3),
        )
        messages = [
            each.message
            for each in server.taken
            if each.recipient in ("arne@example.org", "olga@example.org")
        ]
    found: dict[str, list[tuple[str, Mail]]] = {"en": [], "zh-hans": []}
    for message in messages:
        name = str(message["List-Id"]).strip("<").partition(".")[0]
        found[str(message["Content-Language"])].append((name, Mail("", message)))
    return found


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_mail_can_be_read(
    taken: dict[str, list[tuple[str, Mail]]],
    mail_window: Any,
    language: str,
    scheme: Literal["light", "dark"],
) -> None:
    """At a desk and on a telephone; what arrives is what is looked at, with its pictures, its plain twin and
    its files.
    """
    folder = settings.BASE_DIR / "var" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    mails = dict(taken[language])
    assert {*Kind.values, "hadash-notices"} <= set(mails)
    for width in (640, 390):
        page = mail_window(scheme, width)
        for name, mail in mails.items():
            assert mail.text.strip() and mail.message["List-Unsubscribe-Post"]
            html = mail.message.get_body(("html",))
            assert html is not None and len(html.get_payload(decode=True)) < GMAIL_CUTS, name
            page.set_content(mail.html)
            page.screenshot(path=folder / f"mail-{name}-{language}-{scheme}-{width}.png", full_page=True)
            wider = page.evaluate(
                "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            )
            assert not wider, f"{name} is wider than {width}"
            broken = page.evaluate(
                "[...document.images].filter((i) => !i.complete || !i.naturalWidth).length"
            )
            assert broken == 0, name
