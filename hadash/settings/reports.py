"""Reports on schedule."""

from __future__ import annotations

import os

from hadash.settings.environment import number

#: The time zone of mail to people who have not chosen one.
REPORT_ZONE = os.environ.get("HADASH_REPORT_ZONE", "UTC").strip()
#: Seconds between two looks for reports that are due: schedules are to the minute.
REPORT_LOOK_SECONDS = number("HADASH_REPORT_LOOK_SECONDS", 10)
#: Hours for which yesterday's figures count as today's: jobs may run late in the evening, and mail goes out in the
#: morning. Older figures that are not of today in the reader's time zone are stale.
REPORT_STALE_HOURS = number("HADASH_REPORT_STALE_HOURS", 12)
#: Seconds for which a due report waits for today's figures: nightly jobs may be late, and those of a new installation
#: have not published yet. After that it is sent with a subject that says so.
REPORT_AWAIT_SECONDS = number("HADASH_REPORT_AWAIT_SECONDS", 1800)
#: Hours after which a report's mail is no longer sent: the next report is there by then.
REPORT_EXPIRY_HOURS = number("HADASH_REPORT_EXPIRY_HOURS", 20)
#: The longest time in seconds that the record of an ended switch waits until the Gateways' observations of it are
#: stored: a Gateway that does not answer takes ten seconds for each AppID.
REPORT_RECORD_SECONDS = number("HADASH_REPORT_RECORD_SECONDS", 120)
#: The most records of switches that a schedule mails within an hour: what a person can read; a batch may have a
#: thousand.
REPORT_RECORDS_AN_HOUR = int(number("HADASH_REPORT_RECORDS_AN_HOUR", 30))
#: Days for which reports can be read on their pages: more than a year, to compare one with the year before.
REPORT_KEPT_DAYS = number("HADASH_REPORT_KEPT_DAYS", 400)
#: Rows of an attached file: servers accept some ten megabytes in all.
REPORT_CSV_ROWS = int(number("HADASH_REPORT_CSV_ROWS", 20_000))
