"""Requests that are written and not asked yet."""

from __future__ import annotations

from html import unescape
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from hadash.accounts.roles import ensure_user
from hadash.audit.models import Entry
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching import checking
from hadash.switching.models.drafts import RequestDraft
from hadash.switching.models.switches import Switch

from .parts import signed_in

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

FORM = "/switches/request/"
MINE = "/switches/?inbox=mine"


@pytest.fixture
def keep(as_olga: Client, fleet: SimpleNamespace, engines: SimpleNamespace, planned: None) -> Any:
    """Keep what is typed about ``shop``; the answer."""

    def action(client: Client = as_olga, **typed: Any) -> Any:
        return client.post(FORM, {"appid": fleet.shop.pk, "keep": "1", **typed})

    return action


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def test_however_incomplete_it_is_kept_as_it_was_typed(as_olga: Client, keep: Any) -> None:
    answer = keep(
        scope="instance", instance="", reason="换机房，先写着", start="window", start_at="not a time"
    )
    draft = RequestDraft.objects.get()
    assert answer["Location"] == draft.get_absolute_url()
    form = page(as_olga, answer["Location"])
    assert "Kept as a draft. Nobody is asked yet" in form
    assert "换机房，先写着</textarea>" in form
    assert 'value="not a time"' in form
    assert f'name="draft" value="{draft.pk}"' in form
    assert not Switch.objects.exists()
    assert not Entry.objects.filter(verb__startswith="switch").exists()


def test_it_stands_among_ones_own_requests_and_nobody_elses(
    as_olga: Client, as_arne: Client, keep: Any, people: SimpleNamespace
) -> None:
    keep(reason="Leaving the old cluster")
    draft = RequestDraft.objects.get()
    assert "Leaving the old cluster" in page(as_olga, MINE)
    assert "Leaving the old cluster" not in page(as_olga, "/switches/")
    other = signed_in(ensure_user("oscar", "secret-123", "operator"))
    for client in (as_arne, other):
        assert "Leaving the old cluster" not in page(client, MINE)
    assert other.get(draft.get_absolute_url()).status_code == 404
    other.post(reverse("discard-draft", args=[draft.pk]))
    assert RequestDraft.objects.filter(pk=draft.pk).exists()


def test_kept_again_it_is_the_same_one(keep: Any) -> None:
    keep(reason="First")
    draft = RequestDraft.objects.get()
    keep(reason="Second", draft=draft.pk)
    draft.refresh_from_db()
    assert draft.fields == {"reason": "Second"}
    assert RequestDraft.objects.count() == 1


def test_what_was_asked_for_is_no_draft_any_more(as_olga: Client, keep: Any, fleet: SimpleNamespace) -> None:
    keep(reason="Leaving the old cluster")
    draft = RequestDraft.objects.get()
    asked = {
        "appid": fleet.shop.pk,
        "draft": draft.pk,
        "scope": "appid",
        "target": "west",
        "reason": "Leaving the old cluster",
    }
    assert as_olga.post(FORM, asked).status_code == 302
    assert Switch.objects.get().reason == "Leaving the old cluster"
    assert not RequestDraft.objects.exists()
    assert as_olga.get(draft.get_absolute_url()).status_code == 404


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ({"scope": "appid", "target": "west", "reason": "mine"}, "&scope=appid&target=west"),
        ({"scope": "topics", "topics": "shop.orders," * 300}, ""),
        ({"scope": "appid", "draft": "1"}, None),
    ],
    ids=["what is chosen, without the reason", "too much for an address", "a draft is nobody else's"],
)
def test_the_address_has_the_choice(
    as_olga: Client,
    fleet: SimpleNamespace,
    engines: SimpleNamespace,
    planned: None,
    typed: dict[str, str],
    kept: str | None,
) -> None:
    asked = {"appid": fleet.shop.pk, **typed}
    answer = as_olga.get(reverse("request-preview"), asked, headers={"HX-Request": "true"})
    address = None if kept is None else f"{FORM}?appid={fleet.shop.pk}{kept}"
    assert answer.headers.get("HX-Replace-Url") == address


