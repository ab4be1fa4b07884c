"""What the tests of the pages are made of."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hadash.bindings.epochs import Report
from hadash.bindings.model import GatewayMember
from hadash.governance.models.runs import Run
from hadash.inventory.models import Cluster

PASSWORD = "a-long-password"
#: What somebody may type as a client.id.
NASTY = "<script>alert('x')</script>"


def signed_in(user: User, language: str = "en") -> Client:
    client = Client()
    client.force_login(user)
    client.cookies["django_language"] = language
    return client


def cluster(name: str, number: int) -> Cluster:
    return Cluster.objects.create(
        name=name,
        number=number,
        bootstrap_servers="127.0.0.1:1",
        admin_username="admin",
        admin_password="secret-of-the-admin",
        mirror_username="mirror",
        mirror_password="secret-of-the-mirror",
        brokers=[{"id": 0, "host": "127.0.0.1", "port": 9092}],
        looked_at=timezone.now(),
    )


def gateway(name: str = "gateway-1", applied: int = 7, **values: Any) -> GatewayMember:
    return GatewayMember(
        **{
            "id": name,
            "address": "127.0.0.1:9092",
            "admin_url": "http://127.0.0.1:9093",
            "version": "1",
            "pid": 1,
            "since": 0.0,
            "live": True,
            "report": Report(applied),
            **values,
        }
    )


def words_of(chart: Any) -> set[str]:
    """The words on the lines and bands of a chart."""
    return {shape["label"]["text"] for shape in chart.layout["shapes"]}


def run_of(job: Run.Job) -> Run:
    """Publish an empty run of a job."""
    now = timezone.now()
    return Run.objects.create(job=job, state=Run.State.PUBLISHED, began_at=now, ended_at=now)


def page(client: Client, name: str, *args: Any, **query: Any) -> str:
    """The HTML of the page with this name in urls.py, which is there."""
    answer = client.get(reverse(name, args=args), query)
    assert answer.status_code == 200
    return answer.content.decode()
