"""What runs here."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.parts import gateway
from hadash import VERSION
from hadash.inventory.models import Worker
from hadash.presentation.engines import Engines

from .parts import signed_in

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def running(engines: SimpleNamespace) -> None:
    engines.look = Engines({}, 7, (gateway("gateway-1"),))
    now = timezone.now()
    Worker.objects.create(name="celery@new", version=VERSION, began_at=now, seen_at=now)
    Worker.objects.create(name="celery@old", version="0.0.9", began_at=now, seen_at=now)


def shown(client: Client) -> str:
    return " ".join(client.get(reverse("about")).content.decode().split())


def test_each_process_has_its_version_and_another_one_is_marked(as_arne: Client) -> None:
    page = shown(as_arne)
    assert f"hadash {VERSION}" in page
    assert all(name in page for name in ("celery@new", "celery@old", "gateway-1"))
    (_, old) = page.split("celery@old")
    assert "another one than this page" in old.split("</tr>")[0]
    assert "another one than this page" not in page.split("celery@new")[1].split("</tr>")[0]


def test_when_zookeeper_is_away_that_is_said(as_arne: Client, engines: SimpleNamespace) -> None:
    engines.look = Engines(fault="the connection is lost")
    page = shown(as_arne)
    assert "ZooKeeper does not answer" in page and "celery@new" in page


def test_who_has_no_role_sees_the_version_alone() -> None:
    page = shown(signed_in(User.objects.create_user("nobody", password="x")))
    assert f"hadash {VERSION}" in page and "celery@new" not in page


def test_every_page_leads_there(as_arne: Client) -> None:
    assert reverse("about") in as_arne.get(reverse("tokens")).content.decode()
