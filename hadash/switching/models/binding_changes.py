"""Tables: manual changes of bindings, and their approvals."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django.db import models
from django.urls import reverse

from hadash.identity.identity import Identity, parse
from hadash.identity.names import MAX_NAME_LENGTH
from hadash.inventory.models import Pair
from hadash.radius.scope import Scope
from hadash.sentences import Sentence
from hadash.switching.binding_rule import Wanted
from hadash.switching.machines.binding_changes import MACHINE
from hadash.switching.models.approvable import GivenApproval
from hadash.switching.models.requested_change import RequestedChange
from hadash.switching.plan import Plan


def digest_of(pair: str, appid: str, edits: Mapping[Identity, str | None]) -> str:
    """The hash that approvals refer to: the same change of the same bindings has the same digest."""
    said = {"pair": pair, "appid": appid, "edits": {i.key: cluster for i, cluster in edits.items()}}
    return hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=16).hexdigest()


class BindingChange(RequestedChange):
    """A request to bind identities of one AppID to the cluster where they are, or to unbind them."""

    MACHINE = MACHINE

    pair = models.ForeignKey(Pair, models.PROTECT, related_name="binding_changes")
    appid = models.CharField(max_length=MAX_NAME_LENGTH)
    #: Maps an identity (its key) to the cluster that it is bound to, or to null: it is unbound.
    edits = models.JSONField()
    digest = models.CharField(max_length=40)
    #: InstanceIDs that were registered with the request.
    registered = models.JSONField(default=list)

    #: The result, as sentences.
    outcome = models.JSONField(default=list)
    #: Of the transaction that wrote it.
    epoch = models.BigIntegerField(null=True)
    #: Maps an identity (its key) to its own binding before the change, or to null.
    before = models.JSONField(default=dict)
    #: Fencing token: only the worker with the newest one may write.
    token = models.PositiveIntegerField(default=0)

    class Meta(RequestedChange.Meta):
        indexes = [models.Index(fields=["status"])]

    def __str__(self) -> str:
        return f"bindings of {self.appid}"

    def get_absolute_url(self) -> str:
        return reverse("binding-change", args=[self.key])

    @property
    def subject(self) -> str:
        """Its name in the audit log."""
        return f"binding change {self.key} ({', '.join(map(str, self.the_edits))})"

    def conclude(self, *sentences: Sentence) -> None:
        self.outcome = [sentence.to_json() for sentence in sentences]

    @property
    def the_edits(self) -> dict[Identity, str | None]:
        """Maps each identity to the cluster that it is bound to; ``None``: it is unbound."""
        return {parse(key): cluster for key, cluster in self.edits.items()}

    @property
    def wanted(self) -> Wanted:
        """What was asked for."""
        edits = self.the_edits
        return Wanted(
            tuple(identity for identity, cluster in edits.items() if cluster is not None),
            tuple(identity for identity, cluster in edits.items() if cluster is None),
        )

    @property
    def radius(self) -> Plan:
        """What it touches, to find overlaps of switches and changes; nothing in it moves."""
        return radius_of(self.pair.name, self.appid, self.the_edits)

    @property
    def outcome_sentences(self) -> list[Sentence]:
        return [Sentence.from_json(value) for value in self.outcome]


def radius_of(pair: str, appid: str, edits: Mapping[Identity, Any]) -> Plan:
    """See :attr:`BindingChange.radius`."""
    return Plan(
        pair,
        Scope.of(Identity(appid)),
        source="",
        target="",
        identities=tuple(edits),
        topics=tuple(sorted({topic for identity in edits for topic in identity.topics})),
        groups=tuple(sorted({identity.group for identity in edits if identity.group is not None})),
        mirrors=(),
    )


class BindingApproval(GivenApproval):
    """One person's approval of one change."""

    change = models.ForeignKey(BindingChange, models.CASCADE, related_name="approvals")

    class Meta(GivenApproval.Meta):
        constraints = [
            models.UniqueConstraint(fields=["change", "user"], name="one_binding_approval_a_person")
        ]

    def __str__(self) -> str:
        return f"{self.user} approves {self.change_id}"
