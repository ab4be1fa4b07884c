"""Tables: the content of messages (one row each), and their deliveries (a row for each recipient) with their
states. Only :mod:`hadash.outbox.services` changes states.
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


#: The transports that post over HTTP.
POSTED = frozenset(Transport) - {Transport.MAIL}
#: The transports whose receivers recognise duplicates by the message's id.
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


#: Characters of a stored subject, at most; a mail shows fewer.
SUBJECT_KEPT = 500


class Content(models.Model):
    """The content of a message in one language and one time zone: ten thousand recipients may share it."""

    subject = models.CharField(max_length=SUBJECT_KEPT)
    text = models.TextField()
    #: Empty for a message without HTML.
    html = models.TextField(blank=True)
    #: The id that groups mails of one kind in a mailbox (RFC 2919), such as ``daily-posture``.
    list_id = models.CharField(max_length=100, blank=True)
    language = models.CharField(max_length=10, default="en")
    #: The data of a post, which is built when it is sent because its signature is valid for minutes. Empty for
    #: mail.
    data = models.JSONField(default=dict)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.subject


class ContentPart(models.Model):
    """An image in the HTML, or an attachment."""

    content = models.ForeignKey(Content, models.CASCADE, related_name="parts")
    name = models.CharField(max_length=200)
    media_type = models.CharField(max_length=100)
    #: The id by which the HTML refers to it (``cid:``); empty for an attachment.
    cid = models.CharField(max_length=100, blank=True)
    data = models.BinaryField()

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return self.name


class Endpoint(models.Model):
    """An address for posts: a program's webhook, or a chat channel."""

    name = models.CharField(max_length=100, unique=True)
    transport = models.CharField(max_length=20, choices=Transport.choices)
    #: Both are encrypted: the address of a chat channel is enough to write to it.
    url = EncryptedField()
    secret = EncryptedField(blank=True)
    enabled = models.BooleanField(default=True)
    #: Why it was disabled: the other side has answered that it is gone.
    fault = models.TextField(blank=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


def _token() -> str:
    return secrets.token_urlsafe(24)


class Delivery(models.Model):
    """One message to one recipient."""

    #: Its id for servers and mailboxes (in the Message-ID), which is the same for all tries.
    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    #: The requester's key: a message that is queued again with the same key is not sent twice.
    asked_as = models.CharField(max_length=300, unique=True)
    transport = models.CharField(max_length=20, choices=Transport.choices, default=Transport.MAIL)
    content = models.ForeignKey(Content, models.PROTECT, related_name="deliveries")
    #: The recipient, if it is a user of hadash.
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    #: The mail address, or the name of the endpoint.
    address = models.CharField(max_length=320)
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, null=True, related_name="deliveries")
    #: The last part of the unsubscribe link; it authorizes unsubscribing.
    unsubscribe_token = models.CharField(max_length=64, unique=True, default=_token)
    #: The topic that the link unsubscribes from; empty where unsubscribing is not possible.
    topic = models.CharField(max_length=200, blank=True)

    state = models.CharField(max_length=20, choices=choices(STATES), default=State.QUEUED)
    #: ``wanted_at``: when it should be sent; ``due_at``: when it is tried next, which changes with every try.
    wanted_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField()
    #: When it becomes useless and fails; ``None``: never.
    expires_at = models.DateTimeField(null=True)
    #: The id of the sender's claim: only the claiming sender may change the state.
    claim = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)
    #: The server's last words.
    said = models.TextField(blank=True)
    #: Each try: [time (ISO 8601), the state after it, the server's words].
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
        """Return the tries, the last one first."""
        return [{"at": at, "state": State(state), "said": said} for at, state, said in reversed(self.log)]


class Unsubscription(models.Model):
    """An address that has unsubscribed from a topic. Queueing skips it."""

    address = models.CharField(max_length=320)
    topic = models.CharField(max_length=200)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-at",)
        constraints = [models.UniqueConstraint(fields=["address", "topic"], name="one_unsubscription")]

    def __str__(self) -> str:
        return f"{self.address} without {self.topic}"
