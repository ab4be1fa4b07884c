"""Notices and webhooks."""

from __future__ import annotations

import os

from hadash.settings.environment import flag, networks, number, numbers

#: Private networks that webhooks may be posted to, such as 10.0.0.0/8; nothing is posted to any other private network,
#: so that a person who sets up a channel cannot make a worker reach internal servers.
WEBHOOK_NETWORKS = networks("HADASH_WEBHOOK_NETWORKS")
#: Whether a webhook's address may be http://, which everybody on the way can read. For the sandbox.
WEBHOOK_PLAIN = flag("HADASH_WEBHOOK_PLAIN", False)
#: Seconds for a post, from the connection to the end of its answer: Standard Webhooks asks receivers to answer within
#: 15 to 30.
WEBHOOK_TIMEOUT_SECONDS = number("HADASH_WEBHOOK_TIMEOUT_SECONDS", 20)
#: Seconds between the attempts of a post (the schedule of Standard Webhooks without its last ten hours: nobody needs
#: yesterday's notice).
WEBHOOK_RETRY_SECONDS = numbers("HADASH_WEBHOOK_RETRY_SECONDS", (5, 300, 1800, 2 * 3600, 5 * 3600, 10 * 3600))
#: Seconds between two messages to one person or channel: events in between come as one message.
NOTICE_GAP_SECONDS = number("HADASH_NOTICE_GAP_SECONDS", 60)
#: Seconds that a mirror or a Gateway has to be in trouble before anybody is notified: a restart takes less.
NOTICE_HOLD_SECONDS = number("HADASH_NOTICE_HOLD_SECONDS", 60)
#: Minutes before a request expires at which its approvers are reminded.
NOTICE_EXPIRY_MINUTES = number("HADASH_NOTICE_EXPIRY_MINUTES", 60)
#: Hours after which a notice is no longer sent.
NOTICE_EXPIRY_HOURS = number("HADASH_NOTICE_EXPIRY_HOURS", 24)
#: Seconds between two looks at mirrors, Gateways and jobs, and between two rounds of sending notices.
NOTICE_WATCH_SECONDS = number("HADASH_NOTICE_WATCH_SECONDS", 15)
NOTICE_TELL_SECONDS = number("HADASH_NOTICE_TELL_SECONDS", 5)
#: Days for which events are kept.
NOTICE_KEPT_DAYS = number("HADASH_NOTICE_KEPT_DAYS", 90)

#: A folder with the mail of a demo, shown at ``/demo/mail/``; empty in production, where there is no such page.
DEMO_MAIL = os.environ.get("HADASH_DEMO_MAIL", "").strip()
