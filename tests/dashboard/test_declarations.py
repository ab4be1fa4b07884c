"""What is declared beside what was seen: on an AppID's page, on the page of a pair, and as a file."""

from __future__ import annotations

import json
import re
from html import unescape
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from support.html import squeezed

from dashboard.parts import NASTY, PASSWORD, cluster, signed_in
from hadash.accounts.roles import ensure_user
from hadash.audit.models import Entry
from hadash.inventory import declarations
from hadash.inventory.models import AppID, Declaration, InstanceID, Pair
from hadash.inventory.relations import Relation
from hadash.inventory.relations_csv import COLUMNS, parse
from hadash.inventory.selectors import declared
from hadash.presentation.declared import SHOWN

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

HEAD = ",".join(COLUMNS) + "\n"


@pytest.fixture
def shop(fleet: SimpleNamespace, engines: Any) -> AppID:
    return fleet.shop


@pytest.fixture
def pair(shop: AppID) -> Pair:
    return shop.pair


def address_of(name: str, appid: AppID) -> str:
    return reverse(name, args=[appid.pk])


def key(client_id: str, kind: str, resource: str) -> str:
    return json.dumps([client_id, kind, resource], ensure_ascii=False)


def send(client: Client, pair: Pair, text: str | bytes, **more: str) -> Any:
    content = text if isinstance(text, bytes) else text.encode()
    file = SimpleUploadedFile("relations.csv", content, "text/csv")
    return client.post(reverse("declarations-import", args=[pair.pk]), {"file": file, **more})


def carried(page: str) -> dict[str, str]:
    """The hidden fields of a preview."""
    found = re.findall(r'<input type="hidden" name="(carried|digest|whole)" value="([^"]*)">', page)
    return {name: unescape(value) for name, value in found}


# -- on an AppID's page --------------------------------------------------------------------------------------------


def test_all_three_groups_are_shown_with_their_numbers(
    as_olga: Client, people: SimpleNamespace, shop: AppID
) -> None:
    declarations.declare(people.olga, shop, "shop-carts", ["carts", "returns"], ["produce"], "<b>n</b>")
    text = as_olga.get(address_of("appid", shop)).content.decode()
    for words, number in (("seen, not declared", 4), ("declared, never seen", 1), ("declared and seen", 1)):
        assert re.search(rf'{words}</span> <span class="quiet">{number}</span>', text), words
    assert "&lt;b&gt;n&lt;/b&gt;" in text and "by hand" in text and "Olga Operator" in text
    assert NASTY not in text


def test_a_relation_is_declared(as_olga: Client, shop: AppID) -> None:
    form = {
        "instance_id": "购物车-2",
        "topics": "orders，carts",
        "produce": "on",
        "groups": "readers",
        "note": "n",
    }
    text = as_olga.post(address_of("declare", shop), form, follow=True).content.decode()
    assert "3 relations are declared. Registered with it: 购物车-2." in text
    assert set(declared(shop.pair)) == {
        Relation("shop", "购物车-2", "produce", "carts"),
        Relation("shop", "购物车-2", "produce", "orders"),
        Relation("shop", "购物车-2", "group", "readers"),
    }
    again = as_olga.post(address_of("declare", shop), form, follow=True).content.decode()
    assert "It was declared already." in again


def test_a_new_instance_id_for_each_topic(as_olga: Client, shop: AppID) -> None:
    form = {"topics": "orders, carts", "consume": "on", "each": "on"}
    text = as_olga.post(address_of("declare", shop), form, follow=True).content.decode()
    assert "Registered with it: shop-carts-2, shop-orders." in text


def test_what_is_refused_keeps_what_was_typed(as_olga: Client, shop: AppID) -> None:
    form = {"instance_id": NASTY, "topics": "订单", "consume": "on", "note": '"quoted"'}
    answer = as_olga.post(address_of("declare", shop), form)
    text = answer.content.decode()
    assert answer.status_code == 409
    assert "Kafka has no Topic of the name “订单”." in text
    assert '<details class="declare" open>' in text
    assert 'value="订单"' in text and 'value="&quot;quoted&quot;"' in text
    assert NASTY not in text
    assert not Declaration.objects.exists()


