"""Certificates for tests: an authority, and what it issues. Valid for a day, on loopback."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_ONE_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate and its key, as files in PEM."""

    certificate: Path
    key: Path

    def both(self) -> Path:
        """Key and certificate in one file, as Kafka's PEM stores want them."""
        path = self.certificate.with_suffix(".both.pem")
        path.write_bytes(self.key.read_bytes() + self.certificate.read_bytes())
        return path


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


class Authority:
    """Issues certificates into a folder; ``certificate`` is its own.

    :param issuer: another authority, if it is none that anybody trusts by itself.
    """

    def __init__(self, folder: Path, name: str = "Test CA", issuer: Authority | None = None) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = folder / f"{name.replace(' ', '-')}.pem"
        signer = issuer or self
        issued = (
            signer._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(signer._key, hashes.SHA256())
        )
        self.certificate.write_bytes(issued.public_bytes(serialization.Encoding.PEM))

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, ends: datetime.timedelta = _ONE_DAY
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 2 * _ONE_DAY)
            .not_valid_after(now + ends)
        )

    def issue(
        self,
        common_name: str,
        organization: str = "Acme",
        *,
        hosts: tuple[str, ...] = ("localhost", "127.0.0.1"),
        ends: datetime.timedelta = _ONE_DAY,
    ) -> Issued:
        """For a server at ``hosts``, or a client: ``CN=common_name,OU=Apps,O=organization``. It is valid
        until ``ends`` from now.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        # From the root down, as certificates hold it; it is written the other way round.
        subject = x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization),
                x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "Apps"),
                x509.NameAttribute(NameOID.COMMON_NAME, common_name),
            ]
        )
        names = [_general_name(host) for host in hosts]
        issued = (
            self._builder(subject, key.public_key(), ends)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        stem = self._folder / f"{common_name}-{organization}".replace(" ", "-")
        made = Issued(stem.with_suffix(".crt.pem"), stem.with_suffix(".key.pem"))
        made.certificate.write_bytes(issued.public_bytes(serialization.Encoding.PEM))
        made.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return made
