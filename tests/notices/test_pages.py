"""The page of notices and those of channels."""

from __future__ import annotations

import ipaddress
import json
import threading
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from dashboard.parts import PASSWORD, signed_in
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from standardwebhooks import Webhook
from support.waiting import SLOWER
from support.web import Posted, fine, web_server

from hadash.accounts.roles import ensure_user
from hadash.dashboard.views.notices import DELIVERIES_SHOWN
from hadash.inventory.models import Pair
from hadash.notices import carrying, channels, routing
from hadash.notices.models import Channel, Notice, PersonalWish
from hadash.outbox.backoff import RetryPlan
from hadash.outbox.models import Delivery, Endpoint, Transport, Unsubscription
from hadash.outbox.states import State
from hadash.sentences import say

from .parts import channel

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

PLAN = RetryPlan((5, 300))


@pytest.fixture
def as_ada(people: SimpleNamespace, fleet: Any, engines: Any) -> Client:
    return signed_in(people.ada)


@pytest.fixture
def as_vera(people: SimpleNamespace, fleet: Any, engines: Any) -> Client:
    return signed_in(people.vera)


@pytest.fixture
def reachable(settings: Any) -> None:
    """This machine may be posted to."""
    settings.WEBHOOK_NETWORKS = (ipaddress.ip_network("127.0.0.0/8"),)
    settings.WEBHOOK_PLAIN = True


def typed(**more: str) -> dict[str, str]:
    return {
        "name": "值班",
        "transport": "webhook",
        "url": "https://hooks.example.org/a",
        "usual": "on",
        "enabled": "on",
        **more,
    }


def test_how_somebody_is_told(as_vera: Client, people: SimpleNamespace) -> None:
    as_vera.post(
        reverse("notices"),
        {
            "by_mail": "on",
            "kinds": ["switch-ended"],
            "digest_minutes": "30",
            "quiet_from": "22:00",
            "quiet_until": "07:00",
        },
    )
    wish = PersonalWish.objects.get(user=people.vera)
    assert (wish.kinds, wish.digest_minutes, f"{wish.quiet_from:%H:%M}") == (["switch-ended"], 30, "22:00")
    page = as_vera.get(reverse("notices")).content.decode()
    assert 'value="22:00"' in page


def test_all_notices_are_in_the_csv(fleet: Any, engines: Any) -> None:
    """Those of the pairs that one may see, and of the whole installation."""
    hidden = Pair.objects.create(name="hidden", first=fleet.east, second=fleet.west, default=fleet.east)
    for number, pair in enumerate((fleet.pair, None, hidden)):
        Notice.objects.create(
            kind="mirror-failed", key=f"k{number}", pair=pair, at=timezone.now(), path="/mirrors/main/shop/",
            sentence=say("Mirror %(mirror)s has failed.", mirror=f"m{number}").to_json(),
        )  # fmt: skip
    as_pia = signed_in(ensure_user("pia", PASSWORD, "viewer", pair=fleet.pair))
    page = as_pia.get(reverse("notices")).content.decode()
    assert 'href="?format=csv"' in page
    answer: Any = as_pia.get(reverse("notices"), {"format": "csv"})
    lines = b"".join(answer.streaming_content).decode("utf-8-sig").splitlines()
    assert lines[0] == "at,kind,pair,notice,path"
    assert [line.split(",")[2] for line in lines[1:]] == ["", "main"], "the newest first"
    assert "Mirror m0 has failed." in lines[-1] and "m2" not in "".join(lines)


def test_of_whose_doings_and_of_which_pairs(as_vera: Client, people: SimpleNamespace, fleet: Any) -> None:
    chosen = {"by_mail": "on", "kinds": ["switch-ended"], "everybodys": ["switch-ended"], "pairs": ["main"]}
    as_vera.post(reverse("notices"), chosen)
    wish = PersonalWish.objects.get(user=people.vera)
    assert (wish.everybodys, wish.pairs) == (["switch-ended"], ["main"])
    answer = as_vera.post(reverse("notices"), {**chosen, "pairs": ["secret"]})
    assert answer.status_code == 409, "a pair that one may not see is none"


