"""Sets the mail addresses and mail preferences of people and owners. The only place that changes them."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction

from hadash.accounts.roles import MANAGE_REPORTS, may
from hadash.audit.models import record
from hadash.reports.models import MailPreference, OwnerAddress


def address_is_own(user: Any) -> bool:
    """Return whether a user sets their address in hadash. Data from an identity provider are changed there."""
    return bool(user.has_usable_password())


def set_own(user: Any, address: str, language: str, zone: str, ip: str | None = None) -> None:
    """Store a user's own preferences, and the address unless an identity provider sets it."""
    with transaction.atomic():
        MailPreference.objects.update_or_create(user=user, defaults={"language": language, "zone": zone})
        if address_is_own(user) and address != user.email:
            user.email = address
            user.save(update_fields=["email"])
            record(user, "address of mail changed", f"user {user.get_username()}", ip, to=address)


def set_owner(actor: Any, owner: str, address: str, language: str, zone: str, ip: str | None = None) -> None:
    """Store the address and preferences of an owner.

    :param address: empty: the owner gets no more mail.
    :raises PermissionDenied: ``actor`` may not.
    """
    if not may(actor, MANAGE_REPORTS):
        raise PermissionDenied("You may not change reports.")
    with transaction.atomic():
        if address:
            values = {"address": address, "language": language, "zone": zone}
            OwnerAddress.objects.update_or_create(owner=owner, defaults=values)
        else:
            OwnerAddress.objects.filter(owner=owner).delete()
        record(actor, "address of an owner changed", f"owner {owner}", ip, to=address)
