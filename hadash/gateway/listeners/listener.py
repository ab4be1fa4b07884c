"""The listener: TLS, and the identity of a client that does not sign in with SASL."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hadash.gateway.listeners.accounts import Accounts
from hadash.gateway.listeners.certificates import BadCertificates, Certificates
from hadash.gateway.protocol.proxy_protocol import Networks
from hadash.gateway.settings import GatewaySettings
from hadash.identity.client_ids import named_by
from hadash.identity.distinguished_name import BadName, subject_of
from hadash.identity.principal import BadRules, NoRule, PrincipalMapper


class SecurityProtocol(StrEnum):
    """Kafka's own four protocols. A Gateway has one; run several Gateways to support several."""

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
    """The listener's settings cannot be used. The message says which ones, and what to do."""


class Unidentified(Exception):
    """The client cannot be identified. The message says why, for the log."""


@dataclass(frozen=True, slots=True)
class Listener:
    """The properties that all ports of a Gateway share."""

    protocol: SecurityProtocol
    certificates: Certificates
    mapper: PrincipalMapper
    #: The networks whose connections begin with a header of the PROXY protocol.
    proxies: Networks

    @classmethod
    def of(cls, settings: GatewaySettings, accounts: Accounts, clusters: tuple[str, ...]) -> Listener:
        """Create the listener from the settings.

        :raises BadListener: a setting is missing or wrong.
        """
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
            proxies = Networks.of(settings.proxy_protocol_from)
        except ValueError as error:
            raise BadListener(f"HADASH_GATEWAY_PROXY_PROTOCOL_FROM: {error}.") from None
        unknown = sorted(set(settings.upstream_proxy_protocol) - set(clusters))
        if unknown:
            raise BadListener(
                f"HADASH_GATEWAY_UPSTREAM_PROXY_PROTOCOL: the pair has no cluster {', '.join(unknown)}; "
                f"it has {', '.join(clusters)}."
            )
        try:
            certificates = Certificates(settings, accounts, clusters)
        except BadCertificates as error:
            raise BadListener(str(error)) from None
        return cls(protocol, certificates, mapper, proxies)

    def appid(self, ssl_object: Any, client_id: str) -> str:
        """Return the AppID of a client that does not sign in with SASL.

        :param ssl_object: the TLS object of its transport; ``None`` without TLS.
        :param client_id: the client.id of its first request.
        :raises Unidentified: nothing identifies the client.
        """
        named = named_by(client_id)
        if self.protocol is SecurityProtocol.SSL:
            certificate = ssl_object.getpeercert(binary_form=True) if ssl_object is not None else None
            if certificate is None:
                raise Unidentified("it has no client certificate")
            try:
                appid = self.mapper.appid(subject_of(certificate))
            except (NoRule, BadName) as error:
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
