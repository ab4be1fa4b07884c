"""Tables: the rules of a pair, and times in which none of its switches starts."""

from __future__ import annotations

import math
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from hadash.governance.findings import RULES
from hadash.inventory.models import Pair
from hadash.switching.stages.run import AuditRule

AUDIT_RULES = [
    (AuditRule.IGNORED.value, _("auditors are not asked")),
    (
        AuditRule.DIFFERENCES_STOP.value,
        _("differences stop a switch; without a proof it goes on and says so"),
    ),
    (AuditRule.PROOF_NEEDED.value, _("only mirrors that are proved equal are switched")),
]


def _seconds(label: Any, least: float, most: float = 3600) -> Any:
    """A field for a number of seconds that a policy may set."""
    bounds: list[Any] = [_finite, MinValueValidator(least), MaxValueValidator(most)]
    return models.FloatField(label, null=True, blank=True, validators=bounds)


def _finite(value: float) -> None:
    """Refuse infinity and NaN, which the other validators let pass as a number."""
    if not math.isfinite(value):
        raise ValidationError(_("Enter a number."))


def _known_codes(value: Any) -> None:
    """Accept only a list of codes of existing findings."""
    if not isinstance(value, list) or not all(isinstance(code, str) for code in value):
        raise ValidationError(_("Enter a list of codes."))
    unknown = sorted(set(value) - {code.value for code in RULES})
    if unknown:
        raise ValidationError(_("There is no finding %(codes)s."), params={"codes": ", ".join(unknown)})


class Policy(models.Model):
    """The rules of a pair. An empty value means that the setting applies."""

    pair = models.OneToOneField(Pair, models.CASCADE, related_name="policy")
    #: How many people besides the requester have to approve.
    approvals = models.PositiveSmallIntegerField(
        _("approvals"), default=1, validators=[MinValueValidator(1), MaxValueValidator(5)]
    )
    max_lag = models.PositiveIntegerField(_("largest lag at the start (records)"), null=True, blank=True)
    quiesce_seconds = _seconds(_("quiesce at most (s)"), 5)
    #: Less than the time after which a parked client times out.
    block_seconds = _seconds(_("block in effect within (s)"), 0.5, 20)
    drain_seconds = _seconds(_("drain at most (s)"), 0.5, 20)
    forward_seconds = _seconds(_("forward at most (s)"), 5)
    reverse_seconds = _seconds(_("reverse at most (s)"), 5)
    verify_seconds = _seconds(_("verify at most (s)"), 5)
    verify_hold_seconds = _seconds(_("all has to hold for (s)"), 0.5)
    #: How late a mirror may be before the rules of governance report it.
    rpo_seconds = _seconds(_("a mirror is late after (RPO, s)"), 1)
    #: Codes of the findings that stop a switch (``governance/findings.py``).
    stopping = models.JSONField(
        _("findings that stop a switch"), null=True, blank=True, default=None, validators=[_known_codes]
    )

    #: How many people besides the requester have to approve a change of a pool of consumers; 0: it is made at once.
    pool_approvals = models.PositiveSmallIntegerField(
        _("approvals of a change of a consumer pool"),
        null=True,
        blank=True,
        validators=[MaxValueValidator(5)],
    )
    #: What auditors have to say of its mirrors before a switch; empty: as in the settings.
    audit = models.CharField(_("content audit"), max_length=12, choices=AUDIT_RULES, blank=True, default="")

    def __str__(self) -> str:
        return f"policy of {self.pair}"

    def values(self) -> dict[str, Any]:
        """Its fields, for the audit log."""
        return {name: getattr(self, name) for name in POLICY_FIELDS}


#: The fields of a policy that people set.
POLICY_FIELDS = (
    "approvals",
    "max_lag",
    "quiesce_seconds",
    "block_seconds",
    "drain_seconds",
    "forward_seconds",
    "reverse_seconds",
    "verify_seconds",
    "verify_hold_seconds",
    "rpo_seconds",
    "stopping",
    "pool_approvals",
    "audit",
)


class Blackout(models.Model):
    """A time in which no switch of a pair starts."""

    pair = models.ForeignKey(Pair, models.CASCADE, related_name="blackouts")
    begins = models.DateTimeField()
    ends = models.DateTimeField()
    reason = models.CharField(_("reason"), max_length=300)

    class Meta:
        ordering = ("begins",)

    def __str__(self) -> str:
        return f"{self.pair}: {self.begins} to {self.ends}"

    def values(self) -> dict[str, Any]:
        """Its fields, for the audit log."""
        return {"begins": self.begins.isoformat(), "ends": self.ends.isoformat(), "reason": self.reason}
