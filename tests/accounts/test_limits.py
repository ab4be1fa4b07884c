"""Failed sign-ins: how many, by whom, from where, for how long, and what is written down."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from axes.models import AccessAttempt
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.db import connection, connections
from django.db.models import F
from django.http import HttpResponse
from django.test import AsyncClient, Client
from django.urls import reverse

from accounts.conftest import PASSWORD
from hadash.audit.models import Entry

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

HERE, ELSEWHERE = "192.0.2.1", "198.51.100.7"


def attempt(
    username: str = "olga", password: str = "wrong", address: str = HERE, language: str = "en"
) -> HttpResponse:
    client = Client()
    client.cookies["django_language"] = language
    return client.post(reverse("sign-in"), {"username": username, "password": password}, REMOTE_ADDR=address)


def statuses(count: int, **values: Any) -> list[int]:
    return [attempt(**values).status_code for _ in range(count)]


def pass_time(**amount: float) -> None:
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(**amount))


def verbs() -> list[str]:
    return list(Entry.objects.order_by("number").values_list("verb", flat=True))


class TestOneNameFromOneAddress:
    def test_the_fifth_failure_locks(self, olga: User) -> None:
        assert statuses(5) == [200, 200, 200, 200, 429]
        assert attempt(password=PASSWORD).status_code == 429

    def test_nobody_is_locked_out_elsewhere(self, olga: User) -> None:
        statuses(6)
        assert attempt(password=PASSWORD, address=ELSEWHERE).status_code == 302

    def test_others_get_in_from_the_same_address(self, olga: User) -> None:
        User.objects.create_user("arne", password=PASSWORD)
        statuses(6)
        assert attempt("arne", PASSWORD).status_code == 302

    def test_it_ends(self, olga: User) -> None:
        statuses(5)
        pass_time(minutes=14, seconds=55)
        assert attempt(password=PASSWORD).status_code == 429
        pass_time(seconds=6)
        assert attempt(password=PASSWORD).status_code == 302

    def test_what_is_tried_meanwhile_does_not_make_it_longer(self, olga: User) -> None:
        statuses(5)
        pass_time(minutes=10)
        statuses(3)
        pass_time(minutes=5, seconds=1)
        assert attempt(password=PASSWORD).status_code == 302

    def test_success_resets(self, olga: User) -> None:
        statuses(4)
        assert attempt(password=PASSWORD).status_code == 302
        assert statuses(5) == [200, 200, 200, 200, 429]

    def test_ones_own_success_resets_nobody_elses(self, olga: User) -> None:
        """Otherwise an account of one's own would be a way to guess on."""
        User.objects.create_user("arne", password=PASSWORD)
        statuses(4)
        assert attempt("arne", PASSWORD).status_code == 302
        assert attempt().status_code == 429

    def test_other_browsers_at_the_same_address_count_together(self, olga: User) -> None:
        for number in range(5):
            answer = Client(headers={"User-Agent": f"browser {number}"}).post(
                reverse("sign-in"), {"username": "olga", "password": "wrong"}, REMOTE_ADDR=HERE
            )
        assert answer.status_code == 429

    def test_a_household_is_one_address(self, olga: User) -> None:
        assert [attempt(address=f"2001:db8:1:2::{n:x}").status_code for n in range(1, 6)][-1] == 429
        assert attempt(password=PASSWORD, address="2001:db8:1:3::1").status_code == 302

    def test_a_header_is_no_address(self, olga: User) -> None:
        answers = [
            Client().post(
                reverse("sign-in"),
                {"username": "olga", "password": "wrong"},
                REMOTE_ADDR=HERE,
                headers={"X-Forwarded-For": f"203.0.113.{n}"},
            )
            for n in range(5)
        ]
        assert answers[-1].status_code == 429

    def test_unknown_names_are_no_different(self, db: None) -> None:
        assert statuses(5, username="nobody") == [200, 200, 200, 200, 429]


class TestOneAddress:
    def test_many_names_lock_it(self, olga: User, settings: Any) -> None:
        settings.SIGN_IN_ADDRESS_FAILURES = 8
        answers = [attempt(f"name-{n}").status_code for n in range(8)]
        assert answers == [200] * 7 + [429]
        assert attempt(password=PASSWORD).status_code == 429
        assert attempt(password=PASSWORD, address=ELSEWHERE).status_code == 302

    def test_it_ends_when_enough_is_forgotten(self, olga: User, settings: Any) -> None:
        settings.SIGN_IN_ADDRESS_FAILURES = 4
        attempt("name-1")
        pass_time(minutes=10)
        for n in range(2, 5):
            attempt(f"name-{n}")
        answer = attempt(password=PASSWORD)
        assert answer.status_code == 429
        assert "Try again in 5 minutes." in answer.content.decode()
        pass_time(minutes=5, seconds=1)
        assert attempt(password=PASSWORD).status_code == 302


