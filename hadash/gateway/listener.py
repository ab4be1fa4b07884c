"""Whom a Gateway listens to: TLS, and who a client is that does not sign in with SASL."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cryptography import x509

from hadash.gateway.settings import GatewaySettings
from hadash.identity.client_ids import named_by
from hadash.identity.principal import BadRules, NoRule, PrincipalMapper


class SecurityProtocol(StrEnum):
    """Kafka's own four. A Gateway has one; who needs several runs several Gateways."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class BadListener(ValueError):
    """The listener's settings cannot be used. The message says which, and what to do."""


class Unidentified(Exception):
    """Nobody knows who this client is. The message says why, for the log."""


@dataclass(frozen=True, slots=True)
class Listener:
    """What is the same for every port of a Gateway."""

    protocol: SecurityProtocol
    #: For its server side; ``None`` without TLS.
    context: ssl.SSLContext | None
    #: For the connections to brokers whose cluster wants TLS.
    upstream: ssl.SSLContext
    mapper: PrincipalMapper

    @classmethod
    def of(cls, settings: GatewaySettings) -> Listener:
        """:raises BadListener: a setting is missing or wrong."""
        try:
            protocol = SecurityProtocol(settings.security_protocol)
        except ValueError:
            raise BadListener(
                f"HADASH_GATEWAY_SECURITY_PROTOCOL={settings.security_protocol!r} is none of "
                f"{', '.join(SecurityProtocol)}."
            ) from None
        try:
            mapper = PrincipalMapper.read(settings.principal_mapping_rules)
        except BadRules as error:
            raise BadListener(f"HADASH_GATEWAY_PRINCIPAL_MAPPING_RULES: {error}") from None
        try:
            upstream = ssl.create_default_context(cafile=settings.upstream_ca or None)
        except (OSError, ssl.SSLError) as error:
            raise BadListener(
                f"HADASH_GATEWAY_UPSTREAM_CA={settings.upstream_ca} cannot be used ({error})."
            ) from None
        return cls(protocol, _server_context(protocol, settings) if protocol.tls else None, upstream, mapper)

    def appid(self, ssl_object: Any, client_id: str) -> str:
        """Who a client is that does not sign in with SASL.

        :param ssl_object: of its transport; ``None`` without TLS.
        :param client_id: of its first request.
        :raises Unidentified: nothing says so.
        """
        named = named_by(client_id)
        if self.protocol is SecurityProtocol.SSL:
            certificate = ssl_object.getpeercert(binary_form=True) if ssl_object is not None else None
            if certificate is None:
                raise Unidentified("it has no client certificate")
            try:
                appid = self.mapper.appid(distinguished_name(certificate))
            except (NoRule, ValueError) as error:
                raise Unidentified(str(error)) from None
            if named is not None and named.appid != appid:
                raise Unidentified(
                    f"its client.id names AppID {named.appid}, but its certificate is {appid}'s"
                )
            return appid
        if named is None:
            raise Unidentified(
                "nobody signs in on this listener: it serves clients whose client.id is HA#AppID#Topic only"
            )
        return named.appid


def distinguished_name(certificate: bytes) -> str:
    """The subject of a DER certificate as Kafka writes it (RFC 2253): ``CN=shop,OU=web,O=Acme``."""
    return x509.load_der_x509_certificate(certificate).subject.rfc4514_string()


def _server_context(protocol: SecurityProtocol, settings: GatewaySettings) -> ssl.SSLContext:
    if not settings.tls_certificate or not settings.tls_key:
        raise BadListener(
            f"{protocol} needs HADASH_GATEWAY_TLS_CERTIFICATE and HADASH_GATEWAY_TLS_KEY (PEM files)."
        )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.tls_certificate, settings.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise BadListener(
            f"HADASH_GATEWAY_TLS_CERTIFICATE={settings.tls_certificate} and HADASH_GATEWAY_TLS_KEY="
            f"{settings.tls_key} cannot be used ({error})."
        ) from None
    if protocol is SecurityProtocol.SSL:
        if not settings.tls_client_ca:
            raise BadListener(
                "SSL takes who a client is from its certificate: set HADASH_GATEWAY_TLS_CLIENT_CA to the PEM file of "
                "who issues them."
            )
        try:
            context.load_verify_locations(settings.tls_client_ca)
        except (OSError, ssl.SSLError) as error:
            raise BadListener(
                f"HADASH_GATEWAY_TLS_CLIENT_CA={settings.tls_client_ca} cannot be used ({error})."
            ) from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context
