"""Builds the posts for each kind of channel. Pure; texts are already in the channel's language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from hadash.notices.signing import dingtalk_query, feishu_fields
from hadash.outbox.models import Transport

#: Lines of a message in a chat, at most; it gives the number of further ones.
MOST_LINES = 10
#: Characters of a line and of a title, at most; the link opens the full text. (A reason may have thousands, and
#: chats refuse messages that are too long.)
ITEM_CHARACTERS, TITLE_CHARACTERS = 200, 150
#: Slack: characters of a block (3,000); WeCom: bytes of a message (4,096). Both are reduced by some for the
#: rest.
SLACK_CHARACTERS, WECOM_BYTES = 2900, 4000


@dataclass(frozen=True, slots=True)
class Item:
    """One event in a message. ``kind`` is for programs, ``text`` for people; ``url`` is the page that shows it."""

    kind: str
    text: str
    url: str
    pair: str
    at: datetime
    is_urgent: bool


@dataclass(frozen=True, slots=True)
class Message:
    """A message. ``title``: one line. ``more``: says how many items are left out; empty for none."""

    title: str
    items: Sequence[Item]
    more: str = ""


@dataclass(frozen=True, slots=True)
class Post:
    """The request for a channel. ``query``: parameters that are added to its address."""

    body: dict[str, Any]
    query: dict[str, str]


def _cut(text: str, most: int) -> str:
    """Shorten a text to ``most`` characters.

    >>> _cut("a switch of shop", 9)
    'a switch…'
    """
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _fitting(lines: Sequence[str], more: str, most: int, size: Callable[[str], int] = len) -> str:
    r"""Return as many whole lines as fit, and ``more``. (A truncated link would be useless.)

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
    """Return the request that posts a message to a channel, signed with its secret where its kind does that."""
    if transport is not Transport.WEBHOOK:
        items = [replace(item, text=_cut(item.text, ITEM_CHARACTERS)) for item in message.items[:MOST_LINES]]
        message = Message(_cut(message.title, TITLE_CHARACTERS), items, message.more)
    return _MAKERS[transport](message, secret, at)


def _webhook(message: Message, secret: str, at: datetime) -> Post:
    """Return the post for programs, with all data of each item. (Standard Webhooks: a type, a timestamp, and
    data.)
    """
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
    # (Notifications show ``text``, and screen readers read it.)
    blocks = [
        {"type": "section", "text": {"type": "mrkdwn", "text": f"*{_slack_text(message.title)}*"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": text}},
    ]
    return Post({"text": message.title, "blocks": blocks}, {})


def _slack_text(text: str) -> str:
    """Escape Slack's three control characters.

    >>> _slack_text("a <b> & c")
    'a &lt;b&gt; &amp; c'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _teams(message: Message, secret: str, at: datetime) -> Post:
    """Return a card for a workflow of Teams (the old connectors end in 2026)."""
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
    r"""Escape markdown in a text.

    >>> _markdown("[a](b) *c* <d>")
    '\\[a\\]\\(b\\) \\*c\\* \\<d\\>'
    """
    for sign in "\\`*_[]()<>#":
        text = text.replace(sign, f"\\{sign}")
    return text


def _in_markdown(message: Message, most: int = 20_000) -> str:
    """Return a message as markdown. :param most: its largest size in bytes of UTF-8 (DingTalk: 20,000)."""
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


#: The temporary error codes of these: too many requests, or busy. (WeCom: global error codes -1, 45009, 45033;
#: DingTalk: -1, 130101, 410100; Feishu: 9499, 11232, 11233.)
_LATER: dict[Transport, frozenset[int]] = {
    Transport.DINGTALK: frozenset({-1, 130101, 410100}),
    Transport.WECOM: frozenset({-1, 45009, 45033}),
    Transport.FEISHU: frozenset({9499, 11232, 11233}),
}


def passes(transport: Transport, answer: Any) -> bool:
    """Return whether a channel's refusal is temporary.

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
    """Return why a channel that answers 200 has refused a post: DingTalk, Feishu and WeCom say so in the body.
    Empty: it has not.

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
