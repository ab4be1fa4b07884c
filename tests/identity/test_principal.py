"""From a certificate's subject to an AppID, by Kafka's own rules (its SslPrincipalMapperTest is the model)."""

from __future__ import annotations

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hadash.identity.distinguished_name import BadName, subject_of
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
    [
        "default",
        "RULE:",
        "RULE:a/b",
        "RULE:a/b/X",
        "DEFAULT RULE:a/b/",
        "RULE:(/x/",
        "DEFAULT,,DEFAULT",
        # What Java reads, and Python does not, or in another way.
        r"RULE:\p{L}+/x/",
        r"RULE:(?<name>.*)/x/",
        r"RULE:\bCN=(.*)/$1/",
        r"RULE:CN=([a-z&&[^x]]*)/$1/",
        r"RULE:(?u)CN=(.*)/$1/",
        r"RULE:(?iu)CN=(.*)/$1/",
        r"RULE:(?x)CN= (.*)/$1/",
        r"RULE:(?a)CN=(.*)/$1/",
        r"RULE:(?ix:CN=(.*))/$1/",
        r"RULE:CN=(.{,3})/$1/",
        r"RULE:CN={(.*)}/$1/",
        r"RULE:CN=(.*+)/$1/",
        r"RULE:CN=(.{2}+)/$1/",
        r"RULE:(?>CN=)(.*)/$1/",
        r"RULE:CN=(?P<n>.*)/$1/",
        r"RULE:CN=(?#name)(.*)/$1/",
        r"RULE:(CN=)?(?(1)a|b)/$1/",
        r"RULE:CN=\0123(.*)/$1/",
        r"RULE:CN=\U0001F600(.*)/$1/",
        r"RULE:CN=\N{DIGIT ONE}(.*)/$1/",
        r"RULE:C(N)=\101(.*)/$1/",
        r"RULE:CN=(.{99999999999999})/$1/",
        # Where Kafka refuses each client: a group of a pattern that has none, and a name of a group.
        "RULE:CN=.*/$1/",
        "RULE:(.*)/${1}/",
        "RULE:(.*)/$4$5/",
    ],
)
def test_what_is_no_rule_is_named(rules: str) -> None:
    with pytest.raises(
        BadRules, match=r"is no mapping rule: write DEFAULT or RULE|is no pattern|is no replacement|reads in"
    ):
        PrincipalMapper.read(rules)


@pytest.mark.parametrize(
    "rules",
    [
        r"RULE:(?i)cn=(?-i:a)(.{0,3}?)(?=b|c)(?!d).*/a$1/",
        r"RULE:CN=([{+*?(]?.{1,}).*/$1/",
        r"RULE:CN=\{?\(?\?*(a.{2}?)\\?.*/$1/",
        r"RULE:C(N)=(?:(?<=\w=)a|\1)b{1}c}?/abc/",
        r"RULE:CN=([^a]?)(\x61bc)\.?/$2/",
    ],
)
def test_what_both_read_alike_is_a_rule(rules: str) -> None:
    assert PrincipalMapper.read(rules).appid("CN=abc").startswith("a")


def test_no_rules_make_nobody() -> None:
    with pytest.raises(NoRule):
        PrincipalMapper.read("").appid("CN=shop")


#: Of Kafka's documentation: the common name is the principal.
SAMPLE = r"RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L"


def certificate(*subject: tuple[x509.ObjectIdentifier, str]) -> bytes:
    """A DER certificate of that subject, from the root down."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(*attribute) for attribute in subject])
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "CN=issuer")]))
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.DER)
    )


def test_a_value_cannot_pass_for_another_attribute() -> None:
    """An authority that lets people choose their organization must not let them choose whose records they read."""
    name = subject_of(
        certificate((NameOID.ORGANIZATION_NAME, "x,CN=victim"), (NameOID.COMMON_NAME, "attacker"))
    )
    assert name == r"CN=attacker,O=x\,CN\=victim"
    assert PrincipalMapper.read(SAMPLE).appid(name) == "attacker"


def test_an_attribute_that_java_does_not_know_by_name_is_a_number() -> None:
    name = subject_of(certificate((NameOID.EMAIL_ADDRESS, "CN=victim"), (NameOID.COMMON_NAME, "attacker")))
    assert name == "CN=attacker,1.2.840.113549.1.9.1=#1609434e3d76696374696d"
    assert PrincipalMapper.read(SAMPLE).appid(name) == "attacker"


def test_a_name_with_a_line_end_is_nobodys() -> None:
    """Java's ``.`` and Python's disagree about them."""
    name = subject_of(certificate((NameOID.COMMON_NAME, "shop\u2028CN=victim")))
    with pytest.raises(NoRule, match="has a line end in it, which no AppID has"):
        PrincipalMapper.read("DEFAULT").appid(name)


def test_a_certificate_without_a_subject_is_nobodys() -> None:
    with pytest.raises(NoRule):
        PrincipalMapper.read("DEFAULT").appid(subject_of(certificate()))


@pytest.mark.parametrize("cut", [0, 1, 4, 20, 60])
def test_bytes_that_are_no_certificate(cut: int) -> None:
    whole = certificate((NameOID.COMMON_NAME, "shop"))
    for broken in (whole[:cut], whole + b"x"):
        with pytest.raises(BadName):
            subject_of(broken)
