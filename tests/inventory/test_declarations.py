"""Declaring: by hand, from what was seen, from a file. Everything or nothing, and never without an entry in
the audit log.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied

from hadash.audit.models import Entry
from hadash.inventory import declarations
from hadash.inventory.declarations import NotDeclared
from hadash.inventory.models import AppID, Cluster, Declaration, InstanceID, Pair
from hadash.inventory.relations import Relation
from hadash.inventory.relations_csv import written
from hadash.inventory.selectors import declared

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

WRITES = Relation("shop", "web-1", "produce", "orders")
READS = Relation("shop", "web-1", "consume", "orders")


def told() -> list[tuple[str, str, dict[str, Any]]]:
    """What the audit log says, oldest first."""
    return [(entry.verb, entry.subject, entry.details) for entry in Entry.objects.order_by("number")]


class TestByHand:
    def test_one_instance_id_for_several_topics(self, olga: User, shop: AppID) -> None:
        done = declarations.declare(
            olga,
            shop,
            "web-1",
            ["orders", "carts"],
            ["produce", "consume"],
            " for\nChen ",
            groups=["readers"],
        )
        assert len(done.added) == 5
        assert done.registered == ("web-1",)
        assert set(declared(shop.pair).values()) == {"for Chen"}
        row = Declaration.objects.get(kind="group")
        assert (row.resource, row.source, row.declared_by) == ("readers", "hand", olga)
        assert InstanceID.objects.get().name == "web-1"

    def test_or_a_new_instance_id_for_each_topic(self, olga: User, shop: AppID, see: Any) -> None:
        see("shop", "shop-carts", "consume", "people")  # somebody is called so already
        done = declarations.declare(olga, shop, "", ["orders", "carts"], ["produce", "consume"], each=True)
        assert sorted(done.registered) == ["shop-carts-2", "shop-orders"]
        assert set(done.added) == {
            Relation("shop", name, kind, topic)
            for name, topic in (("shop-orders", "orders"), ("shop-carts-2", "carts"))
            for kind in ("produce", "consume")
        }

    def test_the_appid_as_a_whole_registers_nobody(self, olga: User, shop: AppID) -> None:
        assert declarations.declare(olga, shop, "", ["orders"], ["produce"]).registered == ()
        assert not InstanceID.objects.exists()

    def test_what_is_declared_already_stays_with_the_new_note(self, olga: User, shop: AppID) -> None:
        declarations.declare(olga, shop, "web-1", ["orders"], ["produce"], "old")
        again = declarations.declare(olga, shop, "web-1", ["orders"], ["produce"])
        assert (again.added, again.registered) == ((), ())
        assert declared(shop.pair) == {WRITES: "old"}
        assert len(told()) == 1
        declarations.declare(olga, shop, "web-1", ["orders"], ["produce"], "new")
        assert declared(shop.pair) == {WRITES: "new"}
        assert told()[-1][2]["noted"] == ["shop › web-1 produce orders"]

    def test_it_is_recorded(self, olga: User, shop: AppID) -> None:
        declarations.declare(olga, shop, "web-1", ["orders"], ["produce"], "why", "10.0.0.1")
        assert told() == [
            (
                "declare",
                "AppID shop",
                {
                    "source": "hand",
                    "note": "why",
                    "added": ["shop › web-1 produce orders"],
                    "registered": ["web-1"],
                },
            )
        ]
        assert Entry.objects.get().address == "10.0.0.1"

    @pytest.mark.parametrize(
        ("values", "why"),
        [
            ({"topics": [], "kinds": ["produce"]}, "Say which Topics it writes or reads"),
            ({"topics": ["orders"], "kinds": []}, "Say which Topics it writes or reads"),
            ({"topics": ["订单"], "kinds": ["produce", "consume"]}, "Kafka has no Topic of the name “订单”."),
            ({"topics": ["a", "b"], "kinds": ["produce"], "instance_id": "x" * 201}, "Shorten it to 200."),
            ({"topics": ["a"], "kinds": ["produce"], "each": True, "groups": ["g"]}, "Leave them out."),
            ({"topics": ["a"], "kinds": ["produce"], "each": True, "instance_id": "x"}, "Leave them out."),
        ],
    )
    def test_what_is_wrong_is_said_once_and_nothing_is_declared(
        self, olga: User, shop: AppID, values: dict[str, Any], why: str
    ) -> None:
        with pytest.raises(NotDeclared) as refusal:
            declarations.declare(olga, shop, **{"instance_id": "", **values})
        assert len(refusal.value.reasons) == 1
        assert why in str(refusal.value)
        assert not Declaration.objects.exists()
        assert told() == []


class TestFromWhatWasSeen:
    def test_all_of_it(self, olga: User, shop: AppID, see: Any) -> None:
        see("shop", "web-1", "produce", "orders")
        see("shop", "web-1", "produce", "orders", on="west")
        see("shop", "web-1", "consume", "orders", days=30)  # too long ago
        see("crm", "sync", "consume", "orders")
        done = declarations.adopt(olga, shop)
        assert (done.added, done.registered, done.left) == ((WRITES,), ("web-1",), ())
        assert Declaration.objects.get().source == "access"

    def test_or_what_was_chosen(self, olga: User, shop: AppID, see: Any) -> None:
        see("shop", "web-1", "produce", "orders")
        see("shop", "web-1", "consume", "orders")
        unseen = Relation("shop", "web-9", "produce", "orders")
        assert declarations.adopt(olga, shop, [READS, unseen]).added == (READS,)

    def test_of_the_appid_as_a_whole(self, olga: User, shop: AppID, see: Any) -> None:
        """For clients whose names change at each start."""
        for number in range(3):
            see("shop", f"pod-{number}", "produce", "orders")
        done = declarations.adopt(olga, shop, whole=True)
        assert (done.added, done.registered) == ((WRITES.whole,), ())

    def test_what_cannot_be_declared_is_left_and_said(self, olga: User, shop: AppID, see: Any) -> None:
        see("shop", "web-1", "produce", "orders")
        see("shop", "a\tb", "produce", "orders")
        done = declarations.adopt(olga, shop)
        assert done.added == (WRITES,)
        assert [str(reason) for reason in done.left] == ["“'a\\tb'” holds a control character. Remove it."]

    def test_nothing_is_left_to_declare(self, olga: User, shop: AppID, see: Any) -> None:
        see("shop", "web-1", "produce", "orders")
        declarations.adopt(olga, shop)
        with pytest.raises(NotDeclared, match="Nothing of it was seen lately and is not declared"):
            declarations.adopt(olga, shop, [WRITES])


def test_withdrawing(olga: User, shop: AppID) -> None:
    declarations.declare(olga, shop, "web-1", ["orders"], ["produce"], "old")
    number = Declaration.objects.get().pk
    declarations.withdraw(olga, shop, number)
    declarations.withdraw(olga, shop, number)  # somebody else was quicker
    assert declared(shop.pair) == {}
    assert InstanceID.objects.exists()
    assert told()[1:] == [("withdraw", "shop › web-1 produce orders", {"note": "old"})]


def test_withdrawing_what_is_another_appids(olga: User, shop: AppID, crm: AppID) -> None:
    declarations.declare(olga, shop, "", ["orders"], ["produce"])
    declarations.withdraw(olga, crm, Declaration.objects.get().pk)
    assert Declaration.objects.exists()


class TestFromAFile:
    FILE = written({WRITES: "web", READS: "", Relation("crm", "", "group", "nightly"): ""}).encode()

    def test_it_is_looked_at_before(self, olga: User, shop: AppID, crm: AppID) -> None:
        preview = declarations.import_csv(olga, shop.pair, self.FILE)
        assert len(preview.changes.added) == 3
        assert preview.registers == (("shop", "web-1"),)
        assert not preview.done
        assert not Declaration.objects.exists()

    def test_what_was_looked_at_is_imported(self, olga: User, shop: AppID, crm: AppID) -> None:
        preview = declarations.import_csv(olga, shop.pair, self.FILE)
        done = declarations.import_csv(
            olga, shop.pair, self.FILE, dry_run=False, expected=preview.digest, address="10.0.0.1"
        )
        assert done.done
        assert declared(shop.pair) == preview.relations
        assert {row.source for row in Declaration.objects.all()} == {"import"}
        [(verb, subject, details)] = told()
        assert (verb, subject) == ("import", "pair main")
        assert (len(details["added"]), details["registered"]) == (3, ["web-1"])

    def test_what_has_changed_meanwhile_is_looked_at_again(self, olga: User, shop: AppID, crm: AppID) -> None:
        preview = declarations.import_csv(olga, shop.pair, self.FILE)
        declarations.declare(olga, shop, "web-1", ["orders"], ["produce"], "mine")
        again = declarations.import_csv(olga, shop.pair, self.FILE, dry_run=False, expected=preview.digest)
        assert not again.done
        assert again.changes.noted == (WRITES,)
        assert declared(shop.pair) == {WRITES: "mine"}
        assert declarations.import_csv(olga, shop.pair, self.FILE, dry_run=False, expected=again.digest).done

    @pytest.mark.parametrize("whole", [False, True])
    def test_another_file_or_another_choice_is_not_what_was_looked_at(
        self, olga: User, shop: AppID, crm: AppID, whole: bool
    ) -> None:
        digest = declarations.import_csv(olga, shop.pair, self.FILE).digest
        file = self.FILE if whole else self.FILE + b"shop,web-2,produce,orders,\r\n"
        found = declarations.import_csv(olga, shop.pair, file, whole=whole, dry_run=False, expected=digest)
        assert not found.done
        assert not Declaration.objects.exists()

    def test_the_whole_truth_of_the_appids_that_it_names(self, olga: User, shop: AppID, crm: AppID) -> None:
        declarations.declare(olga, shop, "web-2", ["orders"], ["produce"])
        declarations.declare(olga, crm, "sync", ["people"], ["consume"])
        file = written({WRITES: ""}).encode()
        preview = declarations.import_csv(olga, shop.pair, file, whole=True)
        declarations.import_csv(olga, shop.pair, file, whole=True, dry_run=False, expected=preview.digest)
        assert set(declared(shop.pair)) == {WRITES, Relation("crm", "sync", "consume", "people")}

    def test_what_was_exported_changes_nothing(self, olga: User, shop: AppID, crm: AppID) -> None:
        preview = declarations.import_csv(olga, shop.pair, self.FILE)
        declarations.import_csv(olga, shop.pair, self.FILE, dry_run=False, expected=preview.digest)
        exported = written(declared(shop.pair)).encode("utf-8-sig")
        again = declarations.import_csv(olga, shop.pair, exported, whole=True)
        assert not again.changes
        assert again.changes.same == 3
        declarations.import_csv(olga, shop.pair, exported, whole=True, dry_run=False, expected=again.digest)
        assert len(told()) == 1

    def test_a_line_that_is_wrong_keeps_all_others_out(self, olga: User, shop: AppID) -> None:
        found = declarations.import_csv(olga, shop.pair, self.FILE)
        assert [fault.line for fault in found.faults] == [4]
        assert "AppID “crm” is not in this pair." in str(found.faults[0].sentence)
        for expected in ("", found.digest):
            assert not declarations.import_csv(
                olga, shop.pair, self.FILE, dry_run=False, expected=expected
            ).done
        assert not Declaration.objects.exists()

    def test_an_appid_of_another_pair_is_unknown(self, olga: User, pair: Pair, shop: AppID) -> None:
        north, south = (
            Cluster.objects.create(name=name, number=n) for n, name in ((3, "north"), (4, "south"))
        )
        other = Pair.objects.create(name="other", first=north, second=south, default=north)
        AppID.objects.create(name="crm", pair=other)
        assert declarations.import_csv(olga, pair, self.FILE).faults


def test_who_may_not_changes_nothing(vera: User, olga: User, shop: AppID, see: Any) -> None:
    see("shop", "web-1", "consume", "orders")
    declarations.declare(olga, shop, "web-1", ["orders"], ["produce"])
    before = told()
    number = Declaration.objects.get().pk
    for action in (
        lambda: declarations.declare(vera, shop, "", ["carts"], ["produce"]),
        lambda: declarations.adopt(vera, shop),
        lambda: declarations.withdraw(vera, shop, number),
        lambda: declarations.import_csv(vera, shop.pair, TestFromAFile.FILE),
    ):
        with pytest.raises(PermissionDenied, match=r"You may not declare relations\."):
            action()
    assert set(declared(shop.pair)) == {WRITES}
    assert told() == before
