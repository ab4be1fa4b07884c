"""What is said of a cluster that is registered again."""

from __future__ import annotations

from hadash.inventory.changed_fields import sentences

HIDDEN = {"mirror_password", "tls_ca"}
BEFORE = {"bootstrap_servers": "a:9092", "mirror_password": "first", "tls_ca": "PEM", "zookeeper_hosts": ""}


def said(after: dict[str, str], given: set[str]) -> list[str]:
    return list(sentences(BEFORE, BEFORE | after, given, HIDDEN))


def test_nothing_is_said_when_the_file_names_what_is_there() -> None:
    assert said({}, set(BEFORE)) == []


def test_a_change_is_said_before_and_after_and_a_secret_never() -> None:
    changes = {"bootstrap_servers": "b:9092", "mirror_password": "second", "zookeeper_hosts": "z:2181"}
    assert said(changes, set(BEFORE)) == [
        "bootstrap_servers: a:9092 → b:9092",
        "mirror_password: changed",
        "zookeeper_hosts: (empty) → z:2181",
    ]


def test_what_the_file_removes_is_said() -> None:
    assert said({"tls_ca": "", "bootstrap_servers": ""}, set(BEFORE)) == [
        "bootstrap_servers: a:9092 → (empty)",
        "tls_ca: removed",
    ]


def test_what_the_file_does_not_name_is_kept_and_said_so() -> None:
    """What was empty and is not named needs no word."""
    (sentence,) = said({}, {"bootstrap_servers"})
    assert sentence.startswith("kept as registered before, because the file does not name it: ")
    assert "mirror_password, tls_ca (" in sentence
    assert "zookeeper_hosts" not in sentence
