"""What the API answers before a temporary password was changed; without a database."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.utils import translation

from hadash.accounts.passwords import MUST_CHANGE
from hadash.first_sign_in import ChoosePasswordFirst


def answered(path: str) -> Any:
    request: HttpRequest = RequestFactory().get(path)
    request.session = {MUST_CHANGE: True}  # type: ignore[assignment]
    return ChoosePasswordFirst(lambda request: HttpResponse("served"))(request)


@pytest.mark.parametrize(
    ("language", "title", "detail"),
    [
        ("en", "Not allowed", "Choose a password of your own first: sign in to hadash in a browser."),
        ("zh-hans", "没有权限", "请先设置自己的密码：在浏览器中登录 hadash。"),
    ],
)
def test_the_api_says_it_as_every_other_error(language: str, title: str, detail: str) -> None:
    with translation.override(language):
        answer = answered("/api/v1/switches/")
    assert (answer.status_code, answer["Content-Type"]) == (403, "application/problem+json")
    assert json.loads(answer.content) == {
        "type": "urn:hadash:problem:not-allowed",
        "title": title,
        "status": 403,
        "detail": detail,
        "reasons": [detail],
    }


def test_a_page_leads_to_the_password() -> None:
    assert answered("/")["Location"] == "/password/"
