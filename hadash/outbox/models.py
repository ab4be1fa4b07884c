"""Tables: what is sent (once), to whom (a row for each recipient), and what became of it. Moved by
:mod:`hadash.outbox.services` only.
"""

from __future__ import annotations

import secrets
import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from hadash.inventory.secrets import EncryptedField
from hadash.outbox.states import State
from hadash.shown import Look, Shown, choices


class Transport(models.TextChoices):
    """The way to a recipient."""

    MAIL = "mail", _("mail")
    #: Standard Webhooks: for programs.
    WEBHOOK = "webhook", _("webhook")
    SLACK = "slack", "Slack"
    TEAMS = "teams", "Microsoft Teams"
    DINGTALK = "dingtalk", _("DingTalk")
    FEISHU = "feishu", _("Feishu")
    WECOM = "wecom", _("WeCom")


#: What is posted over HTTP.
POSTED = frozenset(Transport) - {Transport.MAIL}
#: Whose receivers know a message that comes twice for the same, by its id.
REPEATABLE = frozenset({Transport.WEBHOOK})


STATES: dict[State, Shown] = {
    State.QUEUED: Shown(_("queued"), Look.WAITING, "waiting"),
    State.SENDING: Shown(_("being sent"), Look.WAITING, "running"),
    State.HANDED_OVER: Shown(_("being handed over"), Look.WAITING, "running"),
    State.ACCEPTED: Shown(_("accepted"), Look.FINE, "fine"),
    State.DEFERRED: Shown(_("deferred"), Look.WAITING, "waiting"),
    State.FAILED: Shown(_("failed"), Look.BAD, "bad"),
    State.UNCERTAIN: Shown(_("not known"), Look.UNKNOWN, "unknown"),
    State.BOUNCED: Shown(_("came back"), Look.BAD, "bad"),
    State.CANCELLED: Shown(_("cancelled"), Look.OFF, "off"),
}


#: Characters of a subject that are kept; a mail shows fewer.
SUBJECT_KEPT = 500


class Content(models.Model):
    """What is sent, in one language and one time zone: ten thousand recipients share it."""

    subject = models.CharField(max_length=SUBJECT_KEPT)
    text = models.TextField()
    #: Empty for what has no HTML twin.
    html = models.TextField(blank=True)
    #: What groups mails of one kind in a reader's mailbox (RFC 2919), such as ``daily-posture``.
    list_id = models.CharField(max_length=100, blank=True)
    language = models.CharField(max_length=10, default="en")
    #: What is posted is made of this when it is sent: a signature holds for minutes. Empty for mail.
    data = models.JSONField(default=dict)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.subject


class ContentPart(models.Model):
    """An image that the HTML shows, or a file that is attached."""

    content = models.ForeignKey(Content, models.CASCADE, related_name="parts")
    name = models.CharField(max_length=200)
    media_type = models.CharField(max_length=100)
    #: By which the HTML names it (``cid:``); empty for an attachment.
    cid = models.CharField(max_length=100, blank=True)
    data = models.BinaryField()

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return self.name


class Endpoint(models.Model):
    """An address that is posted to: a program's webhook, or a channel of a chat."""

    name = models.CharField(max_length=100, unique=True)
    transport = models.CharField(max_length=20, choices=Transport.choices)
    #: Both encrypted: whoever has the address of a chat's channel may write into it.
    url = EncryptedField()
    secret = EncryptedField(blank=True)
    enabled = models.BooleanField(default=True)
    #: Why it is not: the other side has said that it is gone.
    fault = models.TextField(blank=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


def _token() -> str:
    return secrets.token_urlsafe(24)


class Delivery(models.Model):
    """One message to one recipient."""

    #: What a sender's servers and a reader's mailbox know it by (Message-ID); it stays the same when it is tried again.
    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    #: Of whoever asks for it: the same message is asked for once, however often the asking is repeated.
    asked_as = models.CharField(max_length=300, unique=True)
    transport = models.CharField(max_length=20, choices=Transport.choices, default=Transport.MAIL)
    content = models.ForeignKey(Content, models.PROTECT, related_name="deliveries")
    #: The person, when hadash knows one.
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    #: Where it goes: an address of mail, or the name of an endpoint.
    address = models.CharField(max_length=320)
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, null=True, related_name="deliveries")
    #: The last part of the link that unsubscribes; whoever has it may.
    unsubscribe_token = models.CharField(max_length=64, unique=True, default=_token)
    #: What this link unsubscribes from; empty for what cannot be unsubscribed from.
    topic = models.CharField(max_length=200, blank=True)

    state = models.CharField(max_length=20, choices=choices(STATES), default=State.QUEUED)
    #: When it should have gone out, and when it is tried next: the second moves on with every try.
    wanted_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField()
    #: After that nobody needs it; ``None``: it is needed whenever it comes.
    expires_at = models.DateTimeField(null=True)
    #: The sender's own number for this try: only who has it may move it on.
    claim = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)
    #: What the server said at last, in its own words.
    said = models.TextField(blank=True)
    #: Each try: [when (ISO 8601), the state after it, what was said].
    log = models.JSONField(default=list)
    queued_at = models.DateTimeField(auto_now_add=True)
    settled_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-pk",)
        indexes = [
            models.Index(
                fields=["due_at", "id"],
                condition=models.Q(state__in=[State.QUEUED, State.DEFERRED]),
                name="delivery_due",
            ),
            models.Index(
                fields=["claimed_until"],
                condition=models.Q(state__in=[State.SENDING, State.HANDED_OVER]),
                name="delivery_claimed",
            ),
            models.Index(fields=["address"], name="delivery_address"),
        ]

    def __str__(self) -> str:
        return f"{self.address}: {self.content_id}"

    @property
    def current(self) -> State:
        return State(self.state)

    def tried(self) -> list[dict[str, Any]]:
        """Each try, the last one first."""
        return [{"at": at, "state": State(state), "said": said} for at, state, said in reversed(self.log)]


class Unsubscription(models.Model):
    """That an address does not want a topic any more. Whoever asks to send it finds this, and does not."""

    address = models.CharField(max_length=320)
    topic = models.CharField(max_length=200)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-at",)
        constraints = [models.UniqueConstraint(fields=["address", "topic"], name="one_unsubscription")]

    def __str__(self) -> str:
        return f"{self.address} without {self.topic}"
