"""What is posted into each kind of channel. Pure; texts are in the channel's language already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from hadash.notices.signing import dingtalk_query, feishu_fields
from hadash.outbox.models import Transport

#: Lines that a message in a chat has; it says how many more there are.
MOST_LINES = 10
#: Characters of a line and of a title: the link opens the rest. (A reason may have thousands, and chats
#: refuse a message that is too long.)
ITEM_CHARACTERS, TITLE_CHARACTERS = 200, 150
#: Slack: characters of a block (3,000); WeCom: bytes of a message (4,096). Some are kept for what is put around.
SLACK_CHARACTERS, WECOM_BYTES = 2900, 4000


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that has happened. ``kind`` is for programs, ``text`` for people; ``url`` opens the very thing."""

    kind: str
    text: str
    url: str
    pair: str
    at: datetime
    is_urgent: bool


@dataclass(frozen=True, slots=True)
class Message:
    """``title``: one line. ``more``: how many items are left out, in words; empty for none."""

    title: str
    items: Sequence[Item]
    more: str = ""


@dataclass(frozen=True, slots=True)
class Post:
    """``query``: what stands behind the address."""

    body: dict[str, Any]
    query: dict[str, str]


def _cut(text: str, most: int) -> str:
    """
    >>> _cut("a switch of shop", 9)
    'a switch…'
    """
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _fitting(lines: Sequence[str], more: str, most: int, size: Callable[[str], int] = len) -> str:
    r"""Whole lines, as many as fit, and ``more``: half a link leads nowhere.

    >>> _fitting(["one", "two", "three"], "and 4 more", most=19), _fitting(["one", "two"], "", most=20)
    ('one\n…\nand 4 more', 'one\ntwo')
    """
    end = [more] if more else []
    if size("\n".join([*lines, *end])) <= most:
        return "\n".join([*lines, *end])
    kept: list[str] = []
    for line in lines:
        if size("\n".join([*kept, line, "…", *end])) > most:
            break
        kept.append(line)
    return "\n".join([*kept, "…", *end])


def post_for(transport: Transport, message: Message, secret: str, at: datetime) -> Post:
    if transport is not Transport.WEBHOOK:
        items = [replace(item, text=_cut(item.text, ITEM_CHARACTERS)) for item in message.items[:MOST_LINES]]
        message = Message(_cut(message.title, TITLE_CHARACTERS), items, message.more)
    return _MAKERS[transport](message, secret, at)


def _webhook(message: Message, secret: str, at: datetime) -> Post:
    """For programs: each item as it is. (Standard Webhooks: a type, a timestamp, and data.)"""
    items = [
        {
            "kind": item.kind,
            "text": item.text,
            "url": item.url,
            "pair": item.pair,
            "at": item.at.isoformat(),
            "urgent": item.is_urgent,
        }
        for item in message.items
    ]
    body = {
        "type": "hadash.notices",
        "timestamp": at.isoformat(),
        "data": {"title": message.title, "notices": items},
    }
    return Post(body, {})


