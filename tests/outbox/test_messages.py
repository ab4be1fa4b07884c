"""What stands in a mail, read as its reader's program reads it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

import pytest

from hadash.outbox.messages import SUBJECT_CHARACTERS, UNSUBSCRIBE_MARK, message_of
from hadash.outbox.models import Content, ContentPart, Delivery

AT = datetime(2026, 11, 25, 7, 0, tzinfo=UTC)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
LINK = "https://hadash.example.org/unsubscribe/abc/"


def made(
    subject: str = "main: 3 new risks", html: str = "", parts: list[ContentPart] | None = None, link: str = LINK,
    text: str = "Good.", sender: str = "hadash <hadash@example.org>", address: str = "olga@example.org",
) -> EmailMessage:  # fmt: skip
    content = Content(subject=subject, text=text, html=html, list_id="daily-posture", language="zh-hans")
    delivery = Delivery(address=address, content=content)
    raw = message_of(delivery, content, parts or [], sender, link, AT).as_bytes()
    assert all(len(line) <= 998 for line in raw.split(b"\r\n")), "RFC 5322: no line is longer"
    assert b"\n" not in raw.replace(b"\r\n", b"")
    return message_from_bytes(raw, policy=default)  # type: ignore[return-value]


def test_the_headers_that_programs_look_at() -> None:
    message = made()
    assert message["From"] == "hadash <hadash@example.org>"
    assert message["To"] == "olga@example.org"
    assert message["Date"].datetime == AT
    assert message["Message-ID"].endswith("@example.org>")
    assert message["List-Id"] == "<daily-posture.example.org>"
    assert message["List-Unsubscribe"] == f"<{LINK}>"
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert (message["Auto-Submitted"], message["Content-Language"]) == ("auto-generated", "zh-hans")


def test_links_to_unsubscribe_stand_as_they_are_however_long_they_are() -> None:
    """Encoded words are not allowed in these headers, and mailbox providers need not decode them."""
    link = f"https://hadash.{'operations.' * 20}example.org/unsubscribe/{'a' * 32}/"
    content = Content(subject="主备切换 " * 40, text="Good.", list_id="daily-posture")
    delivery = Delivery(address="olga@example.org", content=content)
    sender = f"hadash <hadash@{'operations.' * 10}example.org>"
    raw = message_of(delivery, content, [], sender, link, AT).as_bytes()
    head = raw.partition(b"\r\n\r\n")[0].split(b"\r\n")
    assert f"List-Unsubscribe: <{link}>".encode() in head
    assert f"List-Id: <daily-posture.{'operations.' * 10}example.org>".encode() in head
    others = [line for line in head if not line.startswith((b"List-Unsubscribe", b"List-Id"))]
    assert max(map(len, [line for line in others if b"=?" in line])) <= 78, "RFC 2047: no word is longer"


def test_what_comes_a_day_after_it_was_made_does_not_pass_for_todays() -> None:
    content = Content(subject="main: 3 new risks", text="Good.", made_at=AT - timedelta(days=2))
    delivery = Delivery(address="olga@example.org", content=content)
    assert (
        message_of(delivery, content, [], "hadash@example.org", "", AT)["Subject"]
        == "[2026-11-23] main: 3 new risks"
    )
    content.made_at = AT - timedelta(hours=8)
    assert message_of(delivery, content, [], "hadash@example.org", "", AT)["Subject"] == "main: 3 new risks"


def test_what_cannot_be_unsubscribed_from_does_not_say_that_it_can() -> None:
    assert made(link="")["List-Unsubscribe"] is None


@pytest.mark.parametrize(
    "subject",
    [
        "main：3 个新风险，覆盖率 81 %（+2）",
        "购物车" * 40,
        "a" * 290,
        "é" * 150,
        "main: 3 risks, “quoted”, and 😀 " * 5,
    ],
)
def test_a_subject_arrives_as_it_was_written(subject: str) -> None:
    assert made(subject)["Subject"].split() == subject.split()


def test_what_looks_like_an_encoded_word_is_not_decoded() -> None:
    assert made("=?utf-8?q?pay_here?=")["Subject"] == "= ?utf-8?q?pay_here?="


def test_a_subject_cannot_add_headers() -> None:
    message = made("main\r\nBcc: everybody@example.org\n\nHello")
    assert message["Bcc"] is None
    assert message["Subject"] == "main Bcc: everybody@example.org Hello"


def test_a_subject_has_an_end() -> None:
    assert len(made("x" * 2000)["Subject"]) == SUBJECT_CHARACTERS


def test_plain_text_alone() -> None:
    message = made(text=f"完整。\n.\nA line {'long ' * 300}\n{UNSUBSCRIBE_MARK}")
    assert message.get_content_type() == "text/plain"
    assert message.get_content().split() == f"完整。 . A line {'long ' * 300} {LINK}".split()


def test_html_has_a_twin_its_pictures_and_its_files() -> None:
    parts = [
        ContentPart(name="coverage.png", media_type="image/png", cid="coverage", data=PNG),
        ContentPart(name="风险.csv", media_type="text/csv", data="pair,appid\nmain,购物\n".encode()),
    ]
    message = made(html=f'<p>完整</p><img src="cid:coverage"><a href="{UNSUBSCRIBE_MARK}">x</a>', parts=parts)
    body, attached = list(message.iter_parts())
    assert message.get_content_type() == "multipart/mixed"
    assert (attached.get_filename(), attached.get_content_type()) == ("风险.csv", "text/csv")
    assert attached.get_content() == "pair,appid\nmain,购物\n"
    assert body.get_content_type() == "multipart/alternative"
    plain, related = list(body.iter_parts())
    assert plain.get_content().strip() == "Good."
    assert related.get_content_type() == "multipart/related"
    html, picture = list(related.iter_parts())
    assert html.get_content().strip() == f'<p>完整</p><img src="cid:coverage"><a href="{LINK}">x</a>'
    assert (picture["Content-ID"], picture.get_content()) == ("<coverage>", PNG)
    assert picture.get_content_disposition() == "inline"


def test_a_sender_with_letters_of_its_own() -> None:
    assert (
        made(sender="“hadash”, 运维 <hadash@example.org>")["From"].addresses[0].display_name
        == "“hadash”, 运维"
    )


def test_each_delivery_has_a_message_id_of_its_own_that_stays() -> None:
    content = Content(subject="s", text="t")
    one, other = (
        Delivery(address="a@example.org", content=content),
        Delivery(address="b@example.org", content=content),
    )

    def number(delivery: Delivery) -> str:
        return str(message_of(delivery, content, [], "h@example.org", "", AT)["Message-ID"])

    assert number(one) == number(one) != number(other)
