"""The TLS settings of a cluster: the authorities of its brokers' certificates, and hadash's own certificate.
Pure, except for :func:`context`.

All of them are PEM texts from the database: a worker on any machine can use them, and a changed text makes a
new connection.
"""

from __future__ import annotations

import ssl
import tempfile
from dataclasses import dataclass, field, replace
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from hadash.identity.distinguished_name import subject_of
from hadash.sentences import Sentence, say


class BadTls(ValueError):
    """TLS settings cannot be used. ``sentence`` says which part, and what to do."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Tls:
    """The TLS settings of a cluster. ``ca``: one or more authorities; empty: those of the machine.
    ``certificate``: hadash's own, followed by intermediate authorities, with its ``key``; empty where brokers
    ask for none.
    """

    ca: str = ""
    certificate: str = ""
    key: str = field(default="", repr=False)

    @property
    def subject(self) -> str:
        """The subject of the certificate as Kafka names it without mapping rules; empty without a certificate."""
        if not self.certificate:
            return ""
        own = x509.load_pem_x509_certificate(self.certificate.encode())
        return subject_of(own.public_bytes(Encoding.DER))

    def expired(self, now: datetime) -> datetime | None:
        """Return when hadash's own certificate has expired; ``None`` if it has not, or there is none."""
        if not self.certificate:
            return None
        ends = x509.load_pem_x509_certificate(self.certificate.encode()).not_valid_after_utc
        return ends if ends <= now else None


#: The machine's authorities, and no own certificate.
NO_TLS = Tls()


def checked(tls: Tls, now: datetime) -> Tls:
    """Return the settings in a form that all libraries read: certificates without text between them, the key as
    PKCS#8.

    :raises BadTls: a part cannot be read, does not belong to the others, has expired or is not valid yet.
    """
    if bool(tls.certificate) != bool(tls.key):
        raise BadTls(say("tls_certificate and tls_key belong together: give both, or neither."))
    ca = _certificates("tls_ca", tls.ca, now)
    if not tls.certificate:
        return replace(tls, ca=_pem(ca))
    chain = _certificates("tls_certificate", tls.certificate, now)
    try:
        key = load_pem_private_key(tls.key.encode(), None)
    except TypeError:
        raise BadTls(
            say("tls_key needs a passphrase. Give it without: the database holds it encrypted.")
        ) from None
    except Exception:  # each kind of key has errors of its own
        raise BadTls(say("tls_key is no private key in PEM (-----BEGIN PRIVATE KEY-----).")) from None
    of_key, of_certificate = (
        public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        for public in (key.public_key(), chain[0].public_key())
    )
    if of_key != of_certificate:
        raise BadTls(
            say(
                "tls_key is not the key of the first certificate in tls_certificate (%(subject)s).",
                subject=chain[0].subject.rfc4514_string(),
            )
        )
    pkcs8 = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return Tls(_pem(ca), _pem(chain), pkcs8)


def _certificates(name: str, text: str, now: datetime) -> list[x509.Certificate]:
    """Return the certificates in a PEM text. :raises BadTls: they cannot be read, or are not valid now."""
    if not text:
        return []
    try:
        found = x509.load_pem_x509_certificates(text.encode())
    except ValueError:
        raise BadTls(
            say("%(name)s is no certificate in PEM (-----BEGIN CERTIFICATE-----).", name=name)
        ) from None
    # Expired authorities are harmless while one is valid; hadash's own chain has to be valid as a whole.
    faults = [fault for fault in (_not_valid(name, one, now) for one in found) if fault is not None]
    if faults and (name != "tls_ca" or len(faults) == len(found)):
        raise BadTls(faults[0])
    return found


def _not_valid(name: str, one: x509.Certificate, now: datetime) -> Sentence | None:
    told = {"name": name, "subject": one.subject.rfc4514_string()}
    if one.not_valid_after_utc <= now:
        when = f"{one.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
        return say("%(name)s: %(subject)s has expired on %(when)s. Give the new one.", when=when, **told)
    if one.not_valid_before_utc > now:
        when = f"{one.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
        return say("%(name)s: %(subject)s is not valid before %(when)s.", when=when, **told)
    return None


def _pem(certificates: list[x509.Certificate]) -> str:
    return "".join(one.public_bytes(Encoding.PEM).decode() for one in certificates)


def librdkafka(tls: Tls) -> dict[str, str]:
    """Return librdkafka's settings. (It checks the brokers' names by default.)"""
    values = {"ssl.ca.pem": tls.ca, "ssl.certificate.pem": tls.certificate, "ssl.key.pem": tls.key}
    return {name: value for name, value in values.items() if value}


def java(tls: Tls) -> dict[str, str]:
    """Return the settings of Kafka's Java clients (KIP-651). They contain the PEM texts themselves, so that no
    file has to be on their machine.
    """
    values: dict[str, str] = {}
    if tls.ca:
        values |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": tls.ca}
    if tls.certificate:
        values |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": tls.certificate,
            "ssl.keystore.key": tls.key,
        }
    return values


#: All settings that :func:`java` may return.
JAVA_NAMES = frozenset(java(Tls("ca", "certificate", "key")))


def context(tls: Tls) -> ssl.SSLContext:
    """Return the SSL context for a Python client; it checks the brokers' names."""
    made = ssl.create_default_context(cadata=tls.ca or None)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    if tls.certificate:
        # The ssl module reads certificates only from files. Other users cannot read this one, and it is deleted
        # at once.
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(tls.key + tls.certificate)
            file.flush()
            made.load_cert_chain(file.name)
    return made