class TestThePage:
    def test_it_says_how_long_in_english(self, olga: User) -> None:
        answer = statuses(4) and attempt()
        text = answer.content.decode()
        assert "Try again in 15 minutes." in text
        assert "The user name olga is locked until then, from your address only." in text
        assert 890 <= int(answer["Retry-After"]) <= 900

    def test_and_in_chinese(self, olga: User) -> None:
        statuses(4)
        text = attempt(language="zh-hans").content.decode()
        assert "登录失败次数过多" in text
        assert "请在 15 分钟后再试" in text

    def test_one_minute(self, olga: User) -> None:
        statuses(5)
        pass_time(minutes=14, seconds=30)
        assert "Try again in 1 minute." in attempt().content.decode()

    def test_a_name_is_shown_as_text(self, db: None) -> None:
        statuses(4, username="<script>")
        text = attempt("<script>").content.decode()
        assert "The user name &lt;script&gt; is locked" in text


class TestAudit:
    def test_what_is_written_down(self, olga: User) -> None:
        attempt(address="::ffff:192.0.2.1")
        attempt(password=PASSWORD)
        failed, entered = Entry.objects.order_by("number")
        assert (failed.verb, failed.actor, failed.subject) == ("sign in failed", None, "account olga")
        assert (failed.address, failed.details) == (HERE, {"how": "local"})
        assert (entered.verb, entered.actor, entered.subject) == ("sign in", olga, "account olga")
        assert (entered.address, entered.details) == (HERE, {"how": "local"})

    def test_a_lock_is_written_once(self, olga: User) -> None:
        statuses(12)
        assert verbs() == ["sign in failed"] * 5 + ["sign in locked"]
        assert Entry.objects.get(verb="sign in locked").details == {"how": "local", "seconds": 900}
        pass_time(minutes=16)
        statuses(7)
        assert verbs()[6:] == ["sign in failed"] * 5 + ["sign in locked"]

    def test_what_may_be_a_password_is_not(self, olga: User) -> None:
        """People type their password into the field for the name."""
        statuses(5, username=PASSWORD, password=PASSWORD)
        assert {entry.subject for entry in Entry.objects.all()} == {"unknown account"}
        stored = str([entry.to_json() for entry in Entry.objects.all()])
        stored += str(list(AccessAttempt.objects.values("get_data", "post_data", "path_info")))
        assert PASSWORD not in stored

    def test_signing_out(self, olga: User) -> None:
        client = Client()
        client.post(reverse("sign-in"), {"username": "olga", "password": PASSWORD})
        client.post(reverse("sign-out"))
        client.post(reverse("sign-out"))
        assert verbs() == ["sign in", "sign out"]


class TestAsItIsServed:
    """In threads and through ASGI."""

    pytestmark = [pytest.mark.django_db(transaction=True)]

    async def test_the_page_through_asgi(self, olga: User, async_client: AsyncClient) -> None:
        for _ in range(5):
            answer = await async_client.post(reverse("sign-in"), {"username": "olga", "password": "wrong"})
        assert answer.status_code == 429
        assert "The user name olga is locked until then" in answer.content.decode()
        await sync_to_async(connections.close_all)()  # of the thread in which Django's synchronous part ran

    def test_guesses_side_by_side_count_like_one_after_the_other(
        self, olga: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked_at = []
        authenticate = ModelBackend.authenticate

        def counted(self: ModelBackend, request: Any, **values: Any) -> Any:
            looked_at.append(values.get("password"))
            return authenticate(self, request, **values)

        monkeypatch.setattr(ModelBackend, "authenticate", counted)
        barrier = threading.Barrier(12)
        answers: list[int] = []

        def guess() -> None:
            barrier.wait()
            try:
                answers.append(attempt().status_code)
            finally:
                connection.close()

        threads = [threading.Thread(target=guess) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(looked_at) == 5
        assert sorted(answers) == [200] * 4 + [429] * 8