def test_a_rehearsal_is_tried_before_it_is_asked_for(
    as_olga: Client, keep: Any, fleet: SimpleNamespace, started: list[str]
) -> None:
    keep(reason="Leaving")
    draft = RequestDraft.objects.get()
    tried = {
        "appid": fleet.shop.pk,
        "draft": draft.pk,
        "scope": "appid",
        "target": "west",
        "reason": "Trying",
        "kind_of_switch": "rehearsal",
    }
    assert as_olga.post(FORM, tried).status_code == 302
    assert RequestDraft.objects.filter(pk=draft.pk).exists()


def test_the_way_is_proposed_anew_unless_it_was_chosen(keep: Any, fleet: SimpleNamespace) -> None:
    """The AppID may have been switched by somebody else meanwhile."""
    keep(scope="appid", target="west")
    keep(scope="pair", target="west", appid="", pair=fleet.pair.pk)
    assert [draft.fields.get("target") for draft in RequestDraft.objects.order_by("pk")] == [None, "west"]


def test_one_that_goes_back_from_what_is_not_there_opens_all_the_same(
    as_olga: Client, keep: Any, fleet: SimpleNamespace
) -> None:
    keep(restores="s-gone", kind_of_switch="restore", reason="Home again")
    assert "Home again</textarea>" in page(as_olga, RequestDraft.objects.get().get_absolute_url())


def test_what_is_refused_stays_one(
    as_olga: Client, keep: Any, fleet: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise Refused(say("%(cluster)s does not answer.", cluster="west"))

    keep(reason="Leaving")
    draft = RequestDraft.objects.get()
    monkeypatch.setattr(checking, "check_now", refuse)
    asked = {"appid": fleet.shop.pk, "draft": draft.pk, "scope": "appid", "target": "west", "reason": "Now"}
    answer = as_olga.post(FORM, asked)
    assert answer.status_code == 409
    assert f'name="draft" value="{draft.pk}"' in answer.content.decode()
    assert RequestDraft.objects.filter(pk=draft.pk).exists()


def test_there_are_so_many_and_no_more(as_olga: Client, keep: Any, settings: Any) -> None:
    settings.DRAFTS_PER_USER = 1
    keep(reason="First")
    answer = keep(reason="A second one that is long in the writing")
    text = unescape(answer.content.decode())
    assert answer.status_code == 409
    assert "You have as many drafts as one person keeps: 1. Discard one of them first." in text
    assert "A second one that is long in the writing" in text
    assert keep(reason="First, changed", draft=RequestDraft.objects.get().pk).status_code == 302


def test_one_that_is_too_long_is_said(keep: Any, settings: Any) -> None:
    settings.DRAFT_MAX_CHARACTERS = 10
    answer = keep(reason="x" * 11)
    assert answer.status_code == 409
    assert "A draft has 10 characters at most" in unescape(answer.content.decode())
    assert not RequestDraft.objects.exists()


def test_a_second_click_on_discard_is_no_fault(as_olga: Client, keep: Any) -> None:
    keep(reason="Never mind")
    address = reverse("discard-draft", args=[RequestDraft.objects.get().pk])
    for _ in range(2):
        answer = as_olga.post(address, follow=True)
        assert "The draft is discarded." in answer.content.decode()
    assert not RequestDraft.objects.exists()


def test_nobody_keeps_what_he_may_not_request(keep: Any, as_vera: Client) -> None:
    assert keep(as_vera, reason="x").status_code == 403
    assert not RequestDraft.objects.exists()


def test_what_confirms_and_what_was_shown_is_not_kept(keep: Any) -> None:
    keep(reason="x\0y", confirmed="west", digest="abc", shown="def", nothing="that is known")
    assert RequestDraft.objects.get().fields == {"reason": "xy"}
