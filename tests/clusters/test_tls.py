"""TLS to a cluster: what is registered is checked, and a handshake that fails says what to do. The broker
here is a socket with TLS.
"""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from support.certificates import Authority, Issued

from hadash.inventory.models import Cluster
from hadash.inventory.services import name_principals
from hadash.kafka.handshake import tls_fault
from hadash.kafka.tls import NO_TLS, BadTls, Tls, checked, java, librdkafka
from hadash.kafka.values import ClusterAccess

NOW = datetime.datetime.now(datetime.UTC)
YESTERDAY = datetime.timedelta(days=-1)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def tls_of(authority: Authority, issued: Issued | None = None) -> Tls:
    ca = authority.certificate.read_text()
    return Tls(ca, issued.certificate.read_text(), issued.key.read_text()) if issued else Tls(ca)


class TestChecked:
    def test_it_is_what_every_library_reads(self, authority: Authority) -> None:
        """Kafka's own clients want PKCS#8, and nothing around the certificates."""
        issued = authority.issue("hadash")
        key = load_pem_private_key(issued.key.read_bytes(), None)
        old_form = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
        assert "EC PRIVATE KEY" in old_form
        given = Tls(
            f"# our authority\n{authority.certificate.read_text()}", issued.certificate.read_text(), old_form
        )
        found = checked(given, NOW)
        assert found == tls_of(authority, issued)
        assert found.key.startswith("-----BEGIN PRIVATE KEY-----")
        assert found.subject == "CN=hadash,OU=Apps,O=Acme"

    def test_an_old_authority_beside_a_new_one_does_no_harm(self, authority: Authority) -> None:
        old = authority.issue("old", ends=YESTERDAY).certificate.read_text()
        both = old + authority.certificate.read_text()
        assert checked(Tls(both), NOW) == Tls(both)
        with pytest.raises(BadTls, match="tls_ca: CN=old,OU=Apps,O=Acme has expired on "):
            checked(Tls(old), NOW)

    def test_nothing_is_the_machines_authorities(self) -> None:
        assert checked(NO_TLS, NOW) == NO_TLS
        assert (java(NO_TLS), librdkafka(NO_TLS)) == ({}, {})

    def test_the_key_is_in_no_text_of_it(self, authority: Authority) -> None:
        found = tls_of(authority, authority.issue("hadash"))
        access = ClusterAccess("east", "e1:9092", "SSL", "", "", "open sesame", found)
        assert "PRIVATE KEY" not in repr(access)
        assert "sesame" not in repr(access)

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            (lambda a: Tls("no PEM"), "tls_ca is no certificate in PEM"),
            (lambda a: Tls(certificate=a.issue("x").certificate.read_text()), "belong together"),
            (lambda a: Tls(key=a.issue("x").key.read_text()), "belong together"),
            (
                lambda a: tls_of(a, Issued(a.issue("x").certificate, a.issue("y").key)),
                "tls_key is not the key of the first certificate in tls_certificate (CN=x,OU=Apps,O=Acme)",
            ),
            (
                lambda a: tls_of(a, a.issue("x", ends=YESTERDAY)),
                "tls_certificate: CN=x,OU=Apps,O=Acme has expired on ",
            ),
            (
                lambda a: Tls(certificate=a.issue("x").certificate.read_text(), key="no PEM"),
                "tls_key is no private key in PEM",
            ),
            (lambda a: with_passphrase(a.issue("x")), "tls_key needs a passphrase. Give it without"),
        ],
    )
    def test_what_is_wrong_is_said(
        self, authority: Authority, change: Callable[[Authority], Tls], why: str
    ) -> None:
        with pytest.raises(BadTls) as refused:
            checked(change(authority), NOW)
        assert why in str(refused.value)


class TestPrincipals:
    """Whom brokers without SASL take hadash for."""

    def cluster(self, authority: Authority, subject: str, **fields: str) -> Cluster:
        issued = authority.issue(subject)
        return Cluster(
            tls_certificate=issued.certificate.read_text(), tls_key=issued.key.read_text(), **fields
        )

    def test_it_is_the_subject_of_the_certificate(self, authority: Authority) -> None:
        cluster = self.cluster(authority, "hadash")
        name_principals(cluster, former="")
        assert (cluster.admin_username, cluster.mirror_username) == ("CN=hadash,OU=Apps,O=Acme",) * 2

    def test_with_another_certificate_it_is_another_one(self, authority: Authority) -> None:
        """The rights of a principal that nobody is any more would be kept, and those of the new one denied."""
        former = "CN=hadash,OU=Apps,O=Acme"
        cluster = self.cluster(authority, "hadash-2", admin_username=former, mirror_username="copier")
        name_principals(cluster, former)
        assert cluster.admin_username == "CN=hadash-2,OU=Apps,O=Acme"
        assert cluster.mirror_username == "copier", "what was given stays: a mapping rule may make it"


