"""What counts as an address."""

from __future__ import annotations

import pytest

from hadash.outbox.addresses import BadAddress, normalised


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("olga@example.org", "olga@example.org"),
        ("  olga@EXAMPLE.org. ", "olga@example.org"),
        ("wei@例子.中国", "wei@xn--fsqu00a.xn--fiqs8s"),
        ("o'brien+kafka@mail.example.org", "o'brien+kafka@mail.example.org"),
    ],
)
def test_addresses_as_servers_understand_them(typed: str, address: str) -> None:
    assert normalised(typed) == address


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "olga",
        "@example.org",
        "olga@",
        "olga@@example.org",
        "小王@example.org",
        "olga@exa mple.org",
        "a@b@c.org\r\nBcc: x@y.org",
        "olga@-.org",
    ],
)
def test_what_is_none_says_why(typed: str) -> None:
    with pytest.raises(BadAddress, match=r"address|letters"):
        normalised(typed)