def test_what_was_seen_is_declared_by_choice(as_olga: Client, shop: AppID) -> None:
    page = unescape(as_olga.get(address_of("appid", shop)).content.decode())
    wanted = [key(NASTY, "consume", "carts"), key("购物车", "group", "readers")]
    assert all(f'value="{value}"' in page for value in wanted)
    nonsense = ["", "[", "3", "[1, 2, 3]", '["a"]', key("never", "consume", "carts")]
    text = as_olga.post(
        address_of("adopt", shop), {"chosen": [*wanted, *nonsense], "of": "client"}, follow=True
    ).content.decode()
    assert "2 relations are declared." in text
    assert InstanceID.objects.filter(appid=shop, name=NASTY).exists()
    assert NASTY not in text


def test_or_all_of_it_of_the_appid_as_a_whole(as_olga: Client, shop: AppID) -> None:
    as_olga.post(address_of("adopt", shop), {"all": "1", "of": "appid"})
    assert set(declared(shop.pair)) == {
        Relation("shop", "", "produce", "carts"),
        Relation("shop", "", "consume", "carts"),
        Relation("shop", "", "group", "readers"),
    }
    assert InstanceID.objects.count() == 2  # as many as before


def test_nothing_was_chosen(as_olga: Client, shop: AppID) -> None:
    answer = as_olga.post(address_of("adopt", shop), {"of": "client"})
    assert answer.status_code == 409
    assert "Nothing of it was seen lately and is not declared. Choose again." in answer.content.decode()


def test_a_declaration_is_withdrawn(as_olga: Client, people: SimpleNamespace, shop: AppID) -> None:
    declarations.declare(people.olga, shop, "", ["orders"], ["produce"])
    address = reverse("withdraw", args=[shop.pk, Declaration.objects.get().pk])
    assert address in as_olga.get(address_of("appid", shop)).content.decode()
    assert "It is not declared any more." in as_olga.post(address, follow=True).content.decode()
    assert not Declaration.objects.exists()
    assert as_olga.post(address)["Location"] == address_of("appid", shop) + "#declared"  # once more
    assert "withdrew the relation" in as_olga.get(reverse("audit")).content.decode()


def test_acts_by_their_addresses_lead_to_the_pages(as_olga: Client, shop: AppID, pair: Pair) -> None:
    for name in ("declare", "adopt"):
        assert as_olga.get(address_of(name, shop))["Location"] == address_of("appid", shop) + "#declared"
    answer = as_olga.get(reverse("declarations-import", args=[pair.pk]))
    assert answer["Location"] == reverse("declarations", args=[pair.pk])


def test_a_character_that_no_database_holds(as_olga: Client, shop: AppID, pair: Pair) -> None:
    for field in ("topics", "groups", "instance_id", "note"):
        form = {"topics": "orders", "produce": "on", field: "a\0b"}
        answer = as_olga.post(address_of("declare", shop), form)
        assert answer.status_code == 409, field
        assert "holds a control character. Remove it." in answer.content.decode()
    assert (
        as_olga.post(address_of("adopt", shop), {"chosen": key("a\0b", "consume", "carts")}).status_code
        == 409
    )
    assert send(as_olga, pair, HEAD + "shop,a\0b,produce,carts,\n").status_code == 409
    fields = {"carried": "YQ==", "digest": "\0"}
    assert as_olga.post(reverse("declarations-import", args=[pair.pk]), fields).status_code == 409
    for name in ("declarations", "declarations-export"):
        assert as_olga.get(reverse(name, args=[pair.pk]), {"q": "\0"}).status_code == 200
    assert not Declaration.objects.exists()


# -- who may -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["vera", "arne"])
def test_everybody_reads_and_only_operators_declare(
    people: SimpleNamespace, shop: AppID, pair: Pair, who: str
) -> None:
    declarations.declare(people.olga, shop, "", ["orders"], ["produce"])
    entries = Entry.objects.count()
    client = signed_in(getattr(people, who))
    page = client.get(address_of("appid", shop)).content.decode()
    assert "declared, never seen" in page
    for action in ("adopt", "declare", "withdraw"):
        assert f"/{action}/" not in page
    assert 'name="chosen"' not in page
    assert "Import a file" not in client.get(reverse("declarations", args=[pair.pk])).content.decode()
    answers = [
        client.post(address_of("declare", shop), {"topics": "carts", "produce": "on"}),
        client.post(address_of("adopt", shop), {"all": "1"}),
        client.post(reverse("withdraw", args=[shop.pk, Declaration.objects.get().pk])),
        client.post(reverse("declarations-import", args=[pair.pk])),
        send(client, pair, HEAD + "shop,,produce,carts,\n"),
    ]
    for answer in answers:
        assert answer.status_code == 403
        assert "You may not declare relations." in answer.content.decode()
        assert "These people may: Olga Operator." in answer.content.decode()
    assert (Declaration.objects.count(), Entry.objects.count()) == (1, entries)


