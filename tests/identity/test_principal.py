"""From a certificate's subject to an AppID, by Kafka's own rules (its SslPrincipalMapperTest is the model)."""

from __future__ import annotations

import pytest

from hadash.identity.principal import BadRules, NoRule, PrincipalMapper

RULES = ", ".join(
    [
        r"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L",
        r"RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L",
        r"RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U",
        r"RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U",
        "DEFAULT",
    ]
)


@pytest.mark.parametrize(
    ("name", "appid"),
    [
        ("CN=Duke,OU=ServiceUsers,O=Org,C=US", "duke"),
        ("CN=duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"),
        ("cn=duke,ou=sme,dc=mycp,dc=com", "DUKE@SME"),
        ("O=mycp,CN=test.company,C=US", "TEST.COMPANY"),
        ("OU=JavaSoft,O=Sun Microsystems", "OU=JavaSoft,O=Sun Microsystems"),
    ],
)
def test_the_first_rule_that_matches_wins(name: str, appid: str) -> None:
    assert PrincipalMapper.read(RULES).appid(name) == appid


def test_a_pattern_matches_the_whole_name_or_not_at_all() -> None:
    mapper = PrincipalMapper.read("RULE:CN=shop/shop/")
    assert mapper.appid("CN=shop") == "shop"
    with pytest.raises(NoRule, match="no mapping rule makes an AppID of 'CN=shop,O=Acme'"):
        mapper.appid("CN=shop,O=Acme")


def test_a_slash_is_written_with_a_backslash() -> None:
    mapper = PrincipalMapper.read(r"RULE:^cn=(.*?)\/(.*?),.*$/$1\/$2/, DEFAULT")
    assert mapper.appid("cn=shop/web,o=acme") == "shop/web"


def test_a_group_that_is_not_there_is_text_and_one_that_is_empty_is_nothing() -> None:
    assert PrincipalMapper.read("RULE:CN=(a)?b/$1x$2/").appid("CN=b") == "x$2"


def test_an_empty_appid_is_none() -> None:
    with pytest.raises(NoRule):
        PrincipalMapper.read("RULE:CN=(.*)/$1/").appid("CN=")


@pytest.mark.parametrize(
    "rules",
    ["default", "RULE:", "RULE:a/b", "RULE:a/b/X", "DEFAULT RULE:a/b/", "RULE:(/x/", "DEFAULT,,DEFAULT"],
)
def test_what_is_no_rule_is_named(rules: str) -> None:
    with pytest.raises(BadRules, match=r"is no mapping rule: write DEFAULT or RULE|is no pattern"):
        PrincipalMapper.read(rules)


def test_no_rules_make_nobody() -> None:
    with pytest.raises(NoRule):
        PrincipalMapper.read("").appid("CN=shop")
