"""Mail: the server, and how messages are sent and tried again."""

from __future__ import annotations

import os

from hadash.settings.environment import number, numbers, secret

#: The server that accepts mail; empty: none is sent, and queued mail waits. Its port, and how the connection is
#: encrypted: "starttls" (587), "tls" (465) or "none" (25), which is for a relay on this machine only (hadash.E015).
SMTP_HOST = os.environ.get("HADASH_SMTP_HOST", "").strip()
SMTP_SECURITY = os.environ.get("HADASH_SMTP_SECURITY", "starttls").strip().lower()
SMTP_PORT = int(number("HADASH_SMTP_PORT", {"starttls": 587, "tls": 465}.get(SMTP_SECURITY, 25)))
SMTP_USERNAME = os.environ.get("HADASH_SMTP_USERNAME", "")
SMTP_PASSWORD = secret("HADASH_SMTP_PASSWORD")
#: Certificates of the authorities that may sign the server's certificate (PEM); empty: the system's.
SMTP_CA = os.environ.get("HADASH_SMTP_CA", "").strip()
#: Seconds for each answer of the server: RFC 5321 allows minutes, but all other mail waits behind it.
SMTP_TIMEOUT_SECONDS = number("HADASH_SMTP_TIMEOUT_SECONDS", 30)
#: Seconds for the answer to the message text alone: the server scans it for viruses before it accepts it, and after
#: an earlier timeout nobody knows whether it was accepted (RFC 5321, 4.5.3.2.6, asks for ten minutes).
SMTP_TAKING_SECONDS = number("HADASH_SMTP_TAKING_SECONDS", 600)
#: Messages in one connection: many servers end it after one or a few hundred.
SMTP_MESSAGES_EACH = int(number("HADASH_SMTP_MESSAGES_EACH", 100))
#: The sender of mail, as readers see it.
MAIL_FROM = os.environ.get("HADASH_MAIL_FROM", "hadash <hadash@localhost>").strip()
#: The address to which undeliverable mail is returned; empty: the sender's. The Maildir into which the mail server
#: puts it, for workers of the queue outbox, which note it on the mail; empty: nobody looks. And the seconds between
#: two looks.
MAIL_RETURN = os.environ.get("HADASH_MAIL_RETURN", "").strip()
BOUNCES = os.environ.get("HADASH_BOUNCES", "").strip()
BOUNCE_LOOK_SECONDS = number("HADASH_BOUNCE_LOOK_SECONDS", 60)
#: hadash's address in a browser, for links in mail; the command line calls it there (HADASH_URL). It is not taken from
#: a request, where a client could set it.
PUBLIC_URL = (
    os.environ.get("HADASH_PUBLIC_URL", os.environ.get("HADASH_URL", "http://127.0.0.1:8000")).rstrip("/")
    + "/"
)
#: Seconds between the attempts for a mail that the server defers: greylisting accepts a sender after some minutes, a
#: full mailbox is emptied by the next day. After the last attempt the mail has failed.
MAIL_RETRY_SECONDS = numbers("HADASH_MAIL_RETRY_SECONDS", (60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600))
#: The largest share that is added to a delay, at random, so that messages deferred together do not return together.
OUTBOX_RETRY_JITTER = number("HADASH_OUTBOX_RETRY_JITTER", 0.1)
#: Seconds between two looks for messages that are due.
OUTBOX_LOOK_SECONDS = number("HADASH_OUTBOX_LOOK_SECONDS", 5)
#: Messages that a sender claims at once, and seconds for which it holds them: some answers of a slow server. After
#: that, messages not yet handed over are free again, and for those handed over the outcome is unknown.
OUTBOX_CLAIMED_AT_ONCE = int(number("HADASH_OUTBOX_CLAIMED_AT_ONCE", 50))
OUTBOX_CLAIM_SECONDS = number("HADASH_OUTBOX_CLAIM_SECONDS", 300)
#: The longest time in seconds between two attempts while the mail server is away: the longer it is away, the more
#: rarely it is asked.
OUTBOX_AWAY_SECONDS = number("HADASH_OUTBOX_AWAY_SECONDS", 600)
#: Entries of a message's history that are kept (the last ones).
OUTBOX_LOG_ENTRIES = int(number("HADASH_OUTBOX_LOG_ENTRIES", 20))
#: Messages in a row with an unknown outcome after which a sender leaves the others for later: the server does not
#: accept mail properly.
OUTBOX_UNTOLD_IN_A_ROW = int(number("HADASH_OUTBOX_UNTOLD_IN_A_ROW", 2))
#: Seconds before a message expires at which it is tried for the last time, if its next attempt would be later.
OUTBOX_LAST_TRY_SECONDS = number("HADASH_OUTBOX_LAST_TRY_SECONDS", 900)
#: Days for which sent messages are kept.
OUTBOX_KEPT_DAYS = number("HADASH_OUTBOX_KEPT_DAYS", 90)