def test_an_operator_of_another_pair_sees_and_changes_nothing(
    people: SimpleNamespace, shop: AppID, pair: Pair
) -> None:
    declarations.declare(people.olga, shop, "", ["orders"], ["produce"])
    north = cluster("north", 3)
    other = Pair.objects.create(name="other", first=north, second=cluster("south", 4), default=north)
    client = signed_in(ensure_user("mara", PASSWORD, "operator", "Mara", other))
    actions = [
        (reverse("declarations-import", args=[pair.pk]), {}),
        (address_of("declare", shop), {"topics": "carts", "produce": "on"}),
        (address_of("adopt", shop), {"all": "1"}),
        (reverse("withdraw", args=[shop.pk, Declaration.objects.get().pk]), {}),
    ]
    for name in ("declarations", "declarations-export"):
        assert client.get(reverse(name, args=[pair.pk])).status_code == 404
        assert client.get(reverse(name, args=[other.pk])).status_code == 200
    for address, form in actions:
        assert client.post(address, form).status_code == 404, address
    assert Declaration.objects.count() == 1
    client = signed_in(ensure_user("mara", PASSWORD, "operator", "Mara", pair))
    text = client.post(address_of("adopt", shop), {"all": "1"}, follow=True).content.decode()
    assert "5 relations are declared." in text


# -- on the page of a pair -----------------------------------------------------------------------------------------


def test_it_is_found_from_the_overview_and_from_an_appid(as_vera: Client, shop: AppID, pair: Pair) -> None:
    address = reverse("declarations", args=[pair.pk])
    assert address in as_vera.get(reverse("overview")).content.decode()
    assert f"{address}?q=shop" in as_vera.get(address_of("appid", shop)).content.decode()


def test_filters(as_vera: Client, people: SimpleNamespace, shop: AppID, pair: Pair) -> None:
    crm = AppID.objects.create(name="crm", pair=pair)
    declarations.declare(people.olga, crm, "", ["people"], ["consume"])
    address = reverse("declarations", args=[pair.pk])

    def shown(**query: str) -> list[str]:
        text = squeezed(as_vera.get(address, query).content.decode())
        return re.findall(r'<a class="row"[^>]*><b>(\w+)</b></a></td>', text)

    assert shown() == ["crm"] + ["shop"] * 5
    assert shown(q="CR") == ["crm"]
    assert shown(state="undeclared") == ["shop"] * 5
    assert shown(q="crm", state="undeclared") == []
    assert shown(state="nonsense") == shown()
    assert "No relation fits." in as_vera.get(address, {"q": NASTY}).content.decode()


def test_pages(as_vera: Client, people: SimpleNamespace, shop: AppID, pair: Pair) -> None:
    declarations.declare(people.olga, shop, "", [f"topic-{n:03}" for n in range(60)], ["consume"])
    address = reverse("declarations", args=[pair.pk])
    first = as_vera.get(address, {"state": "unseen"}).content.decode()
    assert "60 rows" in first and "page 1 of 2" in first and "?state=unseen&amp;page=2" in first
    second = as_vera.get(address, {"state": "unseen", "page": "2"}).content.decode()
    assert "topic-059" in second and "topic-000" not in second


def test_an_appids_page_shows_the_first_of_many(
    as_vera: Client, people: SimpleNamespace, shop: AppID
) -> None:
    declarations.declare(people.olga, shop, "", [f"topic-{n:03}" for n in range(120)], ["consume"])
    text = as_vera.get(address_of("appid", shop)).content.decode()
    assert f"{SHOWN} of 120 are shown." in text
    assert f"topic-{SHOWN - 1:03}" in text and f"topic-{SHOWN:03}" not in text


# -- files ---------------------------------------------------------------------------------------------------------


def test_a_file_is_looked_at_and_then_imported(as_olga: Client, pair: Pair) -> None:
    file = HEAD + "shop,购物车,consume,carts,<i>note</i>\nshop,new,group,readers,\n"
    preview = send(as_olga, pair, file)
    text = preview.content.decode()
    assert preview.status_code == 200
    assert "Newly declared" in text and "&lt;i&gt;note&lt;/i&gt;" in text
    assert "1 InstanceID is registered with it:" in text
    assert not Declaration.objects.exists()
    answer = as_olga.post(reverse("declarations-import", args=[pair.pk]), carried(text), follow=True)
    assert (
        "The file is imported. 2 newly declared, 0 with another note, 0 withdrawn." in answer.content.decode()
    )
    assert Declaration.objects.count() == 2
    assert "The file changes nothing." in send(as_olga, pair, file).content.decode()


