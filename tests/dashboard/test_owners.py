"""Whose AppIDs are: said one by one, or read from a file; and "Coverage by owner" reaches who was named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from hadash.audit.models import Entry
from hadash.governance import owners
from hadash.governance.owners import OwnerRefused, owners_of
from hadash.inventory.models import AppID

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def owner_of(appid: AppID) -> str:
    return AppID.objects.get(pk=appid.pk).owner


class TestSaying:
    def test_it_is_kept_without_blanks_around_it_and_stands_in_the_audit_log(
        self, people: SimpleNamespace, fleet: SimpleNamespace
    ) -> None:
        for _ in range(2):  # a double click
            owners.set_owner(people.olga, fleet.shop, "  交易  平台 ")
        assert owner_of(fleet.shop) == "交易 平台"
        (entry,) = Entry.objects.filter(verb="owner said")
        assert (entry.subject, entry.details["owner"]) == ("AppID shop of pair main", "交易 平台")

    def test_who_may_not_changes_nothing(self, people: SimpleNamespace, fleet: SimpleNamespace) -> None:
        before = owner_of(fleet.shop)
        with pytest.raises(PermissionDenied):
            owners.set_owner(people.vera, fleet.shop, "Trade")
        assert owner_of(fleet.shop) == before

    @pytest.mark.parametrize("name", ["x" * 201, "bell \a"])
    def test_what_is_no_name_is_refused(
        self, people: SimpleNamespace, fleet: SimpleNamespace, name: str
    ) -> None:
        with pytest.raises(OwnerRefused):
            owners.set_owner(people.olga, fleet.shop, name)


class TestFiles:
    def test_what_it_names_is_changed_and_all_else_stays(
        self, people: SimpleNamespace, fleet: SimpleNamespace
    ) -> None:
        AppID.objects.create(pair=fleet.pair, name="billing", owner="Finance")
        content = (
            "pair,appid,owner,critical\nmain,shop,交易,yes\nmain,nobody,Trade,no\nelsewhere,shop,Trade,\n"
        )
        done = owners.import_owners(people.olga, content.encode("utf-8-sig"))
        assert (done.changed, done.same, done.left_out) == (1, 0, 2)
        assert done.unknown == ("elsewhere › shop", "main › nobody")
        assert owner_of(fleet.shop) == "交易"
        assert AppID.objects.get(name="billing").owner == "Finance"
        again = owners.import_owners(people.olga, content.encode())
        assert (again.changed, again.same) == (0, 1)
        assert Entry.objects.filter(verb="owners imported").count() == 1

    def test_the_export_of_all_appids_can_be_read_again(
        self, as_olga: Client, people: SimpleNamespace, fleet: SimpleNamespace, engines: Any
    ) -> None:
        answer = as_olga.get(reverse("appids") + "?format=csv")
        exported = b"".join(answer.streaming_content)  # type: ignore[arg-type]
        assert owners.import_owners(people.olga, exported).changed == 0

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "Choose a file"),
            (b"\n", "lacks the columns pair, appid, owner"),
            (b"appid,owner\nshop,Trade\n", "lacks the columns pair"),
            (b"pair,appid,owner\nmain,,Trade\n", "Line 2: a pair and an AppID are needed"),
            (b"pair,appid,owner\nmain,shop," + b"x" * 201, "Line 2: an owner is a name of at most 200"),
            (b"pair,appid,owner\nmain,shop,A\nmain,shop,B\n", "Line 3: shop of pair main has another owner"),
            (b"\xff\xfe\x00pair", "neither UTF-8 nor GB18030"),
            (b"pair,appid,owner\n" + b'main,"' + b"x" * 200_000, "This is no CSV"),
        ],
    )
    def test_what_is_wrong_is_said_with_its_line_and_nothing_is_changed(
        self, people: SimpleNamespace, fleet: SimpleNamespace, content: bytes, said: str
    ) -> None:
        before = owner_of(fleet.shop)
        with pytest.raises(OwnerRefused, match=said):
            owners.import_owners(people.olga, content)
        assert owner_of(fleet.shop) == before

    def test_a_short_line_says_nobodys(self) -> None:
        assert owners_of(b"pair,appid,owner\nmain,shop\n\n") == {("main", "shop"): ""}


class TestPages:
    def test_it_is_said_on_the_page_of_the_appid(
        self, as_olga: Client, as_vera: Client, fleet: SimpleNamespace, engines: Any
    ) -> None:
        address = reverse("set-owner", args=[fleet.shop.pk])
        assert as_olga.post(address, {"owner": "Trade"}).status_code == 302
        text = as_vera.get(reverse("appid", args=[fleet.shop.pk])).content.decode()
        assert "Owner: Trade" in text and address not in text
        refused = as_olga.post(address, {"owner": "x" * 201})
        assert refused.status_code == 409
        assert "at most 200 characters" in refused.content.decode() and "x" * 201 in refused.content.decode()

    def test_a_file_is_read_from_the_list(
        self, as_olga: Client, as_vera: Client, fleet: SimpleNamespace, engines: Any
    ) -> None:
        address = reverse("import-owners")

        def sent(client: Client, content: bytes) -> Any:
            return client.post(address, {"file": SimpleUploadedFile("owners.csv", content)}, follow=True)

        said = sent(as_olga, b"pair,appid,owner\nmain,shop,Trade\nmain,nobody,Trade\n").content.decode()
        assert "1 AppID has another owner now" in said and "main › nobody" in said
        wrong = sent(as_olga, b"nothing")
        assert wrong.status_code == 409 and "lacks the columns" in wrong.content.decode()
        assert as_olga.post(address).status_code == 409
        assert sent(as_vera, b"pair,appid,owner\n").status_code == 403
        assert 'id="owners"' not in as_vera.get(reverse("appids")).content.decode()

    def test_programs_say_it_too(self, as_olga: Client, fleet: SimpleNamespace, engines: Any) -> None:
        address = f"/api/v1/appids/{fleet.shop.pk}/"
        answer = as_olga.patch(address, {"owner": "Trade"}, "application/json", HTTP_IDEMPOTENCY_KEY="k1")
        assert (answer.status_code, answer.json()["owner"]) == (200, "Trade")
        assert as_olga.patch(address, {}, "application/json", HTTP_IDEMPOTENCY_KEY="k2").status_code == 400
