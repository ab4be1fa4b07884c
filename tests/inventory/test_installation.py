"""A chroot of ZooKeeper belongs to one installation."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from kazoo.client import KazooClient

from hadash.audit.models import Entry
from hadash.bindings import client as client_module
from hadash.bindings import layout
from hadash.bindings.errors import ForeignStore
from hadash.inventory import dialects
from hadash.inventory.checks import zookeeper_is_signed_in_to
from hadash.inventory.installation import claimed, mark
from hadash.inventory.models import Cluster, Pair

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def pair() -> Pair:
    east, west = (Cluster.objects.create(name=name, number=n) for n, name in enumerate(("east", "west"), 1))
    return Pair.objects.create(name="main", first=east, second=west, default=east)


def test_the_first_one_marks_it(zookeeper: KazooClient) -> None:
    assert claimed(zookeeper) is zookeeper
    assert zookeeper.get(layout.INSTALLATION)[0].decode() == mark()
    assert len(mark()) == 32


def test_another_one_does_not_write_there(
    zookeeper: KazooClient, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    zookeeper.create(layout.INSTALLATION, b"of-the-test-system")
    monkeypatch.setattr(dialects, "zookeeper", lambda: zookeeper)
    with pytest.raises(
        ForeignStore, match=r"another installation's .*HADASH_ZOOKEEPER_CHROOT of its own.*--adopt"
    ):
        dialects.dialect_of(pair)
    assert zookeeper.get(layout.INSTALLATION)[0] == b"of-the-test-system"


def test_a_person_gives_it_the_chroot_of_one_that_is_no_more(
    zookeeper: KazooClient, chroot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    zookeeper.create(layout.INSTALLATION, b"of-a-lost-database")
    connect = client_module.connect
    monkeypatch.setattr(
        "hadash.inventory.management.commands.secure_zookeeper.connect",
        lambda hosts, **options: connect(hosts, chroot, **options),
    )
    with pytest.raises(CommandError, match="another installation's"):
        call_command("secure_zookeeper", stdout=io.StringIO())
    out = io.StringIO()
    call_command("secure_zookeeper", adopt=True, stdout=out)
    assert f"{chroot} is this installation's now." in out.getvalue()
    assert "nodes below" in out.getvalue()
    assert claimed(zookeeper) is zookeeper
    assert Entry.objects.filter(verb="chroot adopted").exists()


@pytest.mark.parametrize(
    ("hosts", "environment", "ids"),
    [
        (["127.0.0.1"], {}, []),
        (["hadash.example"], {}, ["hadash.W011", "hadash.W012"]),
        (["hadash.example"], {"USER": "hadash", "PASSWORD": "word"}, ["hadash.W012"]),
        (["127.0.0.1"], {"USER": "hadash"}, ["hadash.E011"]),
    ],
)
def test_an_open_zookeeper_is_warned_of(
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    hosts: list[str],
    environment: dict[str, str],
    ids: list[str],
) -> None:
    settings.ALLOWED_HOSTS = hosts
    for name in ("USER", "PASSWORD"):
        monkeypatch.setenv(f"HADASH_ZOOKEEPER_{name}", environment.get(name, ""))
    assert [message.id for message in zookeeper_is_signed_in_to(None)] == ids