def test_what_the_file_leaves_out_is_withdrawn_by_choice(
    as_olga: Client, people: SimpleNamespace, shop: AppID, pair: Pair
) -> None:
    declarations.declare(people.olga, shop, "", ["orders"], ["produce"])
    text = send(as_olga, pair, HEAD + "shop,,produce,carts,\n", whole="on").content.decode()
    assert "Withdrawn" in text
    as_olga.post(reverse("declarations-import", args=[pair.pk]), carried(text))
    assert set(declared(pair)) == {Relation("shop", "", "produce", "carts")}


def test_what_was_changed_since_the_preview_is_shown_again(
    as_olga: Client, people: SimpleNamespace, shop: AppID, pair: Pair
) -> None:
    fields = carried(send(as_olga, pair, HEAD + "shop,,produce,carts,mine\n").content.decode())
    declarations.declare(people.olga, shop, "", ["carts"], ["produce"], "theirs")
    answer = as_olga.post(reverse("declarations-import", args=[pair.pk]), fields)
    text = answer.content.decode()
    assert answer.status_code == 409
    assert "Somebody has changed what is declared since you looked." in text
    assert "With another note" in text
    assert set(declared(pair).values()) == {"theirs"}
    as_olga.post(reverse("declarations-import", args=[pair.pk]), carried(text))
    assert set(declared(pair).values()) == {"mine"}


def test_every_line_that_is_wrong_is_told(as_olga: Client, pair: Pair) -> None:
    answer = send(
        as_olga, pair, HEAD + f"{NASTY},,produce,carts,\nshop,,writes,carts,\nshop,,produce,carts,\n"
    )
    text = answer.content.decode()
    assert answer.status_code == 409
    assert "Nothing was imported: 2 lines have to be put right." in text
    assert "<b>Line 2</b> AppID “&lt;script&gt;" in text
    assert "<b>Line 3</b> “writes” is no kind of use. Write produce, consume or group." in text
    assert not Declaration.objects.exists()


def test_a_line_is_told_in_chinese(people: SimpleNamespace, pair: Pair) -> None:
    text = send(signed_in(people.olga, "zh-hans"), pair, HEAD + "shop,,writes,carts,\n").content.decode()
    assert "<b>第 2 行</b> “writes”不是有效的类型。请填写 produce、consume 或 group。" in text


@pytest.mark.parametrize("fields", [{}, {"carried": "%%%", "digest": "x"}, {"carried": "", "digest": "x"}])
def test_no_file(as_olga: Client, pair: Pair, fields: dict[str, str]) -> None:
    answer = as_olga.post(reverse("declarations-import", args=[pair.pk]), fields)
    assert answer.status_code == 409
    assert "Choose a file." in answer.content.decode()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "The file is empty."),
        (b"\xff\xfe", "not in UTF-8"),
        (b"x" * 2_000_000, "larger than 1000000 bytes"),
    ],
)
def test_what_is_no_such_file(as_olga: Client, pair: Pair, content: bytes, why: str) -> None:
    answer = send(as_olga, pair, content)
    assert answer.status_code == 409
    assert why in answer.content.decode()


def test_the_export_can_be_imported(
    as_vera: Client, as_olga: Client, people: SimpleNamespace, shop: AppID, pair: Pair
) -> None:
    declarations.declare(people.olga, shop, "购物车", ["carts"], ["consume"], '=1+1, "x"')
    answer = as_vera.get(reverse("declarations-export", args=[pair.pk]))
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert 'filename="hadash-relations-main-' in answer["Content-Disposition"]
    assert parse(answer.content, {"shop"}).relations == declared(pair)
    assert "The file changes nothing." in send(as_olga, pair, answer.content, whole="on").content.decode()


def test_so_can_what_was_only_seen(as_olga: Client, shop: AppID, pair: Pair) -> None:
    """The work list of those who declare: filtered on the page, put right in a spreadsheet, imported."""
    query = {"state": "undeclared", "q": "shop"}
    file = as_olga.get(reverse("declarations-export", args=[pair.pk]), query).content
    as_olga.post(
        reverse("declarations-import", args=[pair.pk]), carried(send(as_olga, pair, file).content.decode())
    )
    assert "No relation fits." in as_olga.get(reverse("declarations", args=[pair.pk]), query).content.decode()
