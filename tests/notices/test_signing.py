"""What is posted is signed as its receivers check it: by the reference library of Standard Webhooks, and as
the chats describe it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from hadash.notices.signing import (
    BadSecret,
    dingtalk_query,
    feishu_fields,
    key_of,
    new_secret,
    webhook_headers,
)

BODY = json.dumps({"text": "购物车"}, ensure_ascii=False).encode()


def test_the_reference_library_takes_it() -> None:
    secret = new_secret()
    headers = webhook_headers(secret, "msg_1", datetime.now(UTC), BODY)
    assert Webhook(secret).verify(BODY, headers) == {"text": "购物车"}


@pytest.mark.parametrize("changed", ["body", "id", "time", "secret"])
def test_and_nothing_else(changed: str) -> None:
    secret = new_secret()
    headers = webhook_headers(secret, "msg_1", datetime.now(UTC), BODY)
    body = BODY
    match changed:
        case "body":
            body = BODY.replace(b"text", b"Text")
        case "id":
            headers["webhook-id"] = "msg_2"
        case "time":
            headers = webhook_headers(secret, "msg_1", datetime.now(UTC) - timedelta(hours=1), BODY)
        case _:
            secret = new_secret()
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body, headers)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_short", "whsec_" + "QUJD" * 40, "密钥"])
def test_what_is_no_secret(secret: str) -> None:
    with pytest.raises(BadSecret):
        key_of(secret)


def test_chats_of_china() -> None:
    """Worked out by hand from what DingTalk and Feishu document (HMAC-SHA256, base64)."""
    at = datetime.fromtimestamp(1_700_000_000, UTC)
    assert dingtalk_query("SECabc", at) == {
        "timestamp": "1700000000000",
        "sign": DINGTALK,
    }
    assert feishu_fields("abc", at) == {"timestamp": "1700000000", "sign": FEISHU}


#: ``printf '1700000000000\nSECabc' | openssl dgst -sha256 -hmac SECabc -binary | base64``
DINGTALK = "jcUpW0QmtKduN03n4JqQ0PBosVjqnM8gU7fIIvsDmCM="
#: ``printf '' | openssl dgst -sha256 -hmac $'1700000000\nabc' -binary | base64``
FEISHU = "VIS10b0EBvzzSdFnuk4tznEmK5wHaruvf/WnViv2yR4="