class TestUnsubscribed:
    """By the link in a mail: the page says so, and takes it back."""

    @pytest.fixture
    def without(self, people: SimpleNamespace) -> None:
        people.vera.email = "vera@example.org"
        people.vera.save()
        Unsubscription.objects.create(address="vera@example.org", topic="notices")

    def test_it_is_said_where_one_chooses(self, as_vera: Client, without: None) -> None:
        for page in ("notices", "reports"):
            assert "You have unsubscribed" in as_vera.get(reverse(page)).content.decode()

    def test_it_is_taken_back(self, as_vera: Client, without: None) -> None:
        sent = {"topic": "notices", "next": reverse("notices")}
        answer = as_vera.post(reverse("subscribe-again"), sent, follow=True)
        assert answer.redirect_chain == [(reverse("notices"), 302)]
        assert not Unsubscription.objects.exists()

    def test_nobody_takes_back_what_another_does_not_want(self, as_ada: Client, without: None) -> None:
        as_ada.post(
            reverse("subscribe-again"), {"topic": "notices", "next": "https://elsewhere.example.org/"}
        )
        assert Unsubscription.objects.exists()


def test_half_of_quiet_hours_is_none(as_vera: Client) -> None:
    answer = as_vera.post(reverse("notices"), {"quiet_from": "22:00"})
    assert answer.status_code == 409 and "Quiet hours need" in answer.content.decode()


def test_what_has_happened_leads_to_the_very_thing(as_vera: Client, make_switch: Any) -> None:
    switch = make_switch()
    page = as_vera.get(reverse("notices")).content.decode()
    assert reverse("switch", args=[switch.key]) in page and "Upgrade of the brokers" in page


def test_a_secret_is_shown_once(as_ada: Client) -> None:
    answer = as_ada.post(reverse("new-channel"), typed(), follow=True)
    page = answer.content.decode()
    assert "whsec_" in page
    (made,) = Channel.objects.all()
    again = as_ada.get(reverse("channel", args=[made.pk])).content.decode()
    assert "whsec_" not in again.replace("(whsec_…", "") and "hooks.example.org" not in again


def test_what_is_wrong_is_said_and_what_was_typed_stays(as_ada: Client) -> None:
    answer = as_ada.post(reverse("new-channel"), typed(url="http://10.0.0.1/"))
    assert answer.status_code == 409 and 'value="值班"' in answer.content.decode()
    assert not Endpoint.objects.exists()


