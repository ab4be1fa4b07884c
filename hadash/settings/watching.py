"""What workers look at all the time: mirrors, groups, clusters, Gateways and each other."""

from __future__ import annotations

import os

from hadash.settings.environment import number

#: Seconds between two samples of mirror lag, and how long samples are kept.
LAG_SAMPLE_SECONDS = number("HADASH_LAG_SAMPLE_SECONDS", 2)
LAG_KEPT_HOURS = number("HADASH_LAG_KEPT_HOURS", 24)
#: Days for which the worst sample of each hour is kept: the longest window of a mirror's page shows 30.
LAG_HOURS_KEPT_DAYS = number("HADASH_LAG_HOURS_KEPT_DAYS", 31)
#: Seconds for the Topics that a mirror has created to have leaders on every broker: a cluster that has just started
#: is slow.
MIRROR_TOPICS_SECONDS = number("HADASH_MIRROR_TOPICS_SECONDS", 60)
#: Seconds for a deleted Topic to be gone: brokers delete in the background.
MIRROR_DELETE_SECONDS = number("HADASH_MIRROR_DELETE_SECONDS", 30)
#: Seconds between two readings of the settings of a mirror's Topics (size limits, timestamps) on both clusters. They
#: change only when a person changes them; a switch reads them in its precheck.
MIRROR_SETTINGS_SECONDS = number("HADASH_MIRROR_SETTINGS_SECONDS", 30)
#: Seconds between two comparisons of a mirror's records with its source's, outside of switches. Each reads the last
#: records of every partition, and the next ones of a walk through everything that both sides hold: at most so many
#: records of a partition, and about so many bytes of a cluster, which a fast network carries in a second.
MIRROR_COMPARE_SECONDS = number("HADASH_MIRROR_COMPARE_SECONDS", 60)
MIRROR_COMPARE_RECORDS = int(number("HADASH_MIRROR_COMPARE_RECORDS", 200))
MIRROR_COMPARE_BYTES = int(number("HADASH_MIRROR_COMPARE_BYTES", 64 * 1024 * 1024))
#: Seconds after which an auditor's comparison proves nothing any more about what is there now. Auditors note how far
#: they are every few seconds; a minute is time for one to die and for another one to take its partitions.
AUDIT_STALE_SECONDS = number("HADASH_AUDIT_STALE_SECONDS", 60)
#: Seconds that a cluster may take to hand out a record that a person wants to see. A person waits for it.
AUDIT_READ_SECONDS = number("HADASH_AUDIT_READ_SECONDS", 5)
#: Seconds between two looks for a full audit that waits: the person who has asked for it looks at the page.
FULL_AUDIT_LOOK_SECONDS = number("HADASH_FULL_AUDIT_LOOK_SECONDS", 5)
#: Seconds after which a full audit is ended. Half a day is time for some terabytes; another one cannot begin before.
FULL_AUDIT_SECONDS = number("HADASH_FULL_AUDIT_SECONDS", 12 * 3600)
#: Days for which full audits are kept: as long as somebody may ask what was compared before a switch.
FULL_AUDIT_KEPT_DAYS = int(number("HADASH_FULL_AUDIT_KEPT_DAYS", 400))
#: Seconds of one round of looks (every HADASH_LAG_SAMPLE_SECONDS) after which comparisons that are due wait for the
#: next round: a pair with a thousand mirrors is compared less often, and its lag is still measured.
MIRROR_COMPARE_ROUND_SECONDS = number("HADASH_MIRROR_COMPARE_ROUND_SECONDS", 1)
#: How many times larger than its Topic's max.message.bytes a record may be before compression: that limit counts
#: what a producer has compressed, and a mirror's producer sends it uncompressed. JSON, Avro and log lines shrink to a
#: fourth or an eighth. A larger record stops the mirror, which is reported, and nothing is lost.
MIRROR_UNCOMPRESSED_FACTOR = number("HADASH_MIRROR_UNCOMPRESSED_FACTOR", 8)
#: Seconds for a mirror to copy what its source held when the precheck of a switch began; a lag that remains is not
#: transient. As long as a drain may take, but nobody is blocked here.
MIRROR_CATCH_UP_SECONDS = number("HADASH_MIRROR_CATCH_UP_SECONDS", 10)
#: Seconds between two notes of the consumer groups' positions. After a forced switch, whose source cannot be asked
#: any more, consumers read again what they have read since the last note.
POSITION_NOTE_SECONDS = number("HADASH_POSITION_NOTE_SECONDS", 5)
#: Groups that are read and stored together in one part of a note: a cluster before 3.0 takes some milliseconds each.
POSITION_GROUPS_AT_ONCE = int(number("HADASH_POSITION_GROUPS_AT_ONCE", 500))
#: Seconds for which unreadable groups are read after all others: each attempt may take HADASH_KAFKA_REQUEST_SECONDS.
POSITION_AGAIN_SECONDS = number("HADASH_POSITION_AGAIN_SECONDS", 60)
#: Seconds between two collections of access from the Gateways, and between two looks at clusters.
ACCESS_COLLECT_SECONDS = number("HADASH_ACCESS_COLLECT_SECONDS", 3)
CLUSTER_LOOK_SECONDS = number("HADASH_CLUSTER_LOOK_SECONDS", 15)
#: Seconds between two samples of each Gateway for the lines on its page, and how long these and the clusters' samples
#: are kept: a day of one Gateway or cluster is 5,760 rows. The state of a cluster at each snapshot (its controller,
#: its partitions) is kept longer: that is one row per snapshot. So is what each Gateway did at most within an hour:
#: the longest window of its page is a month.
GATEWAY_SAMPLE_SECONDS = number("HADASH_GATEWAY_SAMPLE_SECONDS", 15)
SAMPLES_KEPT_HOURS = number("HADASH_SAMPLES_KEPT_HOURS", 24)
GATEWAY_HOURS_KEPT_DAYS = number("HADASH_GATEWAY_HOURS_KEPT_DAYS", 31)
CLUSTER_STATES_KEPT_DAYS = number("HADASH_CLUSTER_STATES_KEPT_DAYS", 35)
#: Seconds between two signs of life of a worker, and seconds of silence after which it counts as gone: three of the
#: signs may be lost.
WORKER_PRESENCE_SECONDS = number("HADASH_WORKER_PRESENCE_SECONDS", 5)
WORKER_SILENT_SECONDS = number("HADASH_WORKER_SILENT_SECONDS", 20)
#: Days for which the daily figures of the overview are kept: a trend shows thirty.
DAILY_FIGURES_KEPT_DAYS = number("HADASH_DAILY_FIGURES_KEPT_DAYS", 35)
#: Seconds to wait for an answer of a Gateway's admin address.
GATEWAY_REQUEST_SECONDS = number("HADASH_GATEWAY_REQUEST_SECONDS", 2)
#: Hosts on which Gateways may be asked for their state: networks, addresses, host names, and all names below one
#: (".example.com"). The Gateways' addresses come from ZooKeeper. The default is this machine and private networks;
#: name only your Gateways' own where you can.
GATEWAY_ADMIN_HOSTS = [
    text.strip()
    for text in os.environ.get(
        "HADASH_GATEWAY_ADMIN_HOSTS", "127.0.0.0/8,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7"
    ).split(",")
    if text.strip()
]
#: The longest answer of a Gateway in bytes: 20,000 connections (its own limit) take some 10 MB. And seconds for all
#: of it to arrive.
GATEWAY_ANSWER_BYTES = int(number("HADASH_GATEWAY_ANSWER_BYTES", 64 * 1024 * 1024))
GATEWAY_ANSWER_SECONDS = number("HADASH_GATEWAY_ANSWER_SECONDS", 10)
#: Length of a Gateway's traffic samples; it has to be the Gateway's own setting of this name.
GATEWAY_TRAFFIC_SECONDS = number("HADASH_GATEWAY_TRAFFIC_SECONDS", 0.5)
