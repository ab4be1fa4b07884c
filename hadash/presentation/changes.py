"""Bindings, and changes of them by hand, as pages and the API show them. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from hadash.accounts.roles import DECIDE, on_pairs
from hadash.bindings.model import Binding, BindingDocument
from hadash.identity.identity import Identity
from hadash.inventory.models import AppID
from hadash.joined import with_names
from hadash.presentation import badges
from hadash.switching.approvals.four_eyes import undecided_by
from hadash.switching.machines.binding_changes import OPEN
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.switches import Switch


def changes(user: Any) -> QuerySet[BindingChange]:
    """Return the changes that ``user`` may see, newest first."""
    visible = BindingChange.objects.filter(on_pairs(user))
    return with_names(
        visible.select_related("pair", "requested_by", "decided_by"), "requested_by", "decided_by"
    )


def waiting_for(user: User) -> QuerySet[BindingChange]:
    """Return the changes that ``user`` can decide on."""
    return changes(user).filter(undecided_by(user), on_pairs(user, DECIDE))


def with_keys(user: Any, keys: Collection[int]) -> QuerySet[BindingChange]:
    """Return the changes with these keys that ``user`` may see; no query without keys."""
    return changes(user).filter(pk__in=keys) if keys else BindingChange.objects.none()


def in_inbox(user: User, inbox: str) -> QuerySet[BindingChange]:
    """Return the changes of an inbox: ``all``, ``waiting`` (for ``user``) or ``mine``."""
    if inbox == "waiting":
        return waiting_for(user)
    found = changes(user)
    return found.filter(requested_by=user) if inbox == "mine" else found


def open_changes(user: Any, appid: AppID) -> QuerySet[BindingChange]:
    """Return an AppID's changes that are still open."""
    return changes(user).filter(
        pair=appid.pair, appid=appid.name, status__in=[status.value for status in OPEN]
    )


def the_change(user: Any, key: str) -> BindingChange:
    """Return the change with this key.

    :raises Http404: there is none, or ``user`` may not see it.
    """
    found = changes(user).filter(key=key).first()
    if found is None:
        raise Http404(_("There is no change %(key)s.") % {"key": key})
    return found


@dataclass(frozen=True, slots=True)
class Bound:
    """One binding of an AppID, and the switch or the change by hand that wrote it, if one is known here."""

    identity: Identity
    kind: str
    binding: Binding
    state: badges.State
    switch: Switch | None = None
    change: BindingChange | None = None

    @property
    def at(self) -> datetime | None:
        """When it was last written; ``None`` when that is not known here."""
        by = self.change or self.switch
        return by.ended_at if by is not None else None


def bindings_of(document: BindingDocument, user: Any) -> list[Bound]:
    """Return every binding of a document, the widest identity first. Two queries."""
    appid = document.appid
    found: list[tuple[Identity, Binding]] = []
    if document.default is not None:
        found.append((Identity(appid), document.default))
    found += [(Identity(appid, name), b) for name, b in sorted(document.instances.items())]
    found += [(Identity(appid, topics=topics), b) for topics, b in sorted(document.topic_lists.items())]
    found += [(Identity(appid, topics=(name,)), b) for name, b in sorted(document.topics.items())]
    found += [(Identity(appid, group=name), b) for name, b in sorted(document.groups.items())]
    keys = {binding.switch for _identity, binding in found} - {""}
    of_switch = {switch.key: switch for switch in Switch.objects.filter(key__in=keys).only("key", "ended_at")}
    of_change = {change.key: change for change in changes(user).filter(key__in=keys)}
    return [
        Bound(
            identity,
            kind_of(identity),
            binding,
            badges.of_binding(binding.state),
            of_switch.get(binding.switch),
            of_change.get(binding.switch),
        )
        for identity, binding in found
    ]


def kind_of(identity: Identity) -> str:
    """Return the word for the kind of an identity."""
    if identity.instance_id is not None:
        return _("InstanceID")
    if identity.group is not None:
        return _("Group")
    if len(identity.topics) > 1:
        return _("Topic list")
    return _("Topic") if identity.topics else _("AppID")
