"""A chroot of ZooKeeper belongs to one installation."""

from __future__ import annotations

import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils import timezone
from kazoo.client import KazooClient

from hadash.audit.models import Entry
from hadash.bindings import client as client_module
from hadash.bindings import layout
from hadash.bindings.errors import ForeignStore
from hadash.bindings.model import Binding
from hadash.bindings.store import BindingStore, Edit
from hadash.bindings.watch import EPOCHS_LATER
from hadash.identity.identity import Identity
from hadash.inventory import dialects, installation
from hadash.inventory.checks import zookeeper_is_signed_in_to
from hadash.inventory.installation import adopt, check_not_forgotten, claimed, mark, note_epoch
from hadash.inventory.management.commands import backup_zookeeper, restore_zookeeper
from hadash.inventory.models import Cluster, Installation, Pair, Worker

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


class TestOneThatHasForgotten:
    """A chroot that was emptied, or put back: what is there now is not what clients were led by."""

    def bind(self, client: KazooClient) -> int:
        return BindingStore(client).change([Edit(Identity("shop"), Binding("west"))])

    def test_nobody_writes_to_it(self, zookeeper: KazooClient, connect_client: Any) -> None:
        self.bind(claimed(zookeeper))
        epoch = self.bind(zookeeper)
        note_epoch(zookeeper)
        zookeeper.set(layout.EPOCH, b"1")
        says = rf"its last epoch at .* is 1, and {epoch} was seen\..*restore_zookeeper"
        with pytest.raises(ForeignStore, match=says):
            claimed(connect_client())
        with pytest.raises(ForeignStore):
            check_not_forgotten(zookeeper)

    def test_nor_marks_an_empty_one_as_its_own(self, zookeeper: KazooClient, connect_client: Any) -> None:
        self.bind(claimed(zookeeper))
        note_epoch(zookeeper)
        for path in (layout.EPOCH, layout.INSTALLATION):
            zookeeper.delete(path)
        with pytest.raises(ForeignStore, match="is 0, and 1 was seen"):
            claimed(connect_client())
        assert not zookeeper.exists(layout.INSTALLATION)

    def test_a_person_may_begin_anew_with_it(self, zookeeper: KazooClient, connect_client: Any) -> None:
        self.bind(claimed(zookeeper))
        note_epoch(zookeeper)
        zookeeper.set(layout.EPOCH, b"0")
        assert adopt(zookeeper)
        assert claimed(connect_client())
        # Gateways that have seen later changes would not listen to earlier numbers.
        assert BindingStore(zookeeper).epoch() > EPOCHS_LATER

    def test_it_is_noticed_while_it_is_used(
        self, zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(installation, "CLAIMED_SECONDS", 0.0)
        self.bind(claimed(zookeeper))
        self.bind(claimed(zookeeper))
        claimed(zookeeper)
        zookeeper.set(layout.EPOCH, b"1")
        with pytest.raises(ForeignStore, match="is 1, and 2 was seen"):
            claimed(zookeeper)

    def test_what_was_seen_never_goes_back(self, zookeeper: KazooClient) -> None:
        self.bind(claimed(zookeeper))
        note_epoch(zookeeper)
        zookeeper.set(layout.EPOCH, b"0")
        note_epoch(zookeeper)
        assert Installation.objects.get().epoch == 1


class TestBackup:
    @pytest.fixture(autouse=True)
    def ours(self, zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch) -> None:
        for command in (backup_zookeeper, restore_zookeeper):
            monkeypatch.setattr(command, "zookeeper", lambda: zookeeper)

    def test_there_and_back_is_recorded(self, zookeeper: KazooClient, tmp_path: Path) -> None:
        BindingStore(claimed(zookeeper)).change([Edit(Identity("shop"), Binding("west"))])
        file = tmp_path / "zookeeper.json"
        told = io.StringIO()
        call_command("backup_zookeeper", str(file), stdout=told)
        assert told.getvalue() == f"1 AppIDs with bindings as of epoch 1 are in {file}.\n"
        assert [path.name for path in tmp_path.iterdir()] == ["zookeeper.json"]
        zookeeper.delete(layout.binding("shop"))
        call_command("restore_zookeeper", str(file), stdout=told)
        assert (
            "1 AppIDs are bound as at epoch 1; it is epoch 1000001 now. Run hadash-manage compare_bindings."
            in told.getvalue()
        )
        entry = Entry.objects.get(verb="zookeeper restored")
        assert (entry.details["saved_epoch"], entry.details["epoch"]) == (1, 1_000_001)

    def test_while_a_worker_runs_it_is_refused(self, zookeeper: KazooClient, tmp_path: Path) -> None:
        """It would carry on with what it read before the restore."""
        file = tmp_path / "zookeeper.json"
        call_command("backup_zookeeper", str(file), stdout=io.StringIO())
        now = timezone.now()
        worker = Worker.objects.create(name="celery@a", queues=["celery"], began_at=now, seen_at=now)
        with pytest.raises(
            CommandError, match=r"celery@a \(seen \d s ago\)\. Stop web, workers and beat first"
        ):
            call_command("restore_zookeeper", str(file))
        worker.seen_at -= timedelta(seconds=settings.WORKER_SILENT_SECONDS + 1)
        worker.save()
        call_command("restore_zookeeper", str(file), stdout=io.StringIO())

    def test_of_another_installation_is_refused(self, zookeeper: KazooClient, tmp_path: Path) -> None:
        file = tmp_path / "zookeeper.json"
        call_command("backup_zookeeper", str(file), stdout=io.StringIO())
        Installation.objects.update(mark="another")
        with pytest.raises(
            CommandError, match=r"of another installation than this database\. Restore PostgreSQL first"
        ):
            call_command("restore_zookeeper", str(file))

    def test_into_anothers_chroot_is_refused(self, zookeeper: KazooClient, tmp_path: Path) -> None:
        file = tmp_path / "zookeeper.json"
        call_command("backup_zookeeper", str(file), stdout=io.StringIO())
        zookeeper.set(layout.INSTALLATION, b"of-the-test-system")
        with pytest.raises(
            CommandError, match=r"is another installation's\. Is HADASH_ZOOKEEPER_CHROOT the right one"
        ):
            call_command("restore_zookeeper", str(file), "--replace")

    def test_a_file_that_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "half.json").write_text('{"hadash": 1, "nod')
        with pytest.raises(CommandError, match="no backup of hadash's ZooKeeper, or only a part"):
            call_command("restore_zookeeper", str(tmp_path / "half.json"))
        with pytest.raises(CommandError, match="No such file"):
            call_command("restore_zookeeper", str(tmp_path / "none.json"))
