"""The commands of the README with which one's own clusters are registered, against real ones."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from kazoo.client import KazooClient
from support.environment import required
from support.kafka import App, Clusters
from support.waiting import eventually

from hadash.bindings import catalogue
from hadash.inventory.models import Cluster
from hadash.mirroring.creating import await_topics
from hadash.mirroring.models import Mirror, WriteDenial
from hadash.mirroring.services import cluster_client, connect_client, connector_of

pytestmark = [pytest.mark.stack, pytest.mark.kafka, pytest.mark.django_db]  # (through its command line)


@pytest.fixture(autouse=True)
def own_zookeeper(zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hadash.inventory.services.zookeeper", lambda: zookeeper)


@pytest.fixture
def pair_file(tmp_path: Path) -> Callable[..., Path]:
    """``pair.json`` of the stack's clusters as docs/own-clusters.md says, with changes."""

    def write(default: str = "east", **changes: Any) -> Path:
        clusters = [
            {
                "name": d["name"],
                "number": d["id"],
                **{f: d[f] for f in ("bootstrap_servers", "security_protocol", "sasl_mechanism")},
                "admin_username": d["admin_user"],
                "admin_password": d["admin_password"],
                "mirror_username": d["mirror_user"],
                "mirror_password": d["mirror_password"],
            }
            for d in json.loads(required("HADASH_SANDBOX_CLUSTERS"))
        ]
        clusters[1] |= changes
        path = tmp_path / "pair.json"
        path.write_text(json.dumps({"name": "main", "default": default, "clusters": clusters}))
        return path

    return write


def run(*arguments: Any, **options: Any) -> str:
    out = io.StringIO()
    call_command(*map(str, arguments), stdout=out, **options)
    return out.getvalue()


class TestPair:
    def test_it_is_looked_at_and_published(
        self, pair_file: Callable[..., Path], zookeeper: KazooClient
    ) -> None:
        said = run("register_pair", pair_file())
        assert "east: 1 brokers, id " in said
        assert said.endswith("Pair main is registered.\n")
        published = catalogue.read_pair(zookeeper, "main")
        assert published is not None
        assert (published.clusters, published.default) == (("east", "west"), "east")
        described = catalogue.read_cluster(zookeeper, "west")
        assert described is not None
        assert [broker.id for broker in described.brokers] == [0]

    def test_again_it_changes_what_is_different(self, pair_file: Callable[..., Path]) -> None:
        run("register_pair", pair_file())
        run("register_pair", pair_file(mirror_password="another"))
        assert Cluster.objects.get(name="west").mirror_password == "another"

    def test_again_it_says_what_has_changed_and_what_it_has_kept(
        self, pair_file: Callable[..., Path]
    ) -> None:
        servers = json.loads(pair_file().read_text())["clusters"][1]["bootstrap_servers"]
        run("register_pair", pair_file(zookeeper_hosts="z:2181"))
        said = run("register_pair", pair_file(mirror_password="another", mirror_username="other"))
        assert "west: mirror_username: hadash-mirror → other\n" in said
        assert "west: mirror_password: changed\n" in said
        assert "west: kept as registered before, because the file does not name it: zookeeper_hosts" in said
        assert "another" not in said
        said = run("register_pair", pair_file(mirror_username="other", zookeeper_hosts=""))
        assert "west: zookeeper_hosts: z:2181 → (empty)\n" in said
        assert servers not in said
        assert Cluster.objects.get(name="west").zookeeper_hosts == ""

    @pytest.mark.parametrize(
        ("changes", "why"),
        [
            ({"number": 1}, "Number 1 is cluster east's. Choose another."),
            ({"number": "two"}, "is not valid. number: "),
            ({"name": "far west"}, "is not valid. name: "),
            ({"name": "east"}, "two clusters with different names"),
            ({"bootstrap_servers": ""}, "is not valid. bootstrap_servers: "),
        ],
    )
    def test_what_is_wrong_is_said(
        self, pair_file: Callable[..., Path], changes: dict[str, Any], why: str
    ) -> None:
        with pytest.raises(CommandError, match=why):
            run("register_pair", pair_file(**changes))

    def test_a_number_stays_what_it_is(self, pair_file: Callable[..., Path]) -> None:
        run("register_pair", pair_file())
        with pytest.raises(CommandError, match="Cluster west has number 2, which clients remember"):
            run("register_pair", pair_file(number=7))

    def test_a_cluster_is_in_one_pair_only(self, pair_file: Callable[..., Path], tmp_path: Path) -> None:
        run("register_pair", pair_file())
        second = json.loads((tmp_path / "pair.json").read_text()) | {"name": "second"}
        (tmp_path / "second.json").write_text(json.dumps(second))
        with pytest.raises(CommandError, match="Cluster east is in pair main already"):
            run("register_pair", tmp_path / "second.json")

    def test_a_cluster_that_does_not_answer_is_registered_with_its_fault(
        self, pair_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("hadash.kafka.cluster.REQUEST_SECONDS", 0.5)
        said = run("register_pair", pair_file(bootstrap_servers="127.0.0.1:1"))
        assert "west: Cluster west does not answer" in said

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            (None, "cannot be read: No such file"),
            ("{", "is not as docs/own-clusters.md says"),
            ('{"clusters": [{"name": "east"}]}', "lacks east: number, east: bootstrap_servers"),
        ],
    )
    def test_a_file_that_is_none(self, tmp_path: Path, text: str | None, why: str) -> None:
        path = tmp_path / "pair.json"
        if text is not None:
            path.write_text(text)
        with pytest.raises(CommandError, match=why):
            run("register_pair", path)


