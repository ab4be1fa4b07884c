"""A report is kept as JSON and read back; as text, as HTML mail, as files and on paper it says the same."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from hadash.outbox.messages import UNSUBSCRIBE_MARK
from hadash.reports.files import csv_of
from hadash.reports.html import html_of
from hadash.reports.pdf import pdf_of
from hadash.reports.png import png_of
from hadash.reports.report import Section, report_from_json
from hadash.reports.text import WIDTH, text_of

from .parts import made_up


def test_it_is_read_back_as_it_was_kept() -> None:
    report = made_up()
    kept = report_from_json(json.loads(json.dumps(report.to_json())))
    assert kept.subject == report.subject and kept.as_of == report.as_of and kept.verdict == report.verdict
    assert [section.title for section in kept.sections] == [section.title for section in report.sections]
    assert kept.sections[3].table is not None and kept.sections[3].table.more == 2
    assert kept.sections[3].table.all_rows == [], "the rows of a file are in the file"
    assert json.dumps(kept.to_json()) == json.dumps(report.to_json())


class TestText:
    def test_it_says_all_that_the_mail_says(self) -> None:
        text = text_of(made_up(stale="These are old figures."), ["You get this because of a schedule."])
        for said in (
            "✓ It can be switched.",
            "! Mirror shop is late.",
            "Coverage: 81 % (+2)",
            "Coverage is 81 %.",
            "购物车",
            "2 more  http://127.0.0.1:8000/governance/",
            "! These are old figures.",
            "Nothing.",
        ):
            assert said in text
        assert text.endswith("-- \nYou get this because of a schedule.\n")

    def test_no_line_of_prose_is_longer_than_mail_programs_wrap(self) -> None:
        long = Section("Long", says="word " * 60)
        chinese = Section("长", says="覆盖率" * 60)
        text = text_of(made_up(sections=[long, chinese]))
        assert all(len(line) <= WIDTH for line in text.splitlines() if "http" not in line)


class TestHtml:
    def test_styles_stand_at_their_elements(self) -> None:
        html = html_of(made_up(), "Because.", can_unsubscribe=True)
        assert 'class="mail"' in html and "background-color: #ffffff" in html.split("<body", 1)[1]
        assert "prefers-color-scheme: dark" in html, "what cannot be inlined stays"
        assert 'src="cid:coverage"' in html and UNSUBSCRIBE_MARK in html

    def test_what_people_have_typed_is_text(self) -> None:
        report = made_up()
        report = replace(report, title="<script>alert(1)</script>")
        assert "<script>" not in html_of(report, "<b>Because</b>", can_unsubscribe=False)

    def test_what_cannot_be_unsubscribed_from_has_no_link_for_it(self) -> None:
        assert UNSUBSCRIBE_MARK not in html_of(made_up(), "Because.", can_unsubscribe=False)


def test_a_file_has_all_rows_and_no_formula() -> None:
    table = made_up().sections[3].table
    assert table is not None
    data = csv_of(table)
    assert data.startswith(b"\xef\xbb\xbf"), "Excel reads UTF-8 only with its mark"
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    assert rows == [
        ["risk", "appid", "clients"],
        ["acks-not-all", "购物车", "1204"],
        ["'=1+1", "shop", "2"],
        ["x", "y", "3"],
    ]


def test_charts_are_pictures() -> None:
    (picture,) = made_up().pictures
    data = png_of(picture)
    assert data.startswith(b"\x89PNG")
    width = int.from_bytes(data[16:20], "big")
    assert width == 2 * picture.width, "screens have two pixels for one"


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_on_paper(language: str) -> None:
    report = made_up(title="覆盖率 #1 *main* $x$ <y> [z] @a \\b", stale="这些是旧数字。")
    data = pdf_of(report, language, "hadash, printed today", "As of 2026-11-26")
    assert data.startswith(b"%PDF-") and len(data) > 10_000


def test_on_paper_without_anything() -> None:
    assert pdf_of(made_up(sections=[]), "en", "", "").startswith(b"%PDF-")
