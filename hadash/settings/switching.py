"""Switches, batches, changes of bindings and retirements: their time limits and what they accept."""

from __future__ import annotations

import os

from hadash.settings.environment import flag, number

#: Seconds without a renewed lease after which another worker takes over a running switch. The executor renews it
#: every second; the fencing token also stops an old executor that is only slow.
SWITCH_LEASE_SECONDS = number("HADASH_SWITCH_LEASE_SECONDS", 5)
#: Seconds for which heartbeats are held, so that all members of a group learn of the rebalance together: the
#: clients' default heartbeat.interval.ms.
SWITCH_HOLD_HEARTBEATS_SECONDS = number("HADASH_SWITCH_HOLD_HEARTBEATS_SECONDS", 3)
#: Seconds for all members to commit and to park their rejoin: the clients' default session.timeout.ms, after which
#: the cluster removes a member that does not answer.
SWITCH_QUIESCE_SECONDS = number("HADASH_SWITCH_QUIESCE_SECONDS", 45)
#: Seconds for every Gateway to put the block into effect, with all requests in flight answered. Beyond it the switch
#: rolls back, long before a parked client times out (30 s).
SWITCH_BLOCK_SECONDS = number("HADASH_SWITCH_BLOCK_SECONDS", 10)
#: Seconds for the mirror to drain, with writes blocked. The precheck measures the lag first.
SWITCH_DRAIN_SECONDS = number("HADASH_SWITCH_DRAIN_SECONDS", 10)
#: Seconds for which clients may wait in all, from the block until forward begins; beyond it the switch rolls back,
#: even when no single stage has taken too long. Java's request.timeout.ms is 30 s, the shortest time after which a
#: common client abandons a request; the rest of it is for the way back.
SWITCH_BLOCKED_SECONDS = number("HADASH_SWITCH_BLOCKED_SECONDS", 25)
#: Seconds for Connect to accept the order to pause a mirror, with writes blocked. It takes some hundredths of one.
SWITCH_CONNECT_SECONDS = number("HADASH_SWITCH_CONNECT_SECONDS", 5)
#: Seconds for the checks of a preview or a request, while a person waits for the page; each request to a server has
#: its own limit besides. The checks take a second, longer with thousands of Topics, and up to
#: HADASH_MIRROR_CATCH_UP_SECONDS more when a mirror has just been turned round.
SWITCH_CHECK_SECONDS = number("HADASH_SWITCH_CHECK_SECONDS", 30)
#: The lag, in records over all partitions, with which a switch may start: what a mirror copies in a second.
SWITCH_MAX_LAG = int(number("HADASH_SWITCH_MAX_LAG", 5000))
#: What auditors have to say of the mirrors before a switch (docs/auditors.md): "ignored", "differences" (they stop it;
#: mirrors that nobody has proved to be equal are told in its log) or "proof" (only mirrors that are proved equal are
#: switched). A pair's rules may say otherwise. Without auditors there is no proof: that must not stop everybody.
SWITCH_AUDIT = os.environ.get("HADASH_SWITCH_AUDIT", "differences")
if SWITCH_AUDIT not in ("ignored", "differences", "proof"):
    raise ValueError(f"HADASH_SWITCH_AUDIT={SWITCH_AUDIT!r} is not ignored, differences or proof.")
