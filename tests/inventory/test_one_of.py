"""Rows are asked for by very many names at once, as one parameter."""

from __future__ import annotations

import pytest

from hadash.inventory.models import AppID, Cluster, InstanceID, Pair

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def pair() -> Pair:
    east, west = Cluster.objects.create(name="east", number=1), Cluster.objects.create(name="west", number=2)
    found = Pair.objects.create(name="main", first=east, second=west, default=east)
    for name in ("shop", "商店", "o'neill", "a,b", '"quoted"', "{brace}", "back\\slash", "100%"):
        InstanceID.objects.create(appid=AppID.objects.create(pair=found, name=name), name="1")
    return found


@pytest.mark.parametrize(
    "name", ["shop", "商店", "o'neill", "a,b", '"quoted"', "{brace}", "back\\slash", "100%"]
)
def test_a_name_is_found_whatever_is_in_it(pair: Pair, name: str) -> None:
    found = AppID.objects.filter(name__one_of={name, "nobody"})
    assert [row.name for row in found] == [name]


def test_no_names_find_nothing(pair: Pair) -> None:
    assert not AppID.objects.filter(name__one_of=[]).exists()


def test_more_names_than_a_question_has_parameters(pair: Pair) -> None:
    names = ["shop", *(f"nobody-{number}" for number in range(70_000))]
    assert [row.name for row in AppID.objects.filter(name__one_of=names)] == ["shop"]


def test_of_what_a_row_belongs_to_and_all_but_those(pair: Pair) -> None:
    assert InstanceID.objects.get(appid__name__one_of=["shop"]).appid.name == "shop"
    assert InstanceID.objects.exclude(appid__name__one_of=["shop"]).count() == 7
