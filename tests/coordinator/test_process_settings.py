"""The settings of a coordinator and of a member."""

from __future__ import annotations

from pathlib import Path

import pytest

from hadash.coordinator.process_settings import (
    CoordinatorSettings,
    MemberSettings,
    read_object,
    read_token,
)


def test_a_field_is_a_variable() -> None:
    found = CoordinatorSettings.from_environment(
        {
            "HADASH_COORDINATOR_NAME": "c1",
            "HADASH_COORDINATOR_SETTLE_SECONDS": "1.5",
            "HADASH_MEMBER_NAME": "no",
        }
    )
    assert (found.name, found.settle_seconds) == ("c1", 1.5)
    assert found.check_seconds == CoordinatorSettings().check_seconds


def test_an_empty_variable_counts_as_not_set() -> None:
    assert MemberSettings.from_environment({"HADASH_MEMBER_NAME": " "}).name == MemberSettings().name


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("HTTP_PORT", "many", "HADASH_MEMBER_HTTP_PORT='many' is not a whole number"),
        ("CHECK_SECONDS", "0", "HADASH_MEMBER_CHECK_SECONDS='0' must be more than 0"),
        ("CHECK_SECONDS", "nan", "must be more than 0"),
        ("HTTP_PORT", "-1", "must be 0 or more"),
    ],
)
def test_what_cannot_be_used_is_named(name: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MemberSettings.from_environment({f"HADASH_MEMBER_{name}": text})


def test_any_free_port() -> None:
    assert MemberSettings.from_environment({"HADASH_MEMBER_HTTP_PORT": "0"}).http_port == 0


def test_where_a_coordinator_is_reached() -> None:
    assert CoordinatorSettings(http_host="::", http_advertised_host="fd00::7").url == "http://[fd00::7]:8790"


def test_a_token_has_to_be_a_secret(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with pytest.raises(ValueError, match="X is not set"):
        read_token("", "X")
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        read_token(str(file), "X")
    file.write_text("short\n")
    with pytest.raises(ValueError, match="fewer than 16 characters"):
        read_token(str(file), "X")
    file.write_text("as long as a secret should be\n")
    assert read_token(str(file), "X") == "as long as a secret should be"


def test_an_object_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "consumer.json"
    assert read_object("", "X") == {}
    file.write_text('{"sasl.password": "word"}')
    assert read_object(str(file), "X") == {"sasl.password": "word"}
    file.write_text("[]")
    with pytest.raises(ValueError, match="holds no JSON object"):
        read_object(str(file), "X")
