"""Reads the mail server and the retry plans from the settings."""

from __future__ import annotations

from django.conf import settings

from hadash.outbox.backoff import RetryPlan
from hadash.outbox.smtp import Security, Server


def mail_server() -> Server | None:
    """Return the mail server; ``None`` when none is set: then no mail is sent, and deliveries wait."""
    if not settings.SMTP_HOST:
        return None
    security = Security(settings.SMTP_SECURITY)
    return Server(
        host=settings.SMTP_HOST,
        port=settings.SMTP_PORT,
        security=security,
        username=settings.SMTP_USERNAME,
        password=settings.SMTP_PASSWORD,
        ca_file=settings.SMTP_CA,
        timeout_seconds=settings.SMTP_TIMEOUT_SECONDS,
        taking_seconds=settings.SMTP_TAKING_SECONDS,
    )


def post_retries() -> RetryPlan:
    """Return the retry plan for posts."""
    return RetryPlan(settings.WEBHOOK_RETRY_SECONDS, settings.OUTBOX_RETRY_JITTER)


def mail_retries() -> RetryPlan:
    """Return the retry plan for mail."""
    return RetryPlan(settings.MAIL_RETRY_SECONDS, settings.OUTBOX_RETRY_JITTER)
