"""``hadash-manage create_user``: one password on both of a pair's real clusters."""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ScramMechanism, UserScramCredentialDeletion
from django.core.management import CommandError, call_command
from support.environment import Cluster
from support.kafka import Clusters
from support.waiting import eventually

from hadash.audit.models import Entry
from hadash.inventory.models import Pair
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.errors import ClusterUnavailable

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def pair(stack_pair: Pair) -> Pair:
    return stack_pair


@pytest.fixture
def appid(kafka: Clusters) -> Iterator[str]:
    """A name that nobody has; whatever the test makes of it goes away again."""
    name = f"t{uuid.uuid4().hex[:10]}"
    yield name
    for cluster in kafka.described:
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            wanted = UserScramCredentialDeletion(name, mechanism)
            for future in kafka.admin(cluster).alter_user_scram_credentials([wanted]).values():
                future.exception(timeout=15)  # (there may be none)


def create(*arguments: str) -> str:
    out = io.StringIO()
    call_command("create_user", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue().strip()


def signs_in(cluster: Cluster, user: str, password: str) -> bool:
    config: dict[str, Any] = cluster.client_config(user, password, "SCRAM-SHA-512")
    try:
        AdminClient(config).list_topics(timeout=2)
    except KafkaException:
        return False
    return True


def test_it_signs_in_to_both_and_the_audit_log_has_no_password(
    pair: Pair, appid: str, clusters: dict[str, Cluster]
) -> None:
    secret = create("main", appid, "--generate")
    for cluster in clusters.values():
        assert eventually(lambda cluster=cluster: signs_in(cluster, appid, secret), "the sign-in")
        assert not signs_in(cluster, appid, "another")
    entry = Entry.objects.get()
    assert (entry.actor, entry.verb, entry.subject) == (None, "user password set", f"user {appid}")
    assert (entry.details["clusters"], entry.details["mechanisms"]) == (["east", "west"], ["SCRAM-SHA-512"])
    assert secret not in str(entry.to_json())


def test_a_password_is_replaced_only_by_who_says_so(
    pair: Pair, appid: str, clusters: dict[str, Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients use it. With --cluster the one that lacks it gets it."""
    asked: list[str] = []
    monkeypatch.setattr("getpass.getpass", lambda prompt: asked.append(prompt) or "as on the other side")
    create("main", appid, "--cluster", "east")
    with pytest.raises(CommandError, match=f"{appid} has a password on east already"):
        create("main", appid)
    assert len(asked) == 2, "nobody types a password for nothing"
    create("main", appid, "--cluster", "west", "--mechanism", "SCRAM-SHA-512")
    assert eventually(lambda: signs_in(clusters["west"], appid, "as on the other side"), "the sign-in")
    secret = create("main", appid, "--replace", "--generate")
    assert eventually(lambda: signs_in(clusters["east"], appid, secret), "the sign-in with the new one")


def test_of_hadash_s_own_accounts_it_keeps_off(pair: Pair) -> None:
    for own in (pair.first.admin_username, pair.second.mirror_username):
        with pytest.raises(CommandError, match=f"{own} is an account of hadash's own"):
            create("main", own, "--generate", "--replace")


def test_nothing_is_half_done_when_a_cluster_does_not_answer(
    pair: Pair, appid: str, kafka: Clusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = ClusterClient.scram_users

    def west_is_away(client: ClusterClient) -> Any:
        if client.name == "west":
            raise ClusterUnavailable("Cluster west does not answer.")
        return read(client)

    monkeypatch.setattr(ClusterClient, "scram_users", west_is_away)
    with pytest.raises(CommandError, match="Cluster west does not answer"):
        create("main", appid, "--generate")
    monkeypatch.undo()
    described = kafka.admin("east").describe_user_scram_credentials([appid])
    assert described[appid].exception(timeout=15) is not None
    assert not Entry.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("nowhere", "x"), "There is no pair nowhere. Registered are: main."),
        (("main", "x", "--cluster", "north"), "has no cluster north: there are east and west"),
        (("main", "a\nb"), "AppID"),
    ],
)
def test_what_is_wrong_is_said(pair: Pair, arguments: tuple[str, ...], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        create(*arguments, "--generate")