class TestPosting:
    def test_a_webhook_is_signed_and_a_lost_answer_is_sent_again_under_the_same_id(
        self, as_ada: Client, reachable: None
    ) -> None:
        now = timezone.now()
        answers: list[Any] = [None, (200, {}, b"ok")]
        with web_server(lambda _: answers.pop(0)) as there:
            as_ada.post(reverse("new-channel"), typed(url=f"http://127.0.0.1:{there.port}/"))
            made = Channel.objects.get()
            as_ada.post(reverse("try-channel", args=[made.pk]))
            assert carrying.post_due(PLAN, lambda: now + timezone.timedelta(seconds=1)) == {State.DEFERRED: 1}
            assert carrying.post_due(PLAN, lambda: now + timezone.timedelta(seconds=60)) == {
                State.ACCEPTED: 1
            }
        first, second = there.got
        assert first.headers["webhook-id"] == second.headers["webhook-id"]
        body = Webhook(made.endpoint.secret).verify(first.body, dict(first.headers.items()))
        assert body["type"] == "hadash.notices" and "test by ada" in body["data"]["title"]
        assert "200 ok" in as_ada.get(reverse("channel", args=[made.pk])).content.decode()

    def test_what_was_sent_has_pages_and_a_csv(self, as_ada: Client, reachable: None) -> None:
        as_ada.post(reverse("new-channel"), typed(url="http://127.0.0.1:9/"))
        address = reverse("channel", args=[Channel.objects.get().pk])
        for _try in range(DELIVERIES_SHOWN + 1):
            as_ada.post(reverse("try-channel", args=[Channel.objects.get().pk]))
        page = as_ada.get(address).content.decode()
        assert f"{DELIVERIES_SHOWN + 1} rows" in page and "?deliveries=2" in page
        lines = b"".join(as_ada.get(address, {"format": "csv"}).streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert len(lines) == DELIVERIES_SHOWN + 2

    def test_it_is_tried_at_the_times_of_the_plan_and_not_before(
        self, people: SimpleNamespace, reachable: None, settings: Any
    ) -> None:
        """Those of production, on a clock of the test's own, until none is left."""
        plan = RetryPlan(settings.WEBHOOK_RETRY_SECONDS)
        assert tuple(plan.delays[:3]) == (5, 300, 1800), "as Standard Webhooks has them"
        with web_server(lambda _: (500, {}, b"not now")) as there:
            delivery = channels.try_out(people.ada, channel(url=f"http://127.0.0.1:{there.port}/"))
            now = timezone.now() + timedelta(seconds=1)
            carrying.post_due(plan, lambda: now)
            for tried, seconds in enumerate(plan.delays, start=1):
                carrying.post_due(plan, lambda: now + timedelta(seconds=seconds - 0.5))  # noqa: B023 (used at once)
                assert len(there.got) == tried
                now += timedelta(seconds=seconds)
                carrying.post_due(plan, lambda: now)  # noqa: B023
                assert len(there.got) == tried + 1
        delivery.refresh_from_db()
        assert len({each.headers["webhook-id"] for each in there.got}) == 1
        assert (delivery.tries, delivery.state) == (plan.tries, State.FAILED)

    def test_a_receiver_that_is_slow_keeps_no_other_waiting(
        self, people: SimpleNamespace, reachable: None, settings: Any
    ) -> None:
        """Three messages for it cost one time-out, and not three."""
        settings.WEBHOOK_TIMEOUT_SECONDS = 2 * SLOWER
        given_up = threading.Event()

        def late(posted: Posted) -> tuple[int, dict[str, str], bytes]:
            given_up.wait()
            return fine(posted)

        with web_server(late) as slow, web_server() as there:
            slow_one = channel("slow", f"http://127.0.0.1:{slow.port}/")
            for _turn in range(3):
                channels.try_out(people.ada, slow_one)
            channels.try_out(people.ada, channel("here", f"http://127.0.0.1:{there.port}/"))
            now = timezone.now()
            assert carrying.post_due(PLAN, lambda: now) == {State.DEFERRED: 3, State.ACCEPTED: 1}
            given_up.set()
        assert len(slow.got) == 1

    def test_one_that_says_that_it_is_gone_is_switched_off(self, as_ada: Client, reachable: None) -> None:
        with web_server(lambda _: (410, {}, b"gone")) as there:
            made = channel(url=f"http://127.0.0.1:{there.port}/")
            as_ada.post(reverse("try-channel", args=[made.pk]))
            carrying.post_due(PLAN)
        endpoint = Endpoint.objects.get()
        assert (endpoint.enabled, endpoint.fault) == (False, "410 gone")
        assert (
            routing.channels_for(
                SimpleNamespace(pair_id=None, kind="x"), Channel.objects.filter(endpoint__enabled=True)
            )
            == []
        )  # type: ignore[arg-type]

    def test_a_chat_that_says_no_in_its_answer_has_not_taken_it(
        self, as_ada: Client, reachable: None
    ) -> None:
        no = json.dumps({"errcode": 310000, "errmsg": "sign not match"}).encode()
        with web_server(lambda _: (200, {"content-type": "application/json"}, no)) as there:
            made = channel(
                url=f"http://127.0.0.1:{there.port}/robot?access_token=x", transport=Transport.DINGTALK
            )
            as_ada.post(reverse("try-channel", args=[made.pk]))
            assert carrying.post_due(PLAN) == {State.FAILED: 1}
        assert Delivery.objects.get().said == "310000 sign not match"

    def test_a_lost_answer_of_a_chat_is_not_known(self, as_ada: Client, reachable: None) -> None:
        with web_server(lambda _: None) as there:
            made = channel(url=f"http://127.0.0.1:{there.port}/", transport=Transport.SLACK)
            as_ada.post(reverse("try-channel", args=[made.pk]))
            assert carrying.post_due(PLAN) == {State.UNCERTAIN: 1}

    def test_one_that_is_away_keeps_no_other_waiting(self, people: SimpleNamespace, reachable: None) -> None:
        with web_server() as there:
            away = channel("away", "http://127.0.0.1:9/")
            here = channel("here", f"http://127.0.0.1:{there.port}/")
            for made in (away, here):
                channels.try_out(people.ada, made)
            assert carrying.post_due(PLAN) == {State.DEFERRED: 1, State.ACCEPTED: 1}

    def test_inside_nothing_is_posted(self, people: SimpleNamespace, settings: Any) -> None:
        settings.WEBHOOK_PLAIN = True
        with web_server() as there:
            channels.try_out(people.ada, channel(url=f"http://127.0.0.1:{there.port}/"))
            assert carrying.post_due(PLAN) == {State.FAILED: 1}
        assert there.got == []
        assert "HADASH_WEBHOOK_NETWORKS" in Delivery.objects.get().said
