"""System checks of the settings for accounts and connections; they run at the start."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from hadash.accounts.roles import ROLES
from hadash.accounts.servers import readable_on_the_way, servers_elsewhere

#: The tag of checks that only concern the web server. Workers and beat report what they find, and start all the same.
WEB = "hadash_web"


@register()
def secret_key_is_set(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Require a secret key where other machines reach the web server, or where PostgreSQL, Redis or ZooKeeper are
    on other machines: a worker usually does not know the web server's names.
    """
    if settings.SECRET_KEY != settings.INSECURE_SECRET_KEY:
        return []
    elsewhere = servers_elsewhere(
        settings.DATABASES["default"], settings.REDIS_URL, settings.ZOOKEEPER_HOSTS, settings.LOOPBACK_HOSTS
    )
    if set(settings.ALLOWED_HOSTS) - settings.LOOPBACK_HOSTS:
        why = "HADASH_ALLOWED_HOSTS lets others in"
    elif elsewhere:
        variable, hosts = next(iter(elsewhere.items()))
        why = f"{variable} names another machine ({', '.join(hosts)})"
    else:
        return []
    return [
        Error(
            f"HADASH_SECRET_KEY is not set, but {why}.",
            hint="Set it to a long random text and keep it: it also encrypts the clusters' credentials.",
            id="hadash.E001",
        )
    ]


@register()
def nobody_reads_on_the_way(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn of unprotected connections: they carry clusters' passwords, plans, and the clients' uses of Topics.
    (ZooKeeper's connection is hadash.W012, the mail server's hadash.E015.)
    """
    found = readable_on_the_way(
        settings.DATABASES["default"], settings.REDIS_URL, settings.CONNECT_URL, settings.LOOPBACK_HOSTS
    )
    return [
        Warning(
            f"{variable} names another machine, and what is said to it can be read or changed on the way.",
            hint=f"Set it to {example}: docs/production.md.",
            id="hadash.W014",
        )
        for variable, example in found.items()
    ]


@register(WEB)
def cookies_are_for_tls(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn of session cookies over http: a person who reads one in transit can use it to sign in."""
    if settings.SESSION_COOKIE_SECURE or not set(settings.ALLOWED_HOSTS) - settings.LOOPBACK_HOSTS:
        return []
    return [
        Warning(
            "HADASH_SECURE_COOKIES is not set: browsers send who is signed in over http, too.",
            hint="Set it to 1 where TLS stands in front: docs/production.md.",
            id="hadash.W015",
        )
    ]


@register(WEB)
def provider_is_whole(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Require that OpenID Connect is configured completely or not at all."""
    given = {
        "HADASH_OIDC_ISSUER": settings.OIDC_ISSUER,
        "HADASH_OIDC_CLIENT_ID": settings.OIDC_RP_CLIENT_ID,
        "HADASH_OIDC_CLIENT_SECRET": settings.OIDC_RP_CLIENT_SECRET,
    }
    missing = [name for name, value in given.items() if not value]
    if len(missing) == len(given):
        return []
    if missing:
        return [
            Error(
                f"OpenID Connect is configured in part: {', '.join(missing)} is not set.",
                hint="Set all of them, or none.",
                id="hadash.E002",
            )
        ]
    return [*_issuer_is_safe(), *_roles_are_known()]


def _issuer_is_safe() -> list[CheckMessage]:
    issuer = urlsplit(settings.OIDC_ISSUER)
    if issuer.scheme == "https" or (
        issuer.scheme == "http" and issuer.hostname in settings.LOOPBACK_HOSTS | {"::1"}
    ):
        return []
    return [
        Error(
            f"HADASH_OIDC_ISSUER is {settings.OIDC_ISSUER!r}: anybody who can reach into that connection could "
            f"sign in as anybody.",
            hint="Use its https address. (http is accepted for this machine only.)",
            id="hadash.E003",
        )
    ]


def _roles_are_known() -> list[CheckMessage]:
    errors: list[CheckMessage] = []
    unknown = sorted(set(settings.OIDC_ROLES.values()) - set(ROLES))
    if unknown:
        errors.append(
            Error(
                f"HADASH_OIDC_ROLES maps groups to roles that there are not: {', '.join(unknown)}.",
                hint=f"The roles are {', '.join(ROLES)}.",
                id="hadash.E004",
            )
        )
    if settings.OIDC_DEFAULT_ROLE not in ("", "viewer"):
        errors.append(
            Error(
                f"HADASH_OIDC_DEFAULT_ROLE is {settings.OIDC_DEFAULT_ROLE!r}.",
                hint="It may be viewer or empty: what changes something needs a group.",
                id="hadash.E005",
            )
        )
    if not settings.OIDC_ROLES and not settings.OIDC_DEFAULT_ROLE:
        errors.append(
            Error(
                "OpenID Connect is configured, but no group is mapped to a role: nobody could sign in by it.",
                hint='Set HADASH_OIDC_ROLES, as in {"kafka-operators": "operator"}.',
                id="hadash.E006",
            )
        )
    return errors
