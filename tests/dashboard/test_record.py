"""The record of a switch that has ended: to be printed, shared, and shown to those who ask what was proved."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hadash.audit.models import record as audit
from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.presentation import rpo
from hadash.presentation.record import Proved, proof_of
from hadash.reports.kinds import whole_record
from hadash.reports.pdf import pdf_of
from hadash.reports.recipients import View
from hadash.reports.text import text_of
from hadash.switching.models.switches import StageRecord, Switch
from hadash.switching.models.unreplicated import Unreplicated
from hadash.switching.stages.answers import LastRecordsCompared
from hadash.switching.stages.context import StageContext

DRAINED = [["orders", 1, 900, 420], ["orders", 0, 57, 57], ["empty", 0, 0, 0]]


def ran(switch: Switch, *stages: str, result: str = "done") -> None:
    """Let these stages have run."""
    for stage in stages:
        now = timezone.now()
        StageRecord.objects.create(
            switch=switch, stage=stage, token=1, result=result, started_at=now, ended_at=now
        )


def one_line(text: str) -> str:
    return " ".join(text.split())


def drain(result: str = "done") -> StageRecord:
    return StageRecord(stage="drain", result=result)


class TestProof:
    def test_partitions_in_order_with_the_last_record_of_each_side(self) -> None:
        found = proof_of({"drained": DRAINED}, [drain()])
        assert [(row.topic, row.partition) for row in found] == [("empty", 0), ("orders", 0), ("orders", 1)]
        assert (found[2].last_on_source, found[2].copy_on_target, found[2].target_end) == (899, 419, 420)

    def test_what_was_compared_and_where_each_side_begins(self) -> None:
        compared = {"counts": [["orders", 1, 16]], "starts": [["orders", 1, 300, 0]]}
        found = proof_of({"drained": DRAINED, "compared": compared}, [drain()])
        assert (found[2].begins, found[2].compared) == ((300, 0), 16)
        assert (found[0].begins, found[0].compared) == ((None, None), None), "nobody has noted it"

    def test_what_is_only_for_the_record_takes_no_room_that_the_stages_need(self) -> None:
        ends = {Partition(f"orders-{n}", n): OffsetSync(n * 7919, n * 104729) for n in range(60_000)}
        compared = LastRecordsCompared(None, dict.fromkeys(ends, 16), ends)
        context = StageContext()
        context.keep_drained(ends, compared)
        assert context.drained == ends and context.compared is None
        few = dict(list(ends.items())[:20])
        context.keep_drained(few, LastRecordsCompared(None, dict.fromkeys(few, 16), few))
        assert context.compared == LastRecordsCompared(None, dict.fromkeys(few, 16), few)

    def test_a_partition_that_never_had_a_record_has_no_last_one(self) -> None:
        assert (Proved("empty", 0, 0, 0).last_on_source, Proved("empty", 0, 0, 0).copy_on_target) == (
            None,
            None,
        )

    @pytest.mark.parametrize(
        "records", [[], [drain("failed")], [StageRecord(stage="forward", result="done")]]
    )
    def test_without_a_drain_that_was_done_nothing_is_proved(self, records: list[StageRecord]) -> None:
        """A forced switch notes where the mirror was, which is no proof that nothing is missing."""
        assert proof_of({"drained": DRAINED}, records) == []


@pytest.mark.stack
@pytest.mark.django_db
class TestThePage:
    def text(self, client: Client, switch: Switch) -> str:
        return client.get(reverse("switch-record", args=[switch.key])).content.decode()

    @pytest.fixture
    def proved(self, finished: Switch) -> Switch:
        Switch.objects.filter(pk=finished.pk).update(facts={"drained": DRAINED})
        return finished

    def test_what_was_asked_who_agreed_what_was_proved(self, as_vera: Client, proved: Switch) -> None:
        page = self.text(as_vera, proved)
        for said in ("Upgrade of the brokers", "Olga Operator", "Arne Approver", proved.plan_digest):
            assert said in page
        assert "0: both sides of all 3 partitions were proved equal before clients went over." in page
        assert "899" in page and "420" in page

    def test_the_audit_log_is_named_by_number_and_digest(self, as_vera: Client, proved: Switch) -> None:
        entry = audit(None, "switch ended", proved.subject)
        assert entry.digest in self.text(as_vera, proved)

    @pytest.fixture
    def forced(self, make_switch: Any) -> Switch:
        """A forced switch: 3 records of its lost source were seen that the target does not have."""
        now = timezone.now()
        switch: Switch = make_switch(
            "succeeded",
            kind="forced",
            started_at=now - timedelta(minutes=1),
            ended_at=now,
            facts={"loss": {"records": [["orders", 0, 3]], "age": 12.0, "proved": []}},
        )
        ran(switch, "block", "assess", "forward", "verify")
        return switch

    def both(self, client: Client, switch: Switch) -> tuple[str, str]:
        """What the page of the switch and its record say in all, in one line each."""
        page = client.get(reverse("switch", args=[switch.key])).content.decode()
        return one_line(page), one_line(self.text(client, switch))

    def test_the_record_says_of_losses_what_the_page_of_the_switch_says(
        self, as_vera: Client, forced: Switch, engines: Any
    ) -> None:
        for text in self.both(as_vera, forced):
            assert "at least 3 records" in text and "as the source was seen 12.0 s before" in text

    def test_what_a_lost_source_held_is_told_when_it_is_back(
        self, as_vera: Client, forced: Switch, engines: Any
    ) -> None:
        Unreplicated.objects.create(
            switch=forced,
            points=[],
            status="reported",
            found=[["orders", 0, 57, 61]],
            reported_at=timezone.now(),
        )
        page, record = self.both(as_vera, forced)
        for text in page, record:
            assert "4 records" in text and "counted when the source was back" in text
            assert "Unreplicated records of east" in text and "<td><code>orders</code></td>" in text
        report = whole_record.build(View("en", "UTC", ("main",)), timezone.now(), forced.key)
        said = one_line(text_of(report))
        assert "4 records" in said and "Unreplicated records of east" in said
        assert [
            s.table.all_rows for s in report.sections if s.title.startswith("Unreplicated") and s.table
        ] == [[("orders", 0, 57, 61, 4)]]

    @pytest.mark.parametrize(
        ("values", "said", "because"),
        [
            (
                {"found": [["orders", 0, 57, 61]], "deleted": 2},
                "6 records",
                "counted when the source was back",
            ),
            ({"found": [], "gone": ["stock"]}, "at least 3 records", "without Topics that it has lost"),
            ({"found": [["orders", 0, 57, 58]]}, "at least 3 records", "less than was seen before"),
            (
                {"found": [["orders", 0, 57, 99]], "status": "waiting"},
                "at least 3 records",
                "as the source was seen",
            ),
        ],
    )
    def test_what_nobody_can_count_is_not_said_to_be_little(
        self, forced: Switch, values: dict[str, Any], said: str, because: str
    ) -> None:
        """Of Topics that the source has lost, of what it held before it was rebuilt or restored, and while it is asked
        again.
        """
        held = Unreplicated.objects.create(
            **{"switch": forced, "points": [], "status": "reported", "reported_at": timezone.now(), **values}
        )
        lost = rpo.lost_by(forced, list(forced.stages.all()), held)
        assert lost.said == said and because in lost.because

    def test_what_may_have_been_mirrored_is_said_with_the_number(self, forced: Switch) -> None:
        Switch.objects.filter(pk=forced.pk).update(facts={**forced.facts, "drained": [["orders", 0, 60, 60]]})
        forced.refresh_from_db()
        held = Unreplicated.objects.create(
            switch=forced,
            points=[],
            status="reported",
            found=[["orders", 0, 57, 61]],
            reported_at=timezone.now(),
        )
        lost = rpo.lost_by(forced, list(forced.stages.all()), held)
        assert (lost.said, lost.because) == (
            "4 records",
            "counted when the source was back; up to 3 of them may have been mirrored",
        )

    def test_a_forced_switch_that_never_saw_its_source_does_not_know(
        self, as_vera: Client, forced: Switch, engines: Any
    ) -> None:
        Switch.objects.filter(pk=forced.pk).update(facts={"loss": {"records": [], "age": None, "proved": []}})
        for text in self.both(as_vera, forced):
            assert "not known" in text and "not proved" in text and "0 records" not in text

    def test_one_that_went_back_has_lost_nothing(
        self, as_vera: Client, make_switch: Any, engines: Any
    ) -> None:
        now = timezone.now()
        switch = make_switch("rolled_back", started_at=now, ended_at=now)
        ran(switch, "quiesce", "block", "return")
        for text in self.both(as_vera, switch):
            assert "0 records" in text and "nothing was forwarded" in text

    def test_a_forward_of_which_nobody_knows_the_outcome_may_have_lost_some(
        self, as_vera: Client, make_switch: Any, engines: Any
    ) -> None:
        now = timezone.now()
        switch = make_switch("closed", kind="forced", started_at=now, ended_at=now)
        ran(switch, "block", "assess")
        ran(switch, "forward", result="unknown")
        for text in self.both(as_vera, switch):
            assert "not known" in text and "0 records" not in text

    def test_one_that_goes_on_has_no_record_yet(self, as_vera: Client, make_switch: Any) -> None:
        switch = make_switch("running", stage="quiesce")
        answer = as_vera.get(reverse("switch-record", args=[switch.key]))
        assert answer["Location"] == reverse("switch", args=[switch.key])

    def test_one_that_was_declined_has_one(
        self, as_vera: Client, make_switch: Any, people: SimpleNamespace
    ) -> None:
        switch = make_switch("declined", decided_by=people.arne, decision_note="Not <today>")
        page = self.text(as_vera, switch)
        assert "Not &lt;today&gt;" in page and "It never ran; nothing was changed." in page

    def test_all_partitions_are_in_the_csv(self, as_vera: Client, proved: Switch) -> None:
        answer = as_vera.get(reverse("switch-record", args=[proved.key]), {"csv": "proof"})
        lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert lines[0].startswith("topic,partition,source_end,target_end") and len(lines) == 4

    def test_it_can_be_taken_along_as_a_pdf_in_the_language_of_the_reader(
        self, as_vera: Client, proved: Switch
    ) -> None:
        answer = as_vera.get(reverse("switch-record", args=[proved.key]), {"format": "pdf"})
        assert answer["Content-Type"] == "application/pdf" and answer.content.startswith(b"%PDF")
        assert f"hadash-switch-{proved.key}.pdf" in answer["Content-Disposition"]

    def test_the_pdf_has_everything_that_the_page_has(self, proved: Switch) -> None:
        began = (proved.started_at or timezone.now()).timestamp() + 4
        pauses = [["shop", f"web-{n}", "produce", began, began + 1 + n / 10] for n in range(39, -1, -1)]
        Switch.objects.filter(pk=proved.pk).update(pauses=[["shop", "lost", "consume", began, None], *pauses])
        entry = audit(None, "switch ended", proved.subject)
        report = whole_record.build(View("en", "UTC", ("main",)), timezone.now(), proved.key)
        said = text_of(report).replace("\n", " ")
        for told in (proved.plan_digest, entry.digest, "Topics (", "Upgrade of the brokers"):
            assert told in said
        tables = {section.title: section.table for section in report.sections if section.table is not None}
        assert len(tables["Each client's own pause"].rows) == 41, "not the longest ten, as in the mail"
        proof = tables["What proves that nothing was lost"]
        assert len(proof.rows) == 3 and len(proof.columns) == 7
        assert len(tables["Log"].rows) == proved.events.count() > 0
        moved, picture = report.pictures
        assert moved.alt.startswith("east → west; lost: waited ↓ –")
        assert picture.svg.count("no record since") == 1
        assert picture.alt.startswith("lost no record since, web-39 4.90 s"), "the longest first"
        assert pdf_of(report, "en", "", "").startswith(b"%PDF")

    def test_it_draws_how_long_stages_took_and_how_long_clients_paused(
        self, as_vera: Client, proved: Switch
    ) -> None:
        page = self.text(as_vera, proved)
        assert 'id="stages-compared"' in page and 'id="client-pauses"' in page
        answer = as_vera.get(reverse("switch-record", args=[proved.key]), {"csv": "stages-compared"})
        assert b"".join(answer.streaming_content).startswith(b"stage,")  # type: ignore[attr-defined]

    def test_it_draws_what_moved(self, as_vera: Client, proved: Switch) -> None:
        text = self.text(as_vera, proved)
        assert "What moved, as a picture" in text and 'stroke="var(--second-line)"' in text

    def test_the_page_of_the_switch_leads_there(self, as_vera: Client, proved: Switch, engines: Any) -> None:
        page = as_vera.get(reverse("switch", args=[proved.key])).content.decode()
        assert reverse("switch-record", args=[proved.key]) in page
