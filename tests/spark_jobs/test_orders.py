"""What Spark is asked for comes to it as it was, and to nobody else."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from spark.orders import Order, Progress, ProgressFile, Range

ORDER = Order(
    "订单",
    {"bootstrap.servers": "east:9092", "sasl.jaas.config": '… password="secret";'},
    {"bootstrap.servers": "west:9092"},
    [Range(3, (100, 2**60), (0, 7), (150, 5))],
    20,
)


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    ORDER.write(path := tmp_path / "order.json")
    assert Order.read(path) == ORDER
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (path := tmp_path / "order.json").write_text("somebody else's")
    with pytest.raises(FileExistsError):
        ORDER.write(path)
    assert path.read_text() == "somebody else's"


@pytest.mark.parametrize("text", ["", "[]", json.dumps({"topic": "orders"})])
def test_what_is_no_order(tmp_path: Path, text: str) -> None:
    (path := tmp_path / "order.json").write_text(text)
    with pytest.raises((ValueError, KeyError, TypeError)):
        Order.read(path)


def test_progress(tmp_path: Path) -> None:
    file = ProgressFile(tmp_path / "progress.json")
    assert file.read() is None
    file.tell("comparing", 3, 8)
    assert file.read() == Progress("comparing", 3, 8)
