"""The audit log."""

from __future__ import annotations

import os

from hadash.settings.environment import number

#: Where signed digests of the audit log are kept (a folder, s3a://… or hdfs://…), out of reach of anybody who can
#: write to the database; empty: there are none. And the seconds between two of them: an entry that is altered
#: before the next digest leaves no trace there.
AUDIT_ANCHORS = os.environ.get("HADASH_AUDIT_ANCHORS", "").strip()
AUDIT_ANCHOR_SECONDS = number("HADASH_AUDIT_ANCHOR_SECONDS", 900)
