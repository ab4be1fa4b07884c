"""``hadash.cli declarations`` against hadash's own API, in this process."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from api.conftest import people
from dashboard.conftest import fleet, quick

from hadash.inventory.models import Declaration
from hadash.inventory.relations import Relation
from hadash.inventory.selectors import declared

from .test_commands import Run, run, transport

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

OF_SHOP = ("--pair", "main", "--appid", "shop")


def test_declared_listed_and_removed(run: Run, fleet: SimpleNamespace) -> None:
    asked = ("--instance", "shop-carts", "--topic", "carts", "--topic", "orders", "--produce", "--group", "g")
    code, text = run("reka", "declarations", "declare", *OF_SHOP, *asked)
    assert code == 0, text
    assert "+ shop › shop-carts produce orders" in text
    assert "It was declared already." in run("reka", "declarations", "declare", *OF_SHOP, *asked)[1]
    code, text = run("vera", "declarations", "list", "--pair", "main", "--state", "unseen")
    assert code == 0
    assert "orders" in text
    assert "readers" not in text, "only seen"
    one = ("--instance", "shop-carts", "--kind", "produce", "--resource", "orders")
    assert run("reka", "declarations", "remove", *OF_SHOP, *one)[0] == 0
    assert Relation("shop", "shop-carts", "produce", "orders") not in declared(fleet.pair)
    assert run("reka", "declarations", "remove", *OF_SHOP, *one)[0] == 1


def test_what_was_seen_of_one_client_is_taken_over(run: Run, fleet: SimpleNamespace) -> None:
    assert run("reka", "declarations", "adopt", *OF_SHOP, "--client", "购物车")[0] == 0
    assert {relation.instance_id for relation in declared(fleet.pair)} == {"购物车"}
    assert run("reka", "declarations", "adopt", *OF_SHOP, "--whole")[0] == 0


def test_a_file_there_and_back(run: Run, fleet: SimpleNamespace, tmp_path: Path) -> None:
    run("reka", "declarations", "declare", *OF_SHOP, "--topic", "orders", "--consume", "--note", "by Chen")
    file = tmp_path / "relations.csv"
    assert run("vera", "declarations", "export", "--pair", "main", str(file))[0] == 0
    file.write_text(file.read_text().replace("orders", "returns"))
    code, text = run("reka", "declarations", "import", "--pair", "main", "--whole", str(file))
    assert code == 0
    assert "+ shop consume returns" in text
    assert "- shop consume orders" in text
    assert "Nothing was changed." in text
    assert Declaration.objects.get().resource == "orders"
    code, text = run("reka", "declarations", "import", "--pair", "main", "--whole", "--apply", str(file))
    assert (code, Declaration.objects.get().resource) == (0, "returns")
    assert "The file is imported." in text


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"appid\nshop\n", 1, "The first line has to be"),
        (b"\xff\xfe\x00", 2, "cannot be read as UTF-8"),
    ],
)
def test_a_file_that_is_none(
    run: Run, fleet: SimpleNamespace, tmp_path: Path, content: bytes, code: int, said: str
) -> None:
    file = tmp_path / "relations.csv"
    file.write_bytes(content)
    found, text = run("reka", "declarations", "import", "--pair", "main", str(file))
    assert (found, said in text) == (code, True), text


def test_an_appid_that_there_is_not(run: Run, fleet: SimpleNamespace) -> None:
    code, text = run("reka", "declarations", "adopt", "--pair", "main", "--appid", "sho")
    assert code == 1
    assert "has no AppID sho" in text
