"""A session whose machine is gone ends, with what it has locked."""

from __future__ import annotations

import pytest
from django.db import connection

from hadash.postgresql import ending_in_silence


def test_both_sides_give_up_after_the_same_time() -> None:
    options = ending_in_silence({}, 20)
    assert options["keepalives_idle"] + 3 * options["keepalives_interval"] == 19
    assert options["tcp_user_timeout"] == 20_000
    assert (
        "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=3 -c tcp_keepalives_count=3"
        in options["options"]
    )


def test_what_the_address_says_goes_before() -> None:
    options = ending_in_silence(
        {"keepalives_idle": 90, "sslmode": "require", "options": "-c search_path=hadash"}, 20
    )
    assert (options["keepalives_idle"], options["sslmode"]) == (90, "require")
    assert options["options"].endswith(" -c search_path=hadash")


@pytest.mark.stack
@pytest.mark.django_db
def test_the_server_looks_for_those_that_are_silent() -> None:
    """Linux alone would wait for two hours, and as long no other worker would look after switches
    (``tasks.single``).
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, setting FROM pg_settings WHERE name LIKE 'tcp_%%'")
        found = dict(cursor.fetchall())
    assert found == {
        "tcp_keepalives_idle": "10",
        "tcp_keepalives_interval": "3",
        "tcp_keepalives_count": "3",
        "tcp_user_timeout": "20000",
    }
