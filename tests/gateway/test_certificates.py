"""Certificates of a Gateway: in effect as soon as a file is another one, and never lost to a broken file."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from support.certificates import Authority, Issued

from hadash.gateway.listeners.accounts import Accounts, CertificateFiles
from hadash.gateway.listeners.certificates import BadCertificates, Certificates
from hadash.gateway.settings import GatewaySettings

CLUSTERS = ("east", "west")
YESTERDAY = datetime.timedelta(days=-1)


class Files:
    """The files of a Gateway with protocol SSL, and what lies in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority(folder)
        self.certificate, self.key, self.client_ca = (
            folder / name for name in ("tls.pem", "tls.key", "ca.pem")
        )
        self.put(self.authority.issue("first"))
        self.client_ca.write_bytes(self.authority.certificate.read_bytes())

    def put(self, issued: Issued) -> None:
        self.certificate.write_bytes(issued.certificate.read_bytes())
        self.key.write_bytes(issued.key.read_bytes())

    def settings(self, **changes: str) -> GatewaySettings:
        return GatewaySettings(
            **{
                "security_protocol": "SSL",
                "tls_certificate": str(self.certificate),
                "tls_key": str(self.key),
                "tls_client_ca": str(self.client_ca),
                **changes,
            }  # type: ignore[arg-type]
        )


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def presented(
    server: ssl.SSLContext | None,
    trusted: Authority,
    client: Issued,
    version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
) -> str:
    """The common name of the certificate that a server shows in a handshake with ``client``, which trusts one
    authority.

    :raises ssl.SSLError: one of both refuses the other.
    """
    assert server is not None
    context = ssl.create_default_context(cafile=trusted.certificate)
    context.load_cert_chain(client.certificate, client.key)
    context.maximum_version = version
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client_side = context.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    server_side = server.wrap_bio(to_server, to_client, server_side=True)
    undone: list[Callable[[], None]] = [client_side.do_handshake, server_side.do_handshake]
    while undone:
        for shake in list(undone):
            try:
                shake()
                undone.remove(shake)
            except ssl.SSLWantReadError:
                continue
    subject = dict(pair for part in client_side.getpeercert()["subject"] for pair in part)  # type: ignore
    return str(subject["commonName"])


def test_a_new_certificate_is_shown_to_the_next_client(files: Files) -> None:
    certificates = Certificates(files.settings(), Accounts(), CLUSTERS)
    client = files.authority.issue("shop")
    assert presented(certificates.server, files.authority, client) == "first"
    files.put(files.authority.issue("second"))
    certificates.look()
    assert presented(certificates.server, files.authority, client) == "second"
    assert presented(certificates.server, files.authority, client, ssl.TLSVersion.TLSv1_2) == "second"


def test_the_authorities_between_are_shown_with_the_certificate(files: Files, tmp_path: Path) -> None:
    """Clients know the root only, and so do Gateways of their clients."""
    between = Authority(tmp_path, "Between", issuer=files.authority)
    chain = between.certificate.read_bytes()
    files.put(between.issue("first"))
    certificates = Certificates(files.settings(), Accounts(), CLUSTERS)
    client = between.issue("shop")
    client.certificate.write_bytes(client.certificate.read_bytes() + chain)
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer"):
        presented(certificates.server, files.authority, client)
    files.certificate.write_bytes(files.certificate.read_bytes() + chain)
    certificates.look()
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        assert presented(certificates.server, files.authority, client, version) == "first"


