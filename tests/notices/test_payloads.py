"""What each kind of channel gets, and that nothing that people have typed is more than text in it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from hadash.notices.payloads import Item, Message, post_for
from hadash.outbox.models import POSTED, Transport

AT = datetime(2026, 11, 26, 12, tzinfo=UTC)
ITEM = Item(
    "switch-ended",
    "[shop](http://evil) <@everyone> *bold* & 购物车",
    "https://hadash.example.org/switches/a/",
    "main",
    AT,
    True,
)
MESSAGE = Message("2 notices: shop", [ITEM, ITEM], "and 3 more")


def made(transport: Transport, message: Message = MESSAGE, secret: str = "") -> Any:
    return json.loads(json.dumps(post_for(transport, message, secret, AT).body))


@pytest.mark.parametrize("transport", sorted(POSTED))
def test_each_kind_has_a_form(transport: Transport) -> None:
    said = json.dumps(made(transport), ensure_ascii=False)
    assert "购物车" in said and ITEM.url in said


def test_programs_get_each_notice_as_it_is() -> None:
    body = made(Transport.WEBHOOK)
    assert body["type"] == "hadash.notices"
    assert body["data"]["notices"][0] == {
        "kind": "switch-ended",
        "text": ITEM.text,
        "url": ITEM.url,
        "pair": "main",
        "at": AT.isoformat(),
        "urgent": True,
    }


def test_slack_sees_no_mention() -> None:
    (_title, text) = made(Transport.SLACK)["blocks"]
    assert "<@everyone>" not in text["text"]["text"] and "&lt;@everyone&gt;" in text["text"]["text"]


@pytest.mark.parametrize("transport", [Transport.DINGTALK, Transport.WECOM, Transport.TEAMS])
def test_markdown_sees_no_link_of_somebody_elses(transport: Transport) -> None:
    assert "[shop](http://evil)" not in json.dumps(made(transport))


def test_feishu_gets_links_as_data_and_a_signature_with_a_secret() -> None:
    body = made(Transport.FEISHU, secret="abc")
    assert body["content"]["post"]["zh_cn"]["content"][0] == [
        {"tag": "a", "text": ITEM.text, "href": ITEM.url}
    ]
    assert body["sign"] and body["timestamp"] == str(int(AT.timestamp()))
    assert "sign" not in made(Transport.FEISHU)


@pytest.mark.parametrize("text", ["购物车" * 500, "& < >" * 400, "*a* " * 500])
class TestALongReason:
    """Each service refuses what is longer than it takes; what is left out is whole lines, and no link is cut."""

    def whole(self, text: str) -> Message:
        return Message(f"10 notices: {text}", [replace(ITEM, text=text)] * 12, "and 2 more")

    def test_slack(self, text: str) -> None:
        title, body = (block["text"]["text"] for block in made(Transport.SLACK, self.whole(text))["blocks"])
        assert len(title) <= 3000 and len(body) <= 3000
        lines = body.split("\n")
        assert lines[-1] == "and 2 more"
        assert lines[0].startswith(f"• <{ITEM.url}|")
        assert all(line.endswith(">") for line in lines if line.startswith("•"))

    def test_wecom(self, text: str) -> None:
        said = made(Transport.WECOM, self.whole(text))["markdown"]["content"]
        assert len(said.encode()) <= 4096
        lines = said.split("\n")
        assert lines[-1] == "and 2 more"
        assert lines[2].startswith("- [") and lines[2].endswith(f"]({ITEM.url})")

    @pytest.mark.parametrize(
        ("transport", "most"),
        [(Transport.DINGTALK, 20_000), (Transport.TEAMS, 28_000), (Transport.FEISHU, 20_000)],
    )
    def test_the_others(self, text: str, transport: Transport, most: int) -> None:
        said = json.dumps(made(transport, self.whole(text)), ensure_ascii=False)
        assert len(said.encode()) <= most and "and 2 more" in said and said.count(ITEM.url) == 10

    def test_programs_get_all_of_it(self, text: str) -> None:
        notices = made(Transport.WEBHOOK, self.whole(text))["data"]["notices"]
        assert [each["text"] for each in notices] == [text] * 12
