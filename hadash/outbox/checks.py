"""System checks for the settings of mail."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from hadash.outbox.addresses import BadAddress, normalised, sender_of
from hadash.outbox.smtp import Security


@register()
def zone_is_known(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Check the time zone of reports: with an unknown one no mail could be made."""
    try:
        ZoneInfo(settings.REPORT_ZONE)
    except (ZoneInfoNotFoundError, ValueError):
        return [
            Error(
                f"HADASH_REPORT_ZONE is {settings.REPORT_ZONE!r}, which is no time zone.",
                hint="For example: Asia/Shanghai",
                id="hadash.E019",
            )
        ]
    return []


@register()
def mail_is_configured_safely(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Check the settings of mail: passwords and reports must not be sent unencrypted to another machine."""
    if not settings.SMTP_HOST:
        return []
    if settings.SMTP_SECURITY not in set(Security):
        return [
            Error(
                f"HADASH_SMTP_SECURITY is {settings.SMTP_SECURITY!r}.",
                hint=f"It is one of {', '.join(Security)}.",
                id="hadash.E015",
            )
        ]
    found: list[CheckMessage] = []
    if settings.SMTP_SECURITY == Security.NONE and settings.SMTP_HOST not in settings.LOOPBACK_HOSTS:
        found.append(
            Error(
                f"HADASH_SMTP_SECURITY is none, but {settings.SMTP_HOST} is another machine.",
                hint="Use starttls or tls: reports and the password would travel in plain.",
                id="hadash.E015",
            )
        )
    try:
        normalised(sender_of(settings.MAIL_FROM)[1])
    except BadAddress as error:
        # (A relay on the same machine takes hadash@localhost.)
        if settings.SMTP_HOST not in settings.LOOPBACK_HOSTS:
            found.append(
                Error(
                    f"HADASH_MAIL_FROM is {settings.MAIL_FROM!r}: {error}",
                    hint="For example: hadash <hadash@example.org>",
                    id="hadash.E016",
                )
            )
    address = urlsplit(settings.PUBLIC_URL)
    if address.hostname in settings.LOOPBACK_HOSTS and settings.SMTP_HOST not in settings.LOOPBACK_HOSTS:
        found.append(
            Error(
                f"HADASH_PUBLIC_URL is {settings.PUBLIC_URL}: links in mail would lead nowhere.",
                hint="Set hadash's address in a browser, such as https://hadash.example.org.",
                id="hadash.E018",
            )
        )
    elif address.scheme != "https" and address.hostname not in settings.LOOPBACK_HOSTS:
        found.append(
            Warning(
                f"HADASH_PUBLIC_URL is {settings.PUBLIC_URL}: mailbox providers unsubscribe over https "
                f"only (RFC 8058).",
                id="hadash.W018",
            )
        )
    return found
