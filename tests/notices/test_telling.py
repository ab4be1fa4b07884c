"""What has happened is told to those whom it concerns: once, as they want it, and one storm is one message."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from dashboard.parts import gateway
from django.contrib.auth.models import User
from django.utils import timezone, translation

from hadash.auditors.models import AuditedPartition
from hadash.governance.models.findings import Acceptance, Finding
from hadash.governance.models.runs import Run
from hadash.mirroring.models import Mirror
from hadash.notices import channels, gathering, routing, watching
from hadash.notices.channels import ChannelRefused, WantedChannel, WantedWish
from hadash.notices.kinds import NOTICES, NoticeKind
from hadash.notices.models import Incident, Notice, Pending, PersonalWish
from hadash.outbox.models import Delivery
from hadash.presentation.localized import sentence
from hadash.reports.models import MailPreference
from hadash.sentences import say
from hadash.switching.models.batches import BatchApproval
from hadash.switching.models.binding_changes import BindingApproval
from hadash.switching.models.switches import Approval, StageRecord, Switch

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def kinds() -> list[str]:
    return [notice.kind for notice in Notice.objects.order_by("pk")]


def tell(now: datetime | None = None) -> dict[str, list[str]]:
    """Route and tell; the subjects by address."""
    now = now or timezone.now()
    while routing.route_new(now):
        pass
    before = set(Delivery.objects.values_list("pk", flat=True))
    gathering.tell_due(now)
    found: dict[str, list[str]] = {}
    for each in Delivery.objects.exclude(pk__in=before).select_related("content"):
        found.setdefault(each.address.partition("@")[0], []).append(each.content.subject)
    return found


def to(status: str, switch: Switch, **values: Any) -> None:
    switch.status = status
    for name, value in values.items():
        setattr(switch, name, value)
    switch.save(update_fields=["status", *values])


class TestSwitches:
    def test_a_request_is_told_to_those_who_can_approve_it_and_not_to_who_asked(
        self, make_switch: Any
    ) -> None:
        make_switch()
        told = tell()
        assert sorted(told) == ["arne", "bea"]
        assert told["arne"] == ["olga asks for a switch of shop from east to west: Upgrade of the brokers"]

    def test_its_life_is_told_to_who_asked(self, make_switch: Any, people: SimpleNamespace) -> None:
        switch = make_switch()
        tell()
        Approval.objects.create(switch=switch, user=people.arne, digest=switch.plan_digest)
        later = timezone.now()
        assert tell(later) == {"olga": ["arne has approved the switch of shop."]}
        to("running", switch, token=1)
        later += timedelta(minutes=2)
        begun = ["The switch of shop from east to west has begun."]
        assert tell(later) == {"olga": begun, "arne": begun}, "Arne has approved it"
        to("needs_attention", switch)
        later += timedelta(minutes=2)
        needs = ["The switch of shop needs somebody."]
        assert tell(later) == {"olga": needs, "arne": needs}, "Olga operates, too: one message"

    def test_saving_anything_else_tells_nobody(self, make_switch: Any) -> None:
        switch = make_switch()
        count = Notice.objects.count()
        switch.stage = "drain"
        switch.save(update_fields=["stage"])
        switch.save()
        assert Notice.objects.count() == count, "the same status is the same notice"

    def test_batches_and_changes_of_bindings(self, make_batch: Any, make_change: Any) -> None:
        make_batch()
        make_change()
        assert kinds() == ["approval-asked", "approval-asked"]

    def test_an_approval_of_each_is_told_to_who_asked(
        self, make_batch: Any, make_change: Any, people: SimpleNamespace
    ) -> None:
        batch, change = make_batch(), make_change()
        tell()
        BatchApproval.objects.create(batch=batch, user=people.arne, digest="x")
        BindingApproval.objects.create(change=change, user=people.arne, digest="x")
        told = tell(timezone.now() + timedelta(minutes=5))
        assert list(told) == ["olga"] and kinds()[2:] == ["approval-given", "approval-given"]

    def test_what_nobody_has_approved_has_expired(self, make_batch: Any, make_change: Any) -> None:
        for made in (make_batch(), make_change()):
            made.status = "expired"
            made.save(update_fields=["status"])
        assert kinds()[2:] == ["switch-ended", "switch-ended"]

    @pytest.mark.parametrize("ended", ["cancelled", "expired"])
    def test_who_was_asked_hears_that_there_is_nothing_to_decide_any_more(
        self, make_switch: Any, make_batch: Any, make_change: Any, ended: str
    ) -> None:
        asked = (make_switch(), make_batch(), make_change())
        later = timezone.now()
        tell(later)
        for made in asked:
            made.status = ended
            made.save(update_fields=["status"])
            assert kinds()[-1] == "switch-ended"
            later += timedelta(minutes=5)
            assert {"olga", "arne", "bea"} <= set(tell(later))

    def test_all_who_approved_hear_how_it_ended(self, make_switch: Any, people: SimpleNamespace) -> None:
        switch = make_switch("running")
        for user in (people.arne, people.bea):
            Approval.objects.create(switch=switch, user=user)
        tell()
        to("succeeded", switch)
        assert set(tell(timezone.now() + timedelta(minutes=5))) == {"olga", "arne", "bea"}

    def test_a_change_of_bindings_that_is_in_effect(self, make_change: Any) -> None:
        change = make_change()
        change.status = "applied"
        change.save(update_fields=["status"])
        assert kinds()[-1] == "switch-ended"


class TestWhich:
    """What somebody chooses, whether it concerns them or not."""

    def test_what_others_do(self, make_switch: Any, people: SimpleNamespace) -> None:
        people.vera.email = "vera@example.org"
        people.vera.save()
        ended = [NoticeKind.SWITCH_ENDED]
        channels.set_own(people.vera, WantedWish(kinds=ended), by_mail=True)
        to("succeeded", make_switch("running"))
        assert "vera" not in tell(), "Vera has no part in it"
        channels.set_own(people.vera, WantedWish(kinds=[], everybodys=ended), by_mail=True)
        to("succeeded", make_switch("running"))
        assert "vera" in tell(timezone.now() + timedelta(minutes=5))

    def test_of_which_pairs(self, make_switch: Any, people: SimpleNamespace) -> None:
        channels.set_own(people.arne, WantedWish(pairs=["other"]), by_mail=True)
        make_switch()
        assert list(tell()) == ["bea"]


class TestHow:
    def test_a_storm_is_one_message(self, make_switch: Any) -> None:
        now = timezone.now()
        switch = make_switch("approved")
        for token in range(1, 31):
            to("running", switch, token=token)
            to("needs_attention", switch)
        told = tell(now + timedelta(seconds=1))
        assert told == {"olga": ["31 notices: The switch of shop needs somebody."]}
        to("running", switch, token=31)
        to("paused", switch)
        assert tell(now + timedelta(seconds=30)) == {}, "not before the gap is over"
        assert tell(now + timedelta(seconds=90)) == {
            "olga": ["The switch of shop is paused until somebody resumes it: all is ready."]
        }

    def test_nobody_is_told_twice(self, make_switch: Any) -> None:
        make_switch()
        now = timezone.now()
        assert tell(now)
        assert tell(now + timedelta(hours=1)) == {}

    def test_in_the_language_and_zone_of_each(self, make_switch: Any, people: SimpleNamespace) -> None:
        MailPreference.objects.create(user=people.bea, language="zh-hans", zone="Asia/Shanghai")
        make_switch()
        told = tell()
        assert told["bea"][0] != told["arne"][0] and "shop" in told["bea"][0]
        assert Delivery.objects.get(address="bea@example.org").content.language == "zh-hans"

    def test_who_wants_no_mail_gets_none(self, make_switch: Any, people: SimpleNamespace) -> None:
        channels.set_own(people.arne, WantedWish(), by_mail=False)
        channels.set_own(people.bea, WantedWish(kinds=[NoticeKind.SWITCH_ENDED]), by_mail=True)
        make_switch()
        assert tell() == {}

    def test_quiet_hours_hold_back_what_is_not_urgent(
        self, make_switch: Any, people: SimpleNamespace
    ) -> None:
        wish = WantedWish(quiet_from=time(0, 0), quiet_until=time(23, 59))
        channels.set_own(people.olga, wish, by_mail=True)
        switch = make_switch("approved")
        to("running", switch, token=1)
        assert "olga" not in tell()
        to("paused", switch)
        assert "olga" in tell(), "a switch that is paused is told at once, and the rest with it"

    def test_a_switch_that_goes_on_after_a_go_has_not_begun_again(self, make_switch: Any) -> None:
        switch = make_switch("running", token=1)
        to("running", switch)
        Switch.objects.filter(pk=switch.pk).update(token=2)
        switch.refresh_from_db()
        to("paused", switch)
        Switch.objects.filter(pk=switch.pk).update(token=3)
        switch.refresh_from_db()
        to("running", switch)
        assert Notice.objects.filter(kind="switch-began").count() == 1

    @pytest.mark.parametrize("what", ["gone", "no role", "no mail"])
    def test_who_has_no_access_any_more_when_it_is_told_is_not_told(
        self, make_switch: Any, people: SimpleNamespace, what: str
    ) -> None:
        """A digest, or quiet hours, may keep it for a day."""
        make_switch()
        routing.route_new(timezone.now())
        assert Pending.objects.filter(user=people.arne).exists()
        match what:
            case "gone":
                User.objects.filter(pk=people.arne.pk).update(is_active=False)
            case "no role":
                people.arne.groups.clear()
            case _:
                PersonalWish.objects.update_or_create(user=people.arne, defaults={"by_mail": False})
        assert "arne" not in tell()
        assert not Pending.objects.filter(user=people.arne).exists()

    def test_who_may_not_see_the_pair_is_not_told(self, make_switch: Any, people: SimpleNamespace) -> None:
        people.arne.groups.clear()
        make_switch()
        assert sorted(tell()) == ["bea"]


class TestWatching:
    def test_a_mirror_that_lasts_late_is_told_and_one_that_was_late_for_a_moment_is_not(
        self, fleet: Any, people: Any
    ) -> None:
        now = timezone.now()
        Mirror.objects.update(lag_seconds=10_000)
        assert watching.look(now) == 0
        assert watching.look(now + timedelta(seconds=61)) == 1
        assert watching.look(now + timedelta(seconds=99)) == 0
        Mirror.objects.update(lag_seconds=1)
        watching.look(now + timedelta(seconds=120))
        watching.look(now + timedelta(seconds=181))
        assert not Incident.objects.exists()
        Mirror.objects.update(lag_seconds=10_000)
        watching.look(now + timedelta(seconds=190))
        assert watching.look(now + timedelta(seconds=260)) == 1, "late again is told again"
        assert kinds() == ["mirror-late", "mirror-late"]

    def test_one_that_swings_around_its_rpo_is_one_incident(self, fleet: Any, people: Any) -> None:
        now = timezone.now()
        for quarter_minutes in range(40):
            Mirror.objects.update(lag_seconds=10_000 if quarter_minutes % 3 else 1)
            watching.look(now + timedelta(seconds=15 * quarter_minutes))
        assert kinds().count("mirror-late") == 0, "it has never lasted"
        for seconds in (0, 15, 61, 76):
            Mirror.objects.update(lag_seconds=10_000)
            watching.look(now + timedelta(seconds=600 + seconds))
        Mirror.objects.update(lag_seconds=1)
        watching.look(now + timedelta(seconds=690))
        Mirror.objects.update(lag_seconds=10_000)
        for seconds in (705, 720, 780):
            watching.look(now + timedelta(seconds=seconds))
        assert kinds().count("mirror-late") == 1

    def test_one_whose_lag_nobody_knows_for_a_while_is_the_same_incident(self, fleet: Any) -> None:
        mirror = Mirror.objects.first()
        assert mirror is not None
        now = timezone.now()
        for minutes, seconds in ((0, 900.0), (2, 900.0), (3, None), (4, 900.0), (6, 900.0)):
            Mirror.objects.filter(pk=mirror.pk).update(state="running", lag_seconds=seconds)
            watching.look(now + timedelta(minutes=minutes))
        assert kinds().count("mirror-late") == 1

    def test_a_mirror_that_has_failed(self, fleet: Any) -> None:
        now = timezone.now()
        Mirror.objects.update(state="failed", fault="Task 0: no such topic\nat org.apache…")
        watching.look(now)
        watching.look(now + timedelta(seconds=61))
        (notice,) = Notice.objects.all()
        assert notice.sentence["values"]["fault"] == "Task 0: no such topic"

    def test_a_mirror_that_differs_from_its_source(self, fleet: Any) -> None:
        now = timezone.now()
        AuditedPartition.objects.create(
            pair=fleet.pair, topic="carts", partition=0, source=fleet.east, source_begin=0, target_begin=0,
            source_next=9, target_next=9, different=2,
        )  # fmt: skip
        watching.look(now)
        watching.look(now + timedelta(seconds=61))
        (notice,) = Notice.objects.filter(kind="mirror-differs")
        assert str(sentence(notice.sentence)) == (
            "Mirror shop of pair main differs from its source (differences: 2)."
        )
        assert notice.path == "/mirrors/main/shop/#audit"
        AuditedPartition.objects.update(different=0)
        watching.look(now + timedelta(seconds=200))
        watching.look(now + timedelta(seconds=300))
        assert not Incident.objects.exists()

    def test_a_look_asks_no_more_where_all_mirrors_of_a_large_pair_have_failed(
        self, fleet: Any, django_assert_max_num_queries: Any
    ) -> None:
        seen = {
            f"mirrors:failed:{number}": watching.Seen(
                f"mirrors:failed:{number}", NoticeKind.MIRROR_FAILED, say("It has failed."), "/"
            )
            for number in range(500)
        }
        now = timezone.now()
        with django_assert_max_num_queries(6):
            assert watching.keep("mirrors", seen, now) == 0
        assert Incident.objects.count() == 500
        with django_assert_max_num_queries(6):
            watching.keep("mirrors", seen, now + timedelta(seconds=15))

    def test_one_that_had_failed_is_the_same_incident_while_connect_is_away(self, fleet: Any) -> None:
        now = timezone.now()
        Mirror.objects.update(state="failed", fault="Task 0: no such topic")
        watching.look(now)
        watching.look(now + timedelta(seconds=61))
        Mirror.objects.update(state="unknown")
        watching.look(now + timedelta(seconds=120))
        Mirror.objects.update(state="failed")
        watching.look(now + timedelta(seconds=180))
        watching.look(now + timedelta(seconds=260))
        assert Notice.objects.filter(kind="mirror-failed").count() == 1

    def test_a_gateway_that_is_away_is_told_to_those_of_its_pair(
        self, fleet: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            watching,
            "gateway_members",
            lambda: [gateway("gateway-1", live=False, pair="main"), gateway("gateway-2", live=False)],
        )
        now = timezone.now()
        watching.look(now)
        watching.look(now + timedelta(seconds=61))
        told = {notice.path: notice.pair for notice in Notice.objects.all()}
        assert told == {"/gateways/gateway-1/": fleet.pair, "/gateways/gateway-2/": None}, (
            "one of before does not tell"
        )

    def test_what_cannot_be_looked_at_is_not_over(self, fleet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        Incident.objects.create(key="gateways:gateway-1", since=timezone.now(), is_told=True)

        def away() -> Any:
            raise ConnectionError("ZooKeeper is away")

        monkeypatch.setattr(watching, "gateway_members", away)
        watching.look(timezone.now())
        assert Incident.objects.filter(key="gateways:gateway-1").exists()

    def test_jobs_that_have_failed_and_new_risks(self, fleet: Any) -> None:
        now = timezone.now()
        Run.objects.create(job="lag", state="failed", ended_at=now, fault="No lake.\nTraceback")
        run = Run.objects.create(
            job="risk", state="published", began_at=now - timedelta(minutes=1), ended_at=now
        )
        values = {"pair": "main", "first_at": now, "opened_at": now, "last_run": run.pk}
        Finding.objects.create(code="acks-not-all", weight=10, name="a", **values)
        Finding.objects.create(code="acks-not-all", weight=1, name="b", **values)
        assert watching.look(now) == 2
        assert watching.look(now) == 0
        said = {notice.kind: notice.sentence["values"] for notice in Notice.objects.all()}
        assert said["job-failed"]["fault"] == "No lake."
        assert (said["findings-new"]["count"], said["findings-new"]["high"]) == (2, 1)

    def test_risks_that_got_worse_and_not_those_that_somebody_has_accepted(
        self, fleet: Any, people: SimpleNamespace
    ) -> None:
        now = timezone.now()
        earlier = now - timedelta(days=1)
        run = Run.objects.create(
            job="risk", state="published", began_at=now - timedelta(minutes=1), ended_at=now
        )
        values = {"pair": "main", "code": "appid-shared", "weight": 10, "last_run": run.pk}
        old = {"first_at": earlier, "opened_at": earlier, "worse_at": now}
        accepted = Finding.objects.create(name="accepted", **values, **old)
        Acceptance.objects.create(
            finding=accepted, until=now.date() + timedelta(days=9), reason="x", accepted_by=people.vera
        )
        assert watching.look(now) == 0
        Finding.objects.create(name="worse", **values, **old)
        assert watching.look(now) == 1
        notice = Notice.objects.get()
        assert notice.sentence["values"] == {"pair": "main", "worse": 1, "high": 1}
        assert notice.path.endswith("?pair=main&show=worse"), "nothing is new"

    def test_requests_that_are_about_to_expire(self, make_switch: Any) -> None:
        now = timezone.now()
        make_switch(expires_at=now + timedelta(minutes=30))
        tell(now)
        assert watching.look(now) == 1
        assert sorted(tell(now + timedelta(minutes=2))) == ["arne", "bea", "olga"]
        assert watching.look(now) == 0

    def test_a_stage_that_takes_longer_than_usual(self, make_switch: Any) -> None:
        now = timezone.now()
        for number in range(6):
            done = make_switch("succeeded", appid=f"other-{number}", started_at=now - timedelta(hours=1))
            StageRecord.objects.create(
                switch=done,
                stage="drain",
                token=1,
                result="done",
                started_at=now,
                ended_at=now + timedelta(seconds=4),
            )
        switch = make_switch("running", started_at=now)
        StageRecord.objects.create(switch=switch, stage="drain", token=1, started_at=now)
        assert watching.look(now + timedelta(seconds=11)) == 0, "less than three times as long"
        assert watching.look(now + timedelta(seconds=13)) == 1
        with translation.override("zh-hans"):
            assert "drain" not in sentence(Notice.objects.get(kind="switch-slow").sentence)
        assert watching.look(now + timedelta(seconds=14)) == 0


class TestChannels:
    def wanted(self, **more: Any) -> WantedChannel:
        values: dict[str, Any] = {
            "name": "ops", "transport": "webhook", "url": "https://hooks.example.org/a", "secret": "", "pair": None,
            "language": "", "zone": "", "wish": WantedWish(),
        }  # fmt: skip
        return WantedChannel(**{**values, **more})

    def test_it_is_told_of_its_pair(self, make_switch: Any, people: SimpleNamespace, fleet: Any) -> None:
        made = channels.save(people.ada, self.wanted(pair=fleet.pair))
        make_switch()
        assert "ops" in tell()
        delivery = Delivery.objects.get(address="ops")
        assert (delivery.transport, delivery.endpoint) == ("webhook", made.endpoint)
        assert delivery.content.data["items"][0]["url"].startswith("http")

    def test_what_is_no_pair_s_is_told_to_each(self, people: SimpleNamespace, fleet: Any) -> None:
        channels.save(people.ada, self.wanted(pair=fleet.pair))
        Run.objects.create(job="lag", state="failed", ended_at=timezone.now(), fault="No lake.")
        watching.look(timezone.now())
        assert "ops" in tell()

    def test_one_whose_message_cannot_be_made_keeps_nobody_else_waiting(
        self, make_switch: Any, people: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        channels.save(people.ada, self.wanted())
        make_switch()
        first = gathering._tell_person

        def broken(found: Any, now: Any) -> bool:
            if found[0].user.username == "arne":
                raise ValueError("no such zone")
            return first(found, now)

        monkeypatch.setattr(gathering, "_tell_person", broken)
        told = tell()
        assert "ops" in told and "bea" in told and "arne" not in told
        monkeypatch.setattr(gathering, "_tell_person", first)
        assert "arne" in tell(timezone.now() + timedelta(minutes=2)), "nothing is lost"

    def test_only_of_what_it_wants(self, make_switch: Any, people: SimpleNamespace) -> None:
        channels.save(people.ada, self.wanted(wish=WantedWish(kinds=[NoticeKind.SWITCH_ENDED])))
        switch = make_switch()
        assert "ops" not in tell()
        to("succeeded", switch)
        assert "ops" in tell()

    def test_a_webhook_gets_a_secret_and_both_are_encrypted(self, people: SimpleNamespace) -> None:
        from django.db import connection

        made = channels.save(people.ada, self.wanted())
        assert made.endpoint.secret.startswith("whsec_")
        with connection.cursor() as cursor:
            cursor.execute("SELECT url, secret FROM outbox_endpoint")
            (row,) = cursor.fetchall()
        assert "hooks" not in row[0] and "whsec" not in row[1]

    def test_an_address_that_is_left_empty_stays(self, people: SimpleNamespace) -> None:
        made = channels.save(people.ada, self.wanted())
        secret = made.endpoint.secret
        changed = channels.save(people.ada, self.wanted(name="ops-2", url=""), made)
        assert (changed.endpoint.url, changed.endpoint.secret) == ("https://hooks.example.org/a", secret)

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ({"name": " "}, "name"),
            ({"url": ""}, "Paste the address"),
            ({"url": "http://hooks.example.org/"}, "https"),
            ({"url": "https://10.0.0.1/"}, "HADASH_WEBHOOK_NETWORKS"),
            ({"transport": "mail"}, "what kind"),
            ({"secret": "short"}, "secret"),
            ({"zone": "Nowhere"}, "time zone"),
        ],
    )
    def test_what_is_wrong_is_said(self, people: SimpleNamespace, wrong: dict[str, Any], said: str) -> None:
        with pytest.raises(ChannelRefused, match=said):
            channels.save(people.ada, self.wanted(**wrong))

    def test_a_test_says_that_it_is_one(self, people: SimpleNamespace) -> None:
        made = channels.save(people.ada, self.wanted())
        delivery = channels.try_out(people.ada, made)
        assert delivery.content.subject == "This is a test by ada: the channel works."
        assert [item["kind"] for item in delivery.content.data["items"]] == ["test"], "nothing has ended"
        assert not Notice.objects.exists() and not Pending.objects.exists()


def test_every_kind_has_a_row() -> None:
    assert set(NOTICES) == set(NoticeKind)


def test_what_is_long_ago_is_forgotten(make_switch: Any, people: SimpleNamespace) -> None:
    make_switch()
    tell()
    now = timezone.now()
    assert routing.trim(now) == 0
    assert routing.trim(now + timedelta(days=91)) == 1
    assert not Notice.objects.exists() and Delivery.objects.exists()
