"""Rebuilds the standby of a mirror: deletes its Topics, creates them again, and copies them from the first
record on.

After a switch without it, the lost side holds records that the other side does not have, so copying cannot
continue there. A standby whose records are known to be wrong (headers of an earlier connector, times, lost
records) can also be corrected only like this.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from hadash.inventory.models import Cluster
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.errors import KafkaError, TopicsUnknown
from hadash.kafka.values import Partition, TopicInfo
from hadash.mirroring import comparing
from hadash.mirroring.creating import await_topics, new_topics
from hadash.mirroring.models import Mirror
from hadash.mirroring.offsets import OffsetSync, ending_at, written_up_to
from hadash.mirroring.services import (
    Fence,
    MirrorError,
    await_stopped,
    cluster_client,
    connect_client,
    connector_of,
    copied_by,
    nobody_else,
    offset_syncs_of,
    save_offset_syncs,
    start,
    status_of,
)
from hadash.mirroring.signals import standby_renewed
from hadash.mirroring.standby import deny_writes
from hadash.mirroring.standby_topics import make_active, make_standby, needs
from hadash.sentences import joined, say

#: Seconds between two looks at Topics that are being deleted.
POLL_SECONDS = 0.5


class NotReported(MirrorError):
    """The lost side holds records that were not reported yet; nothing was deleted. A new report is needed."""


class NotCopies(MirrorError):
    """A standby holds records that may not be copies, so its source may not have them; nothing was deleted."""


def rebuild(
    mirror: Mirror, lost: Cluster, reported: Mapping[Partition, int], fence: Fence = nobody_else
) -> None:
    """Rebuild the Topics of ``mirror`` on ``lost``, the source of a switch without it. May be repeated after it
    was interrupted at any point.

    The records of these Topics on ``lost`` are deleted, and with them the offsets of groups there.

    :param reported: the offsets up to which the records on ``lost`` are known, because the other side has them
        or a user has read the report.
    :raises NotReported: ``lost`` holds records beyond that.
    :raises MirrorError: the mirror is being turned round, or it runs from ``lost`` again, or Topics are not
        deleted in time.
    :raises KafkaError, ConnectError: a server does not answer.
    """
    source = mirror.pair.other(lost)
    if mirror.source_id != lost.pk:
        if mirror.source_id == source.pk and not mirror.turning:
            start(mirror, source, None, fence)  # an earlier attempt was interrupted before or after it
            _await_running(mirror)
            return
        raise MirrorError(say("Mirror %(mirror)s is being turned round.", mirror=mirror.name))
    if not mirror.turning:
        # A forced switch holds its mirrors until they are rebuilt: this one was resumed since.
        raise MirrorError(
            say(
                "Mirror %(mirror)s copies from %(cluster)s again: it is not to be rebuilt.",
                mirror=mirror.name,
                cluster=lost.name,
            )
        )
    _rebuild(mirror, lost, reported, fence)


def mark(mirror: Mirror) -> None:
    """Mark the standby of a mirror for rebuilding: until it is rebuilt the mirror counts as turning, so that no
    switch uses it, and no look changes it. Idempotent.

    :raises MirrorError: a switch is turning it round.
    """
    with transaction.atomic():
        held = Mirror.objects.select_for_update(of=("self",)).get(pk=mirror.pk)
        if held.turning and not held.rebuilding:
            raise MirrorError(say("Mirror %(mirror)s is being turned round by a switch.", mirror=mirror.name))
        held.turning = held.rebuilding = True
        held.save(update_fields=["turning", "rebuilding"])
    mirror.refresh_from_db()


def refuse_originals(mirror: Mirror) -> None:
    """Check, before a standby is rebuilt and while its mirror may still run, that it holds only copies.

    :raises NotCopies: it may hold originals: records that differ may have come from it before a switch, or it
        holds more than its source.
    :raises KafkaError: a cluster does not answer.
    """
    if originals := comparing.originals_of(mirror):
        raise NotCopies(joined(originals, say("Nothing was deleted.")))
    _refuse_originals(mirror, written=None)


def rebuild_standby(mirror: Mirror, fence: Fence = nobody_else, discard_originals: bool = False) -> None:
    """Rebuild the standby of a mirror that was marked (:func:`mark`). May be repeated after it was interrupted
    at any point.

    The records of the standby are deleted, and with them the offsets of groups there.

    :param discard_originals: also rebuild it if it holds records that may not be copies.
    :raises NotCopies: it does. The mirror is no longer marked then, and runs if it ran before.
    :raises MirrorError, KafkaError, ConnectError: as for :func:`rebuild`.
    """
    if not mirror.rebuilding:
        raise MirrorError(say("Mirror %(mirror)s is not marked for rebuilding.", mirror=mirror.name))
    status = status_of(mirror)
    ran = status is not None and status.state == "RUNNING"
    try:
        _rebuild(mirror, mirror.target, None, fence, discard_originals)
    except NotCopies:
        fence()
        if ran:
            connect_client().resume(connector_of(mirror, mirror.source))
        mirror.turning = mirror.rebuilding = False
        mirror.save(update_fields=["turning", "rebuilding"])
        raise


def _rebuild(
    mirror: Mirror,
    standby: Cluster,
    reported: Mapping[Partition, int] | None,
    fence: Fence,
    discard_originals: bool = False,
) -> None:
    """Rebuild one side of a mirror that counts as turning.

    :param reported: as in :func:`rebuild`; ``None`` for a standby, which holds copies of its source.
    :param discard_originals: for a standby, as in :func:`rebuild_standby`.
    """
    source = mirror.pair.other(standby)
    here, there = cluster_client(source), cluster_client(standby)
    # Before anything is deleted: the remaining Topics exist, and their settings for the new ones are read.
    infos = _all_of(here, mirror.topics)
    configs = here.topic_configs(mirror.topics)
    partitions = [Partition(t, index) for t, info in infos.items() for index in range(len(info.leaders))]
    here.start_offsets(partitions)
    if reported is not None:
        _refuse_unreported(there, mirror.topics, reported)
    brokers = len(there.brokers())
    connect = connect_client()
    both = (connector_of(mirror, standby), connector_of(mirror, source))
    names = [name for name in both if connect.status(name) is not None]
    for name in names:
        fence()
        connect.stop(name)
        await_stopped(name)
    fence()
    # Checked again now that the mirror no longer writes to it, and Connect has committed its progress.
    if reported is not None:
        _refuse_unreported(there, mirror.topics, reported)
    elif not discard_originals:
        _refuse_originals(mirror, copied_by(mirror))
    make_active(mirror, source)
    needed = needs(source, standby, mirror.topics)
    fence()
    _delete_topics(there, mirror.topics)
    # Not before: Connect's commits show which records of these Topics are copies, also after an interruption.
    for name in names:
        fence()
        connect.forget_offsets(name)
        connect.delete(name)
    fence()
    _create_topics(there, new_topics(infos, configs, needed, brokers))
    await_topics(there, list(mirror.topics))
    make_standby(standby, needed.standby)
    deny_writes(mirror.pair, standby, mirror.topics)
    # Read again, now that no other client may write; with await_topics, because another broker may learn of the
    # new Topics later.
    starts, ends = here.start_offsets(partitions), await_topics(there, list(mirror.topics))
    filled = sorted(p for p, end in ends.items() if end != 0)
    if filled:
        raise MirrorError(
            say(
                "Somebody writes to %(topic)s on cluster %(cluster)s, past the Gateway.",
                topic=filled[0],
                cluster=standby.name,
            )
        )
    # Before it runs: looks count in this direction from now on. (A standby stays marked until it runs.)
    with transaction.atomic():
        fence()
        mirror.source, mirror.turning, mirror.known_ends, mirror.known_ends_at = (
            source,
            mirror.rebuilding,
            [],
            None,
        )
        mirror.topic_settings, mirror.comparison, mirror.gaps = needed.active, {}, []
        mirror.compared_at = timezone.now()  # a running comparison is about the old records
        mirror.save(
            update_fields=[
                *("source", "turning", "known_ends", "known_ends_at"),
                *("topic_settings", "comparison", "compared_at", "gaps"),
            ]
        )
        save_offset_syncs(mirror, {p: OffsetSync(starts[p], 0) for p in partitions})
        standby_renewed.send(Mirror, mirror=mirror)
    start(mirror, source, None, fence)
    _await_running(mirror)
    if mirror.rebuilding:
        fence()
        mirror.turning = mirror.rebuilding = False
        mirror.save(update_fields=["turning", "rebuilding"])


def _refuse_unreported(
    client: ClusterClient, topics: Sequence[str], reported: Mapping[Partition, int]
) -> None:
    """Check that all records were reported. (A missing Topic holds none: an interrupted attempt has deleted
    it.)

    :raises NotReported: a partition ends beyond the reported offset, or it was not reported and is not empty.
    """
    for partition, end in sorted(client.end_offsets(_partitions_known(client, topics)).items()):
        covered = reported.get(partition, 0)
        if end > covered:
            raise NotReported(
                say(
                    "%(partition)s on cluster %(cluster)s ends at %(end)s, and what it holds is reported up to "
                    "%(covered)s only. Nothing was deleted.",
                    partition=partition,
                    cluster=client.name,
                    end=end,
                    covered=covered,
                )
            )


def _refuse_originals(mirror: Mirror, written: Mapping[Partition, int] | None) -> None:
    """Check that a standby holds only copies. (Missing Topics and emptied partitions hold nothing.)

    :param written: the last record of each partition that the mirror has copied, as Connect has committed it
        when it stopped; ``None`` while it runs, because Connect commits a moment after it has written.
    :raises NotCopies: the standby ends beyond the records that the mirror has written there, or beyond those of
        its source.
    """
    here, there = cluster_client(mirror.source), cluster_client(mirror.target)
    known = _partitions_known(there, mirror.topics)
    starts, ends = there.start_offsets(known), there.end_offsets(known)
    source_ends, syncs = here.end_offsets(_partitions_known(here, mirror.topics)), offset_syncs_of(mirror)
    for partition, end in sorted(ends.items()):
        if starts[partition] == end:
            continue
        sync, copies = syncs.get(partition), 0
        if sync is not None:
            copies = ending_at(sync, source_ends.get(partition, 0)).target
            if written is not None:
                copies = min(copies, written_up_to(sync, written.get(partition)))
        if end > copies:
            raise NotCopies(
                say(
                    "%(partition)s on cluster %(target)s ends at %(end)s, and is known to hold copies up to "
                    "%(copies)s only. The rest may be originals: somebody has written there past the Gateway, or "
                    "records are gone from %(source)s. Nothing was deleted.",
                    partition=partition,
                    target=there.name,
                    end=end,
                    copies=max(copies, 0),
                    source=here.name,
                )
            )


def _partitions_known(client: ClusterClient, topics: Sequence[str]) -> list[Partition]:
    """Return the partitions of ``topics``, without missing Topics."""
    known = client.topics()
    return [Partition(t, index) for t in topics if t in known for index in range(len(known[t].leaders))]


def _all_of(client: ClusterClient, topics: Sequence[str]) -> dict[str, TopicInfo]:
    """Return ``topics`` from the cluster. Requests all of its Topics: requesting one by name can create it.

    :raises TopicsUnknown: it does not know one.
    :raises KafkaError: it has no leader for a partition, or does not answer.
    """
    found = client.topics()
    missing = tuple(sorted(set(topics) - set(found)))
    if missing:
        raise TopicsUnknown(
            say(
                "Cluster %(cluster)s does not know Topic %(topic)s (any more, or yet).",
                cluster=client.name,
                topic=missing[0],
            ),
            missing,
        )
    for topic in sorted(topics):
        if -1 in found[topic].leaders:
            raise KafkaError(
                say(
                    "Cluster %(cluster)s has no leader for %(topic)s-%(index)s.",
                    cluster=client.name,
                    topic=topic,
                    index=found[topic].leaders.index(-1),
                )
            )
    return {topic: found[topic] for topic in sorted(topics)}


def _await_running(mirror: Mirror) -> None:
    """Wait until the mirror's connector and tasks run. :raises MirrorError: they do not in time."""
    deadline = time.monotonic() + settings.SWITCH_REVERSE_SECONDS
    while True:
        status = status_of(mirror)
        if status is not None and status.running:
            return
        if time.monotonic() > deadline:
            raise MirrorError(
                say(
                    "Mirror %(mirror)s does not run %(seconds)s s after its start: look at its connector.",
                    mirror=mirror.name,
                    seconds=f"{settings.SWITCH_REVERSE_SECONDS:.0f}",
                )
            )
        time.sleep(POLL_SECONDS)


