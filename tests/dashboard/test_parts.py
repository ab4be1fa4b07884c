"""Filters and small figures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.utils import translation

from hadash.bindings.model import BindingState
from hadash.dashboard import figures
from hadash.dashboard.templatetags import hadash as tags
from hadash.governance.catalogue import Severity
from hadash.governance.models.findings import Finding
from hadash.governance.models.runs import Run
from hadash.inventory import differences
from hadash.mirroring.models import Mirror
from hadash.outbox.models import STATES
from hadash.outbox.states import State as DeliveryState
from hadash.presentation import badges
from hadash.reports.models import ReportIssue
from hadash.sentences import say
from hadash.switching.machines.switches import Status
from hadash.switching.models.switches import StageRecord, Switch

START = datetime(2026, 1, 1, tzinfo=UTC)


def history(*records: int | None, step: float = 2.0) -> list[tuple[datetime, int | None]]:
    return [(START + timedelta(seconds=step * i), value) for i, value in enumerate(records)]


def test_a_sentence_in_the_viewers_language() -> None:
    stored = say("%(user)s approved it.", user="arne").to_json()
    assert tags.sentence(stored) == "arne approved it."
    with translation.override("zh-hans"):
        assert tags.sentence(stored) == "arne 已批准。"


def test_a_line_of_a_log_has_the_full_name_of_who_did_it() -> None:
    arne, wei = User(username="arne", first_name="Arne Approver"), User(username="wei")
    approved = say("%(user)s approved it.", user="arne").to_json()
    assert tags.told(SimpleNamespace(sentence=approved, actor=arne)) == "Arne Approver approved it."
    assert tags.told(SimpleNamespace(sentence=approved, actor=None)) == "arne approved it."
    assert tags.told(SimpleNamespace(sentence=approved, actor=wei)) == "arne approved it.", (
        "it is about another"
    )


def test_of_many_names_the_first_are_shown_and_the_others_counted() -> None:
    assert tags.first_names(("<b>", ""), 2) == "<code>&lt;b&gt;</code> <code>—</code>"
    assert tags.first_names(("a", "b", "c", "d"), 2) == (
        '<code>a</code> <code>b</code> <span class="quiet">… 2 more</span>'
    )


@pytest.mark.parametrize("value", [{}, None, "text", {"text": "", "values": {}}])
def test_what_is_no_sentence_is_shown_as_it_is(value: object) -> None:
    assert tags.sentence(value) == ("text" if value == "text" else "")


def test_a_percent_sign_in_a_value_survives() -> None:
    assert tags.sentence(say("%(error)s", error="100 % full").to_json()) == "100 % full"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "?"),
        (0.314, "0.31 s"),
        (12.34, "12.3 s"),
        (59.97, "1 min 00 s"),
        (125, "2 min 05 s"),
        (7300, "2 h 01 min"),
    ],
)
def test_durations(value: float | None, shown: str) -> None:
    assert tags.seconds(value) == shown


def test_a_gap_in_the_lag_is_a_gap() -> None:
    pieces = figures.segments(history(1, 2, None, 3), gap_seconds=10)
    assert [[records for _, records in piece] for piece in pieces] == [[1, 2], [3]]
    assert len(figures.segments(history(1, 2, step=60), gap_seconds=10)) == 2


def test_a_sparkline_of_nothing_is_hatched() -> None:
    assert "spark none" in figures.sparkline_svg(history(None, None))
    assert figures.sparkline_svg(history(1, None, 3)).count("<polyline") == 2


def test_a_sparkline_of_an_hour_is_a_line_although_it_has_one_value_a_minute() -> None:
    begin = datetime(2026, 11, 27, 12, tzinfo=UTC)
    minutes = [(begin + timedelta(minutes=number), None if number == 30 else number) for number in range(60)]
    assert figures.sparkline_svg(minutes).count("<polyline") == 2


def test_names_are_escaped() -> None:
    assert "&lt;b&gt;" in tags.identity({}, "<b>", "<i>")  # type: ignore[arg-type]
    assert "&lt;b&gt;" in tags.cluster({}, "<b>")  # type: ignore[arg-type]


def test_every_state_has_a_look() -> None:
    assert set(Switch.SHOWN) == set(Status)
    assert set(Mirror.SHOWN) == set(Mirror.State)
    assert set(Finding.SHOWN) == set(Finding.State) and set(ReportIssue.SHOWN) == set(ReportIssue.State)
    assert set(Run.SHOWN) == set(Run.State) and set(StageRecord.SHOWN) == set(StageRecord.Result)
    assert set(STATES) == set(DeliveryState) and set(badges.SEVERITIES) == set(Severity)
    assert set(badges.BINDINGS) == set(BindingState) and set(badges.DECLARATIONS) == set(differences.State)


def test_a_mirror_that_nobody_looks_at_is_unknown() -> None:
    mirror = Mirror(state="running", looked_at=datetime.now(UTC) - timedelta(minutes=5))
    assert badges.of_mirror(mirror).look == "unknown"
    mirror.looked_at = datetime.now(UTC)
    assert badges.of_mirror(mirror).look == "fine"
    assert badges.of_mirror(Mirror(state="running")).look == "unknown"
