"""Which binding governs a client: the first rule that matches wins (DESIGN section 2, rules 1, 5 and 6)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hadash.bindings.model import Binding, BindingDocument
from hadash.identity.resolve import resolve

PAIR_DEFAULT = Binding("pair-default")
APPID = Binding("appid")
WEB_1 = Binding("web-1")


def document(default: Binding | None = None, **instances: Binding) -> BindingDocument:
    named = {name.replace("_", "-"): binding for name, binding in instances.items()}
    return BindingDocument("shop", default, named)


def test_the_exact_instance_comes_first() -> None:
    assert resolve(document(APPID, web_1=WEB_1), "web-1", PAIR_DEFAULT) is WEB_1


def test_then_the_appid() -> None:
    assert resolve(document(APPID, web_1=WEB_1), "web-2", PAIR_DEFAULT) is APPID


def test_then_the_pair() -> None:
    assert resolve(document(None, web_1=WEB_1), "web-2", PAIR_DEFAULT) is PAIR_DEFAULT
    assert resolve(None, "web-1", PAIR_DEFAULT) is PAIR_DEFAULT


def test_a_client_without_client_id_is_governed_by_its_appid() -> None:
    assert resolve(document(APPID, web_1=WEB_1), "", PAIR_DEFAULT) is APPID


@given(st.text())
def test_an_instance_is_matched_whole_and_by_case(client_id: str) -> None:
    expected = WEB_1 if client_id == "web-1" else APPID
    assert resolve(document(APPID, web_1=WEB_1), client_id, PAIR_DEFAULT) is expected
    for near in ("web-1 ", "WEB-1", "web-", "web-11"):
        assert resolve(document(APPID, web_1=WEB_1), near, PAIR_DEFAULT) is APPID