def _slack(message: Message, secret: str, at: datetime) -> Post:
    lines = [f"• <{item.url}|{_slack_text(item.text)}>" for item in message.items]
    text = _fitting(lines, _slack_text(message.more), SLACK_CHARACTERS)
    # (``text`` is what notifications show and programs read aloud.)
    blocks = [
        {"type": "section", "text": {"type": "mrkdwn", "text": f"*{_slack_text(message.title)}*"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": text}},
    ]
    return Post({"text": message.title, "blocks": blocks}, {})


def _slack_text(text: str) -> str:
    """Slack's three characters of control.

    >>> _slack_text("a <b> & c")
    'a &lt;b&gt; &amp; c'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _teams(message: Message, secret: str, at: datetime) -> Post:
    """A card for a workflow of Teams (the old connectors end in 2026)."""
    body: list[dict[str, Any]] = [
        {"type": "TextBlock", "text": _markdown(message.title), "weight": "Bolder", "wrap": True}
    ]
    body += [
        {"type": "TextBlock", "text": f"[{_markdown(item.text)}]({item.url})", "wrap": True}
        for item in message.items
    ]
    if message.more:
        body.append({"type": "TextBlock", "text": message.more, "isSubtle": True, "wrap": True})
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return Post({"type": "message", "attachments": [attachment]}, {})


def _markdown(text: str) -> str:
    r"""Text in which markdown sees nothing.

    >>> _markdown("[a](b) *c* <d>")
    '\\[a\\]\\(b\\) \\*c\\* \\<d\\>'
    """
    for sign in "\\`*_[]()<>#":
        text = text.replace(sign, f"\\{sign}")
    return text


def _in_markdown(message: Message, most: int = 20_000) -> str:
    """:param most: bytes of UTF-8 (DingTalk: 20,000)."""
    lines = [f"- [{_markdown(item.text)}]({item.url})" for item in message.items]
    head = f"**{_markdown(message.title)}**\n\n"
    left = most - len(head.encode())
    return head + _fitting(lines, message.more, left, lambda text: len(text.encode()))


def _dingtalk(message: Message, secret: str, at: datetime) -> Post:
    body = {"msgtype": "markdown", "markdown": {"title": message.title, "text": _in_markdown(message)}}
    return Post(body, dingtalk_query(secret, at) if secret else {})


def _wecom(message: Message, secret: str, at: datetime) -> Post:
    text = _in_markdown(message, WECOM_BYTES)
    return Post({"msgtype": "markdown", "markdown": {"content": text}}, {})


def _feishu(message: Message, secret: str, at: datetime) -> Post:
    lines: list[list[dict[str, str]]] = [
        [{"tag": "a", "text": item.text, "href": item.url}] for item in message.items
    ]
    if message.more:
        lines.append([{"tag": "text", "text": message.more}])
    body: dict[str, Any] = {
        "msg_type": "post",
        "content": {"post": {"zh_cn": {"title": message.title, "content": lines}}},
    }
    return Post(body | (feishu_fields(secret, at) if secret else {}), {})


_MAKERS: dict[Transport, Callable[[Message, str, datetime], Post]] = {
    Transport.WEBHOOK: _webhook,
    Transport.SLACK: _slack,
    Transport.TEAMS: _teams,
    Transport.DINGTALK: _dingtalk,
    Transport.FEISHU: _feishu,
    Transport.WECOM: _wecom,
}


#: What these say when they are asked too often, or are busy: it passes. (WeCom: global error codes -1, 45009,
#: 45033; DingTalk: -1, 130101, 410100; Feishu: 9499, 11232, 11233.)
_LATER: dict[Transport, frozenset[int]] = {
    Transport.DINGTALK: frozenset({-1, 130101, 410100}),
    Transport.WECOM: frozenset({-1, 45009, 45033}),
    Transport.FEISHU: frozenset({9499, 11232, 11233}),
}


def passes(transport: Transport, answer: Any) -> bool:
    """Whether a channel that has not taken it may take it later.

    >>> passes(Transport.WECOM, {"errcode": 45009, "errmsg": "api freq out of limit"})
    True
    >>> passes(Transport.WECOM, {"errcode": 93000, "errmsg": "invalid webhook url"})
    False
    """
    code = (
        answer.get("code" if transport is Transport.FEISHU else "errcode")
        if isinstance(answer, dict)
        else None
    )
    return code in _LATER.get(transport, ())


def refusal(transport: Transport, answer: Any) -> str:
    """Why a channel that answers 200 has not taken it all the same: DingTalk, Feishu and WeCom say so in the
    answer. Empty: it has.

    >>> refusal(Transport.DINGTALK, {"errcode": 310000, "errmsg": "sign not match"})
    '310000 sign not match'
    >>> refusal(Transport.SLACK, "ok")
    ''
    """
    if not isinstance(answer, dict):
        return ""
    names = {
        Transport.DINGTALK: ("errcode", "errmsg"),
        Transport.WECOM: ("errcode", "errmsg"),
        Transport.FEISHU: ("code", "msg"),
    }
    if transport not in names:
        return ""
    code, said = (answer.get(name) for name in names[transport])
    return f"{code} {said}" if code not in (0, None) else ""