def with_passphrase(issued: Issued) -> Tls:
    key = load_pem_private_key(issued.key.read_bytes(), None)
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"sesame"))
    return Tls(certificate=issued.certificate.read_text(), key=locked.decode())


@contextmanager
def broker(issued: Issued | None, client_ca: Path | None = None) -> Iterator[int]:
    """A port that speaks TLS as a broker with this certificate does, and answers a client's first request;
    without one it speaks no TLS.
    """
    context = None
    if issued is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=client_ca)
        context.load_cert_chain(issued.certificate, issued.key)
        context.verify_mode = ssl.CERT_REQUIRED if client_ca else ssl.CERT_NONE

    def serve() -> None:
        while True:
            try:
                connected, _ = listening.accept()
            except OSError:
                return
            with suppress(OSError), connected:
                speaking = context.wrap_socket(connected, server_side=True) if context else connected
                speaking.recv(100)
                speaking.sendall(b"\0\0\0\0")
                speaking.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def access(port: int, tls: Tls = NO_TLS) -> ClusterAccess:
    return ClusterAccess("east", f"127.0.0.1:{port}", "SSL", "", "", "", tls)


class TestFault:
    def test_none_when_all_is_well(self, authority: Authority) -> None:
        client = authority.issue("hadash")
        with broker(authority.issue("broker"), authority.certificate) as port:
            assert tls_fault(access(port, tls_of(authority, client))) is None

    def test_a_broker_that_is_not_there_has_no_fault_of_tls(self, authority: Authority) -> None:
        with broker(authority.issue("broker")) as port:
            pass
        assert tls_fault(access(port, tls_of(authority))) is None

    def test_an_authority_that_nobody_has_named(self, authority: Authority) -> None:
        with broker(authority.issue("broker")) as port:
            said = tls_fault(access(port))
        assert f"of cluster east at 127.0.0.1:{port} is issued by nobody that this machine trusts" in str(
            said
        )
        assert "Register the cluster with tls_ca, the PEM of who issued it." in str(said)

    def test_another_authority(self, authority: Authority, tmp_path: Path) -> None:
        with broker(authority.issue("broker")) as port:
            said = tls_fault(access(port, tls_of(Authority(tmp_path, "Other CA"))))
        assert "is not issued by the cluster's tls_ca" in str(said)

    def test_another_name(self, authority: Authority) -> None:
        with broker(authority.issue("broker", hosts=("kafka.example",))) as port:
            said = tls_fault(access(port, tls_of(authority)))
        assert "is for other names. Reach the broker (bootstrap_servers, and" in str(said)

    def test_a_broker_whose_certificate_has_expired(self, authority: Authority) -> None:
        with broker(authority.issue("broker", ends=YESTERDAY)) as port:
            said = tls_fault(access(port, tls_of(authority)))
        assert "has expired. Renew it on the broker." in str(said)

    def test_a_certificate_of_ones_own_that_has_expired_since(self, authority: Authority) -> None:
        said = tls_fault(access(1, tls_of(authority, authority.issue("hadash", ends=YESTERDAY))))
        assert str(said).startswith("hadash's certificate for cluster east has expired on ")

    def test_a_broker_that_wants_a_certificate(self, authority: Authority) -> None:
        with broker(authority.issue("broker"), authority.certificate) as port:
            said = tls_fault(access(port, tls_of(authority)))
        assert "wants a certificate of hadash's own" in str(said)

    def test_a_broker_that_does_not_know_who_issued_it(self, authority: Authority, tmp_path: Path) -> None:
        stranger = Authority(tmp_path, "Other CA").issue("hadash")
        with broker(authority.issue("broker"), authority.certificate) as port:
            said = tls_fault(access(port, tls_of(authority, stranger)))
        assert "does not accept hadash's certificate" in str(said)

    def test_the_authorities_between_come_with_hadashs_certificate(
        self, authority: Authority, tmp_path: Path
    ) -> None:
        """The broker knows the root only."""
        between = Authority(tmp_path, "Between", issuer=authority)
        own = between.issue("hadash")
        alone = Tls(authority.certificate.read_text(), own.certificate.read_text(), own.key.read_text())
        chain = replace(alone, certificate=f"{alone.certificate}\n{between.certificate.read_text()}")
        with broker(authority.issue("broker"), authority.certificate) as port:
            assert tls_fault(access(port, checked(chain, NOW))) is None
            said = tls_fault(access(port, checked(alone, NOW)))
        assert "with the authorities between them" in str(said)

    def test_a_port_without_tls(self, authority: Authority) -> None:
        with broker(None) as port:
            said = tls_fault(access(port, tls_of(authority)))
        assert "Is security_protocol SSL what that port speaks?" in str(said)
