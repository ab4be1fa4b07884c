"""Lines for people and JSON for machines, each with its ids."""

from __future__ import annotations

import io
import json
import logging
import logging.config
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hadash.telemetry import ids, logs


@pytest.fixture
def logged() -> Iterator[Callable[[str], io.StringIO]]:
    """A logger of the test's own in a format; what it writes."""
    found = logging.getLogger("hadash.tests.logs")

    def begin(format: str) -> io.StringIO:
        configuration = logs.configuration(format, "INFO")
        handler = logging.StreamHandler(written := io.StringIO())
        formatter = dict(configuration["formatters"][format])
        factory = formatter.pop("()", None)
        if factory is None:
            handler.setFormatter(logging.Formatter(formatter["format"]))
        else:
            handler.setFormatter(logging.config.BaseConfigurator({}).resolve(factory)())
        handler.addFilter(logs.WithIds())
        found.handlers, found.propagate = [handler], False
        return written

    yield begin
    found.handlers, found.propagate = [], True


log = logging.getLogger("hadash.tests.logs")


def test_a_line_ends_with_the_ids_of_what_it_is_about(logged: Callable[[str], io.StringIO]) -> None:
    written = logged(logs.LINE)
    with ids.bound(request="r1", person="olga"):
        log.warning("Topic %s is late", "orders")
    log.warning("nobody's")
    first, second = written.getvalue().splitlines()
    assert first.endswith("WARNING hadash.tests.logs: Topic orders is late [request=r1 person=olga]")
    assert second.endswith("hadash.tests.logs: nobody's")


def test_json_is_one_object_a_line_with_ids_as_fields(logged: Callable[[str], io.StringIO]) -> None:
    written = logged(logs.JSON)
    with ids.bound(task="t1", switch="sw-1", stage="block"):
        log.info("阻塞 %s\nzweite", "订单", extra={"fields": {"seconds": 0.5}})
    (line,) = written.getvalue().splitlines()
    found: dict[str, Any] = json.loads(line)
    assert found["time"].endswith("Z")
    del found["time"], found["process"]
    assert found == {
        "level": "INFO", "logger": "hadash.tests.logs", "message": "阻塞 订单\nzweite",
        "task": "t1", "switch": "sw-1", "stage": "block", "seconds": 0.5,
    }  # fmt: skip
    assert "订单" in line


def test_a_traceback_is_one_text(logged: Callable[[str], io.StringIO]) -> None:
    written = logged(logs.JSON)
    try:
        raise ValueError("wrong")
    except ValueError:
        log.exception("failed")
    (line,) = written.getvalue().splitlines()
    found = json.loads(line)
    assert found["message"] == "failed"
    assert found["exception"].startswith("Traceback") and found["exception"].endswith("ValueError: wrong")


def test_ids_of_unknown_things_are_a_mistake() -> None:
    with pytest.raises(KeyError, match="no ids of customer"), ids.bound(customer="c1"):
        pass


@pytest.mark.parametrize(
    ("format", "level", "says"),
    [
        ("xml", "INFO", "HADASH_LOG_FORMAT='xml': choose line or json"),
        ("json", "LOUD", "HADASH_LOG_LEVEL='LOUD': choose DEBUG"),
    ],
)
def test_wrong_settings_are_named(format: str, level: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        logs.configuration(format, level)


@pytest.mark.parametrize("sent", ["", "two\nlines", 'x" , "person": "olga', "a" * 101, "-x", "été"])
def test_an_id_that_could_pass_for_something_else_is_replaced(sent: str) -> None:
    assert ids.new_request_id(sent) != sent