def test_another_authority_of_clients_replaces_the_one_before(files: Files, tmp_path: Path) -> None:
    certificates = Certificates(files.settings(), Accounts(), CLUSTERS)
    other = Authority(tmp_path, "Other CA")
    before, after = files.authority.issue("shop"), other.issue("shop", "Other")
    with pytest.raises(ssl.SSLError):
        presented(certificates.server, files.authority, after)
    files.client_ca.write_bytes(other.certificate.read_bytes())
    certificates.look()
    assert presented(certificates.server, files.authority, after) == "first"
    with pytest.raises(ssl.SSLError):
        presented(certificates.server, files.authority, before)


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (lambda f: f.certificate.write_text("half a cert"), "HADASH_GATEWAY_TLS_CERTIFICATE="),
        (lambda f: f.certificate.unlink(), "No such file"),
        (lambda f: f.key.write_bytes(f.authority.issue("x").key.read_bytes()), "KEY_VALUES_MISMATCH"),
        (lambda f: f.put(f.authority.issue("late", ends=YESTERDAY)), "holds a certificate that has expired"),
    ],
)
def test_a_broken_file_changes_nothing_and_is_told_once(
    files: Files, broken: Callable[[Files], object], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    certificates = Certificates(files.settings(), Accounts(), CLUSTERS)
    client = files.authority.issue("shop")
    broken(files)
    certificates.look()
    certificates.look()
    (told,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert why in told
    assert told.endswith("What was in effect before stays.")
    assert presented(certificates.server, files.authority, client) == "first"
    assert certificates.unusable()[str(files.certificate)]
    assert 0 < certificates.expirations()[str(files.certificate)] < 90_000
    files.put(files.authority.issue("mended"))
    certificates.look()
    assert presented(certificates.server, files.authority, client) == "mended"
    assert not any(certificates.unusable().values())


def test_an_old_authority_beside_a_new_one_does_no_harm(files: Files) -> None:
    certificates = Certificates(files.settings(), Accounts(), CLUSTERS)
    old = files.authority.issue("old", ends=YESTERDAY).certificate.read_bytes()
    files.client_ca.write_bytes(old + files.authority.certificate.read_bytes())
    certificates.look()
    assert not any(certificates.unusable().values())
    assert certificates.expirations()[str(files.client_ca)] > 0


def test_each_cluster_has_its_own(files: Files) -> None:
    own, shop = files.authority.issue("gateway"), files.authority.issue("shop")
    settings = files.settings(
        upstream_ca=f"west={files.authority.certificate}",
        upstream_certificate=f"west={own.certificate}",
        upstream_key=f"west={own.key}",
    )
    accounts = Accounts(
        certificates={("shop", "west"): CertificateFiles(str(shop.certificate), str(shop.key))}
    )
    certificates = Certificates(settings, accounts, CLUSTERS)
    assert [certificates.presents_own(cluster) for cluster in CLUSTERS] == [False, True]
    assert certificates.of("shop", "west") is not None
    assert certificates.of("shop", "east") is None
    before = certificates.own("west")
    own.certificate.write_bytes(shop.certificate.read_bytes())
    own.key.write_bytes(shop.key.read_bytes())
    certificates.look()
    assert certificates.own("west") is not before


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"tls_certificate": ""}, "SSL needs HADASH_GATEWAY_TLS_CERTIFICATE and HADASH_GATEWAY_TLS_KEY"),
        ({"tls_client_ca": ""}, "set HADASH_GATEWAY_TLS_CLIENT_CA to the PEM file of who issues them"),
        ({"tls_key": "/nowhere"}, "HADASH_GATEWAY_TLS_KEY=/nowhere cannot be used"),
        ({"upstream_ca": "/nowhere"}, "HADASH_GATEWAY_UPSTREAM_CA=/nowhere cannot be used"),
        ({"upstream_ca": "north=/ca.pem"}, "names cluster 'north'; there are east, west"),
        ({"upstream_key": "/k.pem"}, "set HADASH_GATEWAY_UPSTREAM_CERTIFICATE too"),
    ],
)
def test_wrong_settings_are_named(files: Files, changes: dict[str, str], why: str) -> None:
    with pytest.raises(BadCertificates) as refused:
        Certificates(files.settings(**changes), Accounts(), CLUSTERS)
    assert why in str(refused.value)
