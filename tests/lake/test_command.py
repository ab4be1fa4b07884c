"""``python -m hadash.lake``: imports, says what is there, removes what is old."""

from __future__ import annotations

from pathlib import Path

import pytest

from hadash.lake.__main__ import main
from hadash.lake.access import hours
from hadash.lake.batches import look_at
from hadash.lake.store import Store

from .reports import put, report

HEAD = "appid,kind,resource,cluster,last_seen\n"


@pytest.fixture
def lake(tmp_path: Path) -> str:
    return str(tmp_path / "lake")


def test_files_are_imported_and_the_same_again_changes_nothing(
    lake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "访问.csv"
    path.write_text(
        HEAD + "购物,produce,orders,east,2026-11-20T12:30:00Z\n购物,reads,orders,east,2026-11-20\n"
    )
    for _ in range(2):
        assert main(["--lake", lake, "import", "--format", "csv", str(path)]) == 0
        assert capsys.readouterr().out == f"{path}: 1 reports, 1 put aside\n"
    assert look_at(Store(lake), hours(Store(lake))).rows == 1


def test_a_file_that_is_refused_does_not_stop_the_others(
    lake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = tmp_path / "bad.csv", tmp_path / "good.csv"
    bad.write_text("mood\ngood\n")
    good.write_text(HEAD + "shop,produce,orders,east,2026-11-20\n")
    missing = tmp_path / "missing.csv"
    assert main(["--lake", lake, "import", "--format", "csv", str(bad), str(missing), str(good)]) == 1
    said = capsys.readouterr()
    assert said.out == f"{good}: 1 reports\n"
    assert "The first line must name the columns" in said.err
    assert "No such file" in said.err


def test_reports_of_brokers_need_to_be_told_whose_they_are(
    lake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "body.json"
    path.write_text('{"produce": {"orders": ["shop#10.0.0.1:1#3.9.0#web-1#1795177800000"]}}')
    asked = ["--lake", lake, "import", "--format", "survive-user", str(path)]
    assert main(asked) == 2
    assert "needs --pair, --cluster and --broker" in capsys.readouterr().err
    assert main([*asked, "--pair", "main", "--cluster", "east", "--broker", "3"]) == 0


def test_the_status_tells_days_and_what_was_put_aside(
    lake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(lake)
    put(store, "a", report(), report("web-2"))
    store.write_json("access/date=2026-11-20/hour=12/broken.parquet", {})
    path = tmp_path / "a.csv"
    path.write_text(HEAD + "shop,reads,orders,east,2026-11-20\n")
    main(["--lake", lake, "import", "--format", "csv", str(path)])
    capsys.readouterr()
    assert main(["--lake", lake, "status"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "2026-11-20: 1 batches in 1 files, 2 reports (1 cannot be read)"
    assert second.startswith("put aside: 1 parts of csv-")
    assert "kind is 'reads'" in second


def test_old_days_are_removed(lake: str, capsys: pytest.CaptureFixture[str]) -> None:
    put(Store(lake), "a", report())
    assert main(["--lake", lake, "expire", "--days", "1"]) == 0
    assert capsys.readouterr().out == "Removed 0 days.\n"
    with pytest.raises(SystemExit):
        main(["--lake", lake, "expire", "--days", "0"])


def test_a_lake_that_nobody_knows_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--lake", "gopher://lake", "status"]) == 2
    assert "cannot be reached" in capsys.readouterr().err