class TestMirror:
    @pytest.fixture(autouse=True)
    def pair(self, pair_file: Callable[..., Path]) -> None:
        run("register_pair", pair_file())

    def test_its_connector_copies_and_its_standby_is_closed(self, app: App, kafka: Clusters) -> None:
        topic = app.topic()
        name = topic.replace(".", "-")
        said = run("register_mirror", "main", name, topic, source="east")
        mirror = Mirror.objects.get(name=name)
        connector = connector_of(mirror, mirror.source)
        try:
            assert said == f"Mirror {name} copies {topic} from east.\n"
            assert WriteDenial.objects.get().principal == f"User:{app.appid}"
            from support.kafka import produce

            produce(app.config(kafka.described["east"].bootstrap_servers), topic, b"one")
            eventually(lambda: kafka.values("west", topic) == [b"one"], "the copy", patience=40)
        finally:
            connect_client().delete(connector)

    @pytest.mark.parametrize(
        ("arguments", "why"),
        [
            (("nobody", "m", "t"), "There is no pair 'nobody'. Register it with register_pair."),
            (("main", "m", "not-there"), "Topic not-there does not exist on cluster east."),
        ],
    )
    def test_what_is_wrong_is_said(self, arguments: tuple[str, ...], why: str) -> None:
        with pytest.raises(CommandError, match=why):
            run("register_mirror", *arguments, source="east")
        assert not Mirror.objects.exists()

    def test_a_source_that_is_not_in_the_pair(self) -> None:
        with pytest.raises(CommandError, match="'north' is not a cluster of pair main"):
            run("register_mirror", "main", "m", "t", source="north")

    def test_a_standby_that_holds_records_is_refused(self, app: App, kafka: Clusters) -> None:
        """Nobody knows which of its records correspond."""
        from support.kafka import produce

        topic = app.topic()
        produce(app.config(kafka.described["west"].bootstrap_servers), topic, b"one")
        with pytest.raises(CommandError, match=r"-0 on cluster west is not empty \(1 records"):
            run("register_mirror", "main", "m", topic, source="east")
        assert not Mirror.objects.exists()
        assert not WriteDenial.objects.exists()

    def test_a_standby_with_other_partitions_is_refused(self, app: App) -> None:
        topic = f"{app.appid}.uneven"
        east, west = (cluster_client(Cluster.objects.get(name=name)) for name in ("east", "west"))
        for client, partitions in ((east, 3), (west, 2)):
            client.create_topics({topic: (partitions, 1, {})})
            await_topics(client, [topic])
        try:
            with pytest.raises(
                CommandError, match=rf"other partitions on cluster west than on east.* {topic}-2\."
            ):
                run("register_mirror", "main", "m", topic, source="east")
            assert not Mirror.objects.exists()
            assert not WriteDenial.objects.exists()
        finally:
            east.delete_topics([topic])
            west.delete_topics([topic])


class TestPerson:
    @pytest.fixture
    def typed(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """What is typed at the prompts."""
        words: list[str] = []
        monkeypatch.setattr("getpass.getpass", lambda prompt: words.pop(0))
        return words

    def test_a_new_one_gets_a_password_and_a_role(self, typed: list[str]) -> None:
        typed += ["correct horse battery"] * 2
        assert run("register_person", "wei", "operator", name="王 伟") == "wei is operator.\n"
        user = User.objects.get(username="wei")
        assert user.check_password("correct horse battery")
        assert user.has_perm("switching.request_switch")
        assert (user.first_name, user.last_name) == ("王", "伟")

    def test_an_existing_one_gets_another_role_and_is_asked_nothing(self, typed: list[str]) -> None:
        typed += ["correct horse battery"] * 2
        run("register_person", "wei", "operator", name="王 伟")
        run("register_person", "wei", "approver")
        user = User.objects.get(username="wei")
        assert user.has_perm("switching.decide_switch")
        assert not user.has_perm("switching.request_switch")
        assert user.check_password("correct horse battery")
        assert user.first_name == "王"

    @pytest.mark.parametrize(
        ("words", "why"),
        [
            (["short", "short"], "too short"),
            (["correct horse battery", "another"], "The two passwords differ"),
        ],
    )
    def test_a_password_that_will_not_do(self, typed: list[str], words: list[str], why: str) -> None:
        typed += words
        with pytest.raises(CommandError, match=why):
            run("register_person", "wei", "operator")
        assert not User.objects.exists()
