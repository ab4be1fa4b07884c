"""Signing in at a real provider, all the way through its pages and back."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from pytest_django.live_server_helper import LiveServer
from support.provider import Browser, Provider

from accounts.conftest import PASSWORD
from hadash.accounts import discovery
from hadash.accounts.models import ExternalIdentity
from hadash.audit.models import Entry

pytestmark = [pytest.mark.stack, pytest.mark.django_db(transaction=True), pytest.mark.in_turn]

ANNA = ("anna", "anna-s password")


def roles(user: User) -> set[str]:
    return set(user.groups.values_list("name", flat=True))


def journal() -> list[tuple[str, str, str]]:
    """Who did what to whom, oldest first."""
    return [(e.actor_name, e.verb, e.subject) for e in Entry.objects.order_by("number")]


def test_the_first_sign_in_makes_the_user(browser: Browser, provider: Provider) -> None:
    page = browser.sign_in(*ANNA)
    assert page.status_code == 200
    assert str(page.url) == f"{browser.hadash}/"
    anna = User.objects.get()
    assert (anna.username, anna.get_full_name(), anna.email) == ("anna", "Anna Example", "anna@example.org")
    assert roles(anna) == {"operator"}
    assert not anna.has_usable_password()
    assert ExternalIdentity.objects.get().issuer == provider.issuer
    assert journal() == [("", "roles", "account anna"), ("anna", "sign in", "account anna")]
    made, entered = Entry.objects.order_by("number")
    assert made.details == {"before": [], "after": ["operator"], "how": "OIDC"}
    assert (entered.details, entered.address) == ({"how": "OIDC"}, "127.0.0.1")


def test_it_leads_to_the_page_that_was_asked_for(browser: Browser, provider: Provider) -> None:
    page = browser.fill(browser.press_button("/audit/?actor=anna"), username=ANNA[0], password=ANNA[1])
    assert str(page.url) == f"{browser.hadash}/audit/?actor=anna"


def test_it_leads_nowhere_else(browser: Browser, provider: Provider) -> None:
    page = browser.open("/sign-in/oidc/?next=https://example.org/")
    assert str(browser.fill(page, username=ANNA[0], password=ANNA[1]).url) == f"{browser.hadash}/"


def test_roles_follow_the_groups_at_each_sign_in(browser: Browser, provider: Provider) -> None:
    browser.sign_in(*ANNA)
    browser.post("/sign-out/")
    provider.say("anna", groups=["kafka-leads"], name="Anna Beispiel")
    browser.sign_in(*ANNA)
    anna = User.objects.get()
    assert roles(anna) == {"approver"}
    assert anna.get_full_name() == "Anna Beispiel"
    change = Entry.objects.filter(verb="roles").latest("number")
    assert change.details == {"before": ["operator"], "after": ["approver"], "how": "OIDC"}


def test_without_a_mapped_group_nobody_gets_in(browser: Browser, provider: Provider) -> None:
    provider.say("anna", groups=["staff"])
    page = browser.sign_in(*ANNA)
    assert page.status_code == 403
    assert "anna has no role in hadash" in page.text
    assert not User.objects.exists()
    assert journal() == [("", "sign in failed", "account anna")]
    assert browser.open("/").url.path == "/sign-in/"


def test_who_loses_the_last_group_loses_the_role_in_open_sessions_too(
    browser: Browser, provider: Provider, live_server: LiveServer
) -> None:
    browser.sign_in(*ANNA)
    provider.say("anna", groups=[])
    with Browser(live_server.url) as elsewhere:
        assert elsewhere.sign_in(*ANNA).status_code == 403
    assert roles(User.objects.get()) == set()
    assert browser.open("/switches/request/").status_code == 403


def test_a_default_role_lets_everybody_view(browser: Browser, provider: Provider, settings: Any) -> None:
    settings.OIDC_DEFAULT_ROLE = "viewer"
    provider.say("anna", groups=["staff"])
    assert browser.sign_in(*ANNA).status_code == 200
    assert roles(User.objects.get()) == {"viewer"}


@pytest.mark.parametrize("local", ["olga", "Olga"])
def test_a_local_account_is_not_taken_over(
    browser: Browser, provider: Provider, olga: User, local: str
) -> None:
    User.objects.filter(pk=olga.pk).update(username=local)
    provider.say("olga", groups=["kafka-leads"])
    page = browser.sign_in("olga", "another olga")
    assert page.status_code == 403
    assert "There is an account olga already" in page.text
    assert roles(olga) == {"operator"}
    assert not ExternalIdentity.objects.exists()
    assert journal() == [("", "sign in failed", "account olga")]


def test_who_is_somebody_is_decided_by_the_subject_alone(browser: Browser, provider: Provider) -> None:
    """A name that the provider gives to somebody else does not open the account of the one who had it."""
    browser.sign_in(*ANNA)
    browser.post("/sign-out/")
    provider.say("olga", groups=["kafka-leads"], preferred_username="anna", email="anna@example.org")
    assert browser.sign_in("olga", "another olga").status_code == 403
    assert roles(User.objects.get()) == {"operator"}
    browser.http.cookies.clear()
    provider.say("anna", groups=["kafka-ops"], preferred_username="anna.renamed")
    assert browser.sign_in(*ANNA).status_code == 200
    assert User.objects.get().username == "anna"


def test_a_closed_account_stays_closed(browser: Browser, provider: Provider) -> None:
    browser.sign_in(*ANNA)
    User.objects.update(is_active=False)
    assert browser.open("/").url.path == "/sign-in/"  # also in the session that is open
    page = browser.press_button()  # the provider still knows her
    assert page.status_code == 403
    assert "The account anna is closed." in page.text


def test_a_provider_that_is_no_longer_configured_ends_its_sessions(
    browser: Browser, provider: Provider, settings: Any
) -> None:
    browser.sign_in(*ANNA)
    settings.OIDC_ISSUER = ""
    assert browser.open("/").url.path == "/sign-in/"
    assert browser.open("/sign-in/oidc/").status_code == 404
    assert browser.open("/sign-in/oidc/return/").status_code == 404


def test_a_code_is_good_once(browser: Browser, provider: Provider) -> None:
    page = browser.sign_in(*ANNA)
    (back,) = [str(r.url) for r in page.history if "/oidc/return/" in str(r.url)]
    browser.post("/sign-out/")
    again = browser.http.get(back)
    assert again.status_code == 400
    assert "was used already" in again.text


def test_a_code_is_of_no_use_to_another_browser(
    browser: Browser, provider: Provider, live_server: LiveServer
) -> None:
    """A person who follows the link of an attacker's sign-in would work under the attacker's name."""
    page = browser.press_button()
    browser.http.follow_redirects = False
    answer = browser.fill(page, username=ANNA[0], password=ANNA[1])
    while "/oidc/return/" not in answer.headers["location"]:
        answer = browser.http.send(answer.next_request)
    with Browser(live_server.url) as victim:
        assert victim.http.get(answer.headers["location"]).status_code == 400
        victim.press_button()  # has a sign-in under way, but not this one
        assert victim.http.get(answer.headers["location"]).status_code == 400
    assert not User.objects.exists()


def test_it_asks_with_pkce_state_and_nonce(browser: Browser, provider: Provider) -> None:
    browser.http.follow_redirects = False
    asked = browser.open("/sign-in/oidc/").next_request.url.params
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert all(len(asked[name]) >= 32 for name in ("state", "nonce", "code_challenge"))


def test_sign_out_ends_both_sessions(browser: Browser, provider: Provider) -> None:
    browser.sign_in(*ANNA)
    page = browser.post("/sign-out/")
    assert str(page.url).startswith(f"{browser.hadash}/sign-in/")
    assert any(str(r.url).startswith(provider.issuer) for r in page.history)
    assert not Session.objects.exists()
    assert journal()[-1] == ("anna", "sign out", "account anna")
    assert "/login/" in str(browser.press_button().url)  # the provider asks for the password again


def test_without_the_provider_local_accounts_work(browser: Browser, provider: Provider, olga: User) -> None:
    provider.stop()
    discovery.forget()
    try:
        page = browser.open("/sign-in/")
        assert page.status_code == 200
        assert "<p>Company SSO does not answer.</p><p>Local accounts work.</p>" in page.text
        assert 'href="/sign-in/oidc/' not in page.text
        assert browser.open("/sign-in/oidc/").status_code == 503
        assert browser.post("/sign-in/", username="olga", password=PASSWORD).url.path == "/"
    finally:
        provider.start()
    assert journal() == [("olga", "sign in", "account olga")]


def test_a_provider_that_went_away_under_way_is_said(browser: Browser, provider: Provider) -> None:
    page = browser.press_button()
    browser.http.follow_redirects = False
    answer = browser.fill(page, username=ANNA[0], password=ANNA[1])
    while "/oidc/return/" not in answer.headers["location"]:
        answer = browser.http.send(answer.next_request)
    provider.stop()
    try:
        page = browser.http.get(answer.headers["location"])
    finally:
        provider.start()
    assert page.status_code == 403
    assert "could not be verified" in page.text
