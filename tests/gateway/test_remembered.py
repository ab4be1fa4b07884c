"""The last epoch that was in effect, which a Gateway finds again in its own folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from hadash.gateway import remembered


def test_the_first_start_has_nothing_to_compare(tmp_path: Path) -> None:
    remembered.check(tmp_path / "state", 0)


@pytest.mark.parametrize("known", [7, 8])
def test_zookeeper_knows_as_much_or_more(tmp_path: Path, known: int) -> None:
    remembered.note(tmp_path, 7)
    remembered.check(tmp_path, known)


def test_zookeeper_knows_less(tmp_path: Path) -> None:
    remembered.note(tmp_path, 7)
    with pytest.raises(remembered.Behind, match="its last epoch is 6, and 7 was in effect here"):
        remembered.check(tmp_path, 6)


@pytest.mark.parametrize("content", ["", "seven"])
def test_a_file_that_says_nothing_is_no_first_start(tmp_path: Path, content: str) -> None:
    """After a power cut it may be empty, and ZooKeeper restored to what it was hours ago."""
    (tmp_path / remembered.NAME).write_text(content)
    with pytest.raises(remembered.Behind, match="cannot be read from"):
        remembered.check(tmp_path, 9)


def test_nor_is_one_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / remembered.NAME).mkdir()
    with pytest.raises(remembered.Behind, match="Let the Gateway's user read the file"):
        remembered.check(tmp_path, 9)