def _delete_topics(client: ClusterClient, topics: list[str]) -> None:
    """Delete Topics, and wait until the cluster no longer lists them."""
    client.delete_topics(topics)
    deadline = time.monotonic() + settings.MIRROR_DELETE_SECONDS
    while left := sorted(set(client.topics()) & set(topics)):
        if time.monotonic() > deadline:
            raise MirrorError(
                say(
                    "Topic %(topic)s on cluster %(cluster)s is not gone after %(seconds)s s. Does "
                    "delete.topic.enable prevent it?",
                    topic=left[0],
                    cluster=client.name,
                    seconds=f"{settings.MIRROR_DELETE_SECONDS:.0f}",
                )
            )
        time.sleep(POLL_SECONDS)


def _create_topics(client: ClusterClient, topics: Mapping[str, tuple[int, int, Mapping[str, str]]]) -> None:
    """Create Topics that were just deleted. A cluster with ZooKeeper continues deleting after it no longer
    lists them, and treats them as existing meanwhile, so the request is repeated.
    """
    deadline = time.monotonic() + settings.MIRROR_DELETE_SECONDS
    while missing := set(topics) - set(client.topics()):
        client.create_topics({name: topics[name] for name in missing})
        if time.monotonic() > deadline:
            raise MirrorError(
                say(
                    "Topic %(topic)s could not be made again on cluster %(cluster)s.",
                    topic=min(missing),
                    cluster=client.name,
                )
            )
        time.sleep(POLL_SECONDS)


def unreplicated_of(
    lost: Cluster, points: dict[Partition, OffsetSync], gone: Collection[str] = ()
) -> dict[Partition, tuple[int, int]]:
    """Return the records that ``lost`` holds beyond ``points``: the first and the end offset of each partition
    that has some. A partition without a point was never mirrored, so all its records count.

    :param gone: Topics that ``lost`` has lost for good; they hold nothing.
    :raises TopicsUnknown: it does not know one of the others (yet).
    :raises KafkaError: the cluster does not answer.
    """
    client = cluster_client(lost)
    known = _all_of(client, sorted({p.topic for p in points} - set(gone)))
    partitions = [Partition(t, index) for t, info in known.items() for index in range(len(info.leaders))]
    firsts = {p: points[p].source if p in points else 0 for p in partitions}
    ends = client.end_offsets(partitions)
    return {p: (firsts[p], end) for p, end in sorted(ends.items()) if end > firsts[p]}