#: Whether Topics with several replicas may be switched although a producer writes to them with acks=1 or acks=0.
#: Such records are acknowledged when only the leader has them, and neither a mirror nor a proof sees them before
#: the followers have them: up to the broker's replica.lag.time.max.ms (30 s) of them can be left behind.
SWITCH_ACCEPT_ACKS_1 = flag("HADASH_SWITCH_ACCEPT_ACKS_1", False)
#: Whether clients may be switched although the target's quotas allow them less than the source's, or although hadash
#: cannot read the quotas (brokers before 2.6, or no right to read them). To its users, a client that had 50 MB/s and
#: gets 1 MB/s looks stopped. Set it for a standby that is meant to be smaller, or for fleets without quotas.
SWITCH_ACCEPT_QUOTAS = flag("HADASH_SWITCH_ACCEPT_QUOTAS", False)
#: Addresses and networks from which brokers see connections through Gateways: the Gateways' own, or the clients'
#: with the PROXY protocol. ACLs for one of these hosts count as written; nobody's rights may depend on an ACL for
#: any other host.
SWITCH_ACL_HOSTS = tuple(
    host.strip() for host in os.environ.get("HADASH_SWITCH_ACL_HOSTS", "").split(",") if host.strip()
)
#: Assignors of this fleet whose members revoke their partitions before they rejoin their group, separated by commas;
#: Kafka's own need not be named. A group with an unknown assignor is not moved: its members might go on reading
#: during the switch.
SWITCH_EAGER_ASSIGNORS = tuple(
    name.strip() for name in os.environ.get("HADASH_SWITCH_EAGER_ASSIGNORS", "").split(",") if name.strip()
)
#: Client libraries, by their names (KIP-511), whose consumers continue from their own positions when they rejoin a
#: group, separated by commas: they are not moved where offsets differ. Libraries that hadash knows
#: (``hadash/switching/stages/reading_on.py``) need not be named.
SWITCH_READING_ON = tuple(
    name.strip() for name in os.environ.get("HADASH_SWITCH_READING_ON", "").split(",") if name.strip()
)
#: Records at the end of each partition whose checksums must match on both sides.
SWITCH_LAST_RECORDS = int(number("HADASH_SWITCH_LAST_RECORDS", 16))
#: Seconds that a switch waits for a Gateway after forward before it asks a person to decide.
SWITCH_FORWARD_SECONDS = number("HADASH_SWITCH_FORWARD_SECONDS", 60)
#: Seconds for the opposite mirror to start.
SWITCH_REVERSE_SECONDS = number("HADASH_SWITCH_REVERSE_SECONDS", 60)
#: Seconds for all clients to be seen on the target (the group's join delay is 3 s).
SWITCH_VERIFY_SECONDS = number("HADASH_SWITCH_VERIFY_SECONDS", 60)
#: Seconds for which all clients have to stay on the target before the switch counts as verified.
SWITCH_VERIFY_HOLD_SECONDS = number("HADASH_SWITCH_VERIFY_HOLD_SECONDS", 2)
#: After a forced switch, clients are expected on the target if they used what moves within so many seconds before
#: the lost source was last seen: longer than the pauses of a busy client, shorter than the time that an application
#: is stopped on purpose.
SWITCH_USED_LATELY_SECONDS = number("HADASH_SWITCH_USED_LATELY_SECONDS", 120)
#: Seconds between two looks for clients that wait for a switch that PostgreSQL does not run; each reads all bindings.
STRAY_LOOK_SECONDS = number("HADASH_STRAY_LOOK_SECONDS", 60)

