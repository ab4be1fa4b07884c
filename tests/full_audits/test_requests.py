"""Who may have a Topic compared, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied

from hadash.accounts.roles import ensure_user
from hadash.audit.models import Entry
from hadash.full_audits import requests
from hadash.full_audits.machine import Event, Status
from hadash.full_audits.models import FullAudit
from hadash.inventory.models import Cluster
from hadash.mirroring.models import Mirror
from hadash.refusals import Refused

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def test_it_waits_and_is_in_the_audit_log(mirror: Mirror, olga: Any) -> None:
    made = requests.request(olga, mirror, "carts")
    assert (made.current, made.topic, made.asked_by) == (Status.WAITING, "carts", olga)
    assert str(made.verdict) == "Nothing is known yet."
    entry = Entry.objects.latest("pk")
    assert (entry.verb, entry.subject) == ("ask for full audit", "Topic carts of mirror shop, pair main")


def test_a_topic_is_compared_once_at_a_time(mirror: Mirror, olga: Any) -> None:
    first = requests.request(olga, mirror, "carts")
    with pytest.raises(Refused, match="Topic carts is being compared already, or waits for it"):
        requests.request(olga, mirror, "carts")
    requests.cancel(olga, first)
    assert requests.request(olga, mirror, "carts").current is Status.WAITING


@pytest.mark.parametrize("topic", ["", "订单", "cart"])
def test_only_what_the_mirror_copies(mirror: Mirror, olga: Any, topic: str) -> None:
    with pytest.raises(Refused, match="Mirror shop does not copy Topic"):
        requests.request(olga, mirror, topic)
    assert not FullAudit.objects.exists()


def test_without_a_lake_there_is_no_spark(mirror: Mirror, olga: Any, settings: Any) -> None:
    settings.LAKE = ""
    with pytest.raises(Refused, match="set HADASH_LAKE"):
        requests.request(olga, mirror, "carts")


def test_generated_clusters_hold_no_records(mirror: Mirror, olga: Any) -> None:
    Cluster.objects.filter(pk=mirror.source_id).update(generated=True)
    with pytest.raises(Refused, match="generated"):
        requests.request(olga, Mirror.objects.get(pk=mirror.pk), "carts")


@pytest.mark.parametrize("role", ["viewer", "requester", "approver", "rescuer"])
def test_who_may_not(mirror: Mirror, olga: Any, role: str) -> None:
    made = requests.request(olga, mirror, "carts")
    somebody = ensure_user("somebody", "a-long-password", role)
    with pytest.raises(PermissionDenied):
        requests.request(somebody, mirror, "carts")
    with pytest.raises(PermissionDenied):
        requests.cancel(somebody, made)


def test_what_has_ended_cannot_be_cancelled(mirror: Mirror, olga: Any) -> None:
    made = requests.request(olga, mirror, "carts")
    made.move(Event.BEGIN)
    made.move(Event.FINISH)
    made.save()
    with pytest.raises(Refused, match="has ended already"):
        requests.cancel(olga, made)