#: Seconds between two attempts to read a lost source's unreplicated records.
UNREPLICATED_LOOK_SECONDS = number("HADASH_UNREPLICATED_LOOK_SECONDS", 10)
#: Seconds for which a lost source that answers may not know Topics that it had, before they count as lost with it: a
#: cluster that starts reports for a moment that its Topics do not exist.
UNREPLICATED_UNKNOWN_SECONDS = number("HADASH_UNREPLICATED_UNKNOWN_SECONDS", 300)
#: Seconds after the decision for which rebuilding the lost side is retried while a server does not answer. Later a
#: person has to decide again, because the data may be needed otherwise by then.
UNREPLICATED_REBUILD_SECONDS = number("HADASH_UNREPLICATED_REBUILD_SECONDS", 900)
#: Clients that wrote or read in the last so many seconds before a switch must do so after it: longer than the pauses
#: of steady traffic and the clients' batching.
SWITCH_ACTIVE_SECONDS = number("HADASH_SWITCH_ACTIVE_SECONDS", 5)
#: Seconds between two looks at something that a switch waits for: while clients are blocked, and otherwise.
SWITCH_FAST_POLL_SECONDS = number("HADASH_SWITCH_FAST_POLL_SECONDS", 0.01)
SWITCH_POLL_SECONDS = number("HADASH_SWITCH_POLL_SECONDS", 0.1)
#: Seconds from the last approval (or the beginning of the window) within which a switch has to begin and its
#: consumers have to quiesce: without a worker or ZooKeeper it would run much later, when nobody watches.
SWITCH_BEGIN_SECONDS = number("HADASH_SWITCH_BEGIN_SECONDS", 600)
#: Seconds for which a switch whose checks hold stays paused until somebody resumes it; its radius is reserved
#: meanwhile.
SWITCH_RESUME_SECONDS = number("HADASH_SWITCH_RESUME_SECONDS", 1800)
#: Seconds that DiDi's engines, which acknowledge nothing, get to act on what was written into their ZooKeepers. A
#: broker learns of it by a watch; it closes the connection of a client that is bound elsewhere 2 s after the next
#: request (500 ms of throttle and 1.5 s more, docs/didi-engine.md 2). One more second is for slow brokers. It must be
#: less than HADASH_SWITCH_BLOCK_SECONDS. (DiDi's own platform waits 10 s and then relies on a sum of lags; hadash
#: proves what the mirror holds.)
DIDI_APPLY_SECONDS = number("HADASH_DIDI_APPLY_SECONDS", 3)
#: Seconds for which a manual change of bindings waits for the engines to put it into effect, before it names those
#: that are late. Gateways need milliseconds, DiDi's engines HADASH_DIDI_APPLY_SECONDS. The change stays applied:
#: no client has moved.
BINDING_APPLY_SECONDS = number("HADASH_BINDING_APPLY_SECONDS", 10)
#: Hours after which an undecided request expires.
SWITCH_EXPIRY_HOURS = number("HADASH_SWITCH_EXPIRY_HOURS", 24)
#: Days for which the journal and the placement of an ended switch stay in ZooKeeper: a PostgreSQL that is restored
#: from a backup reads there how far its switches have come, and such a backup is a week old at most.
SWITCH_JOURNAL_DAYS = number("HADASH_SWITCH_JOURNAL_DAYS", 7)
#: Days from the success of a migration until the old Topics are removed, unless the request says otherwise: two weekly
#: jobs have run on the new cluster by then. And the limits for a request or a postponement: at least a day (in which
#: a forgotten client shows), and at most a quarter (after which nobody remembers the old Topics).
RETIREMENT_DAYS = int(number("HADASH_RETIREMENT_DAYS", 14))
RETIREMENT_MIN_DAYS = int(number("HADASH_RETIREMENT_MIN_DAYS", 1))
RETIREMENT_MAX_DAYS = int(number("HADASH_RETIREMENT_MAX_DAYS", 90))
#: The most drafts of requests that one person keeps: more than anybody looks through, and few enough to keep the
#: table small.
DRAFTS_PER_USER = int(number("HADASH_DRAFTS_PER_USER", 50))
#: The most characters in one draft: a reason and a thousand Topics.
DRAFT_MAX_CHARACTERS = int(number("HADASH_DRAFT_MAX_CHARACTERS", 300_000))
#: Seconds without a renewed lease after which another worker continues a removal. It is renewed before each step, and
#: no step takes longer: Connect may rebalance for 30 s and stop a mirror for another 30.
RETIREMENT_LEASE_SECONDS = number("HADASH_RETIREMENT_LEASE_SECONDS", 120)
#: Seconds until a removal is retried after a server did not answer. Nobody waits for it.
RETIREMENT_RETRY_SECONDS = number("HADASH_RETIREMENT_RETRY_SECONDS", 900)
#: Seconds for deleted Topics to be gone from the cluster's metadata: its controller deletes large ones in the
#: background.
RETIREMENT_GONE_SECONDS = number("HADASH_RETIREMENT_GONE_SECONDS", 30)
#: Seconds between two looks that both have to miss a Topic before it counts as gone: a broker that has just started
#: reports for a moment, well below a second, that its Topics do not exist.
RETIREMENT_MISSING_SECONDS = number("HADASH_RETIREMENT_MISSING_SECONDS", 3)
#: Seconds between two looks for removals that are due.
RETIREMENT_LOOK_SECONDS = number("HADASH_RETIREMENT_LOOK_SECONDS", 15)
#: The most radii of one batch: people read what they approve, and each radius is planned first with the batch and
#: again when its turn comes. Ten times as many would still be planned in seconds.
BATCH_MAX_ITEMS = int(number("HADASH_BATCH_MAX_ITEMS", 1000))
#: Switches of a batch that run at once: the default, and the most. Each occupies a worker's thread for its ten
#: seconds, and a worker of the demo has eight; other switches need some of them, too.
BATCH_PARALLELISM = int(number("HADASH_BATCH_PARALLELISM", 4))
BATCH_MAX_PARALLELISM = int(number("HADASH_BATCH_MAX_PARALLELISM", 16))
#: The default number of radii in a wave: about a minute of switches, after which a look is worth while.
BATCH_WAVE_SIZE = int(number("HADASH_BATCH_WAVE_SIZE", 10))
#: Seconds for which a radius whose turn has come is retried while ZooKeeper or a cluster does not answer, or while a
#: change of its bindings is being written. An election takes some seconds and a restart up to a minute; after two
#: minutes people have to know.
BATCH_PATIENCE_SECONDS = number("HADASH_BATCH_PATIENCE_SECONDS", 120)
#: Seconds between two looks at running batches. The end of a switch advances its batch at once; these looks are for
#: signals that were lost with a worker.
BATCH_ADVANCE_SECONDS = number("HADASH_BATCH_ADVANCE_SECONDS", 2)
#: Days for which observed access counts as use when the users of a Topic are determined.
ACCESS_WINDOW_DAYS = number("HADASH_ACCESS_WINDOW_DAYS", 7)
