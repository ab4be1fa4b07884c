"""Carrying out the commands of a stage: the only place where a switch touches the world."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import singledispatchmethod
from typing import Any

from django.conf import settings

from hadash.bindings import catalogue
from hadash.bindings.client import reaching
from hadash.bindings.dialect import Waiting
from hadash.bindings.model import Binding, BindingState, Journal, Placement
from hadash.bindings.returning import ExpectedBack
from hadash.bindings.store import Edit
from hadash.governance.findings import has_joined
from hadash.inventory import services as inventory
from hadash.inventory.dialects import dialect_of
from hadash.inventory.gateways import ask_all, ask_every, gateway_members, zookeeper
from hadash.inventory.models import Access, Cluster, Pair
from hadash.inventory.selectors import access_since
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.errors import KafkaError
from hadash.kafka.values import Committed, Partition, Record
from hadash.mirroring import looking, standby
from hadash.mirroring import services as mirroring
from hadash.mirroring.acls import Denied
from hadash.mirroring.models import Mirror
from hadash.mirroring.offsets import OffsetSync, to_try
from hadash.mirroring.proof import compare_tails, same_next
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.execution import lost_source, quotas, unreplicated
from hadash.switching.execution.settled import furthest_settled
from hadash.switching.machines.switches import Stage
from hadash.switching.plan import Plan
from hadash.switching.planning.connected import Name, where_they_are
from hadash.switching.planning.current_bindings import bound_to
from hadash.switching.planning.proposals import plan_for
from hadash.switching.policy import limits_of
from hadash.switching.stages import commands as do
from hadash.switching.stages.assignors import EAGER, Rebalancing, UsedAssignors, rebalancing
from hadash.switching.stages.context import (
    StageContext,
    denied_of,
    points_from_json,
    points_to_json,
    room_for,
    seen_to_json,
    with_denied,
)
from hadash.switching.stages.positions import Assigned, Reader
from hadash.switching.stages.quota_checks import QuotaCheck, QuotasFound
from hadash.switching.stages.reading_on import READING_ON, reads_on
from hadash.switching.stages.run import StageFailed
from hadash.switching.stages.self_assigned import self_assigned

log = logging.getLogger(__name__)

#: The state of a group whose coordinator tells who reads what.
STABLE = "Stable"

#: AppIDs up to which each is asked for by itself; beyond it the Gateways are asked for everybody.
ASKED_BY_NAME = 10


def ask_about(
    plan: Plan, ask: Callable[..., list[dict[str, Any]]], path: str, key: str
) -> list[dict[str, Any]]:
    """What Gateways say of the plan's AppIDs (of all of their clients, also those that stay).

    :param ask: ``ask_all``, or ``ask_every`` for what must not be decided on half of the truth.
    """
    wanted = set(plan.appids)
    if len(wanted) > ASKED_BY_NAME:
        return [entry for entry in ask(path, key) if entry["appid"] in wanted]
    return [entry for appid in plan.appids for entry in ask(path, key, appid=appid)]


def connected(
    plan: Plan, ask: Callable[..., list[dict[str, Any]]], lately: float | None = None
) -> dict[Name, set[str]]:
    """See :func:`hadash.switching.planning.connected.where_they_are`; :param ask: as of :func:`ask_about`."""
    connections = ask_about(plan, ask, "/clients", "clients")
    access = ask_about(plan, ask, "/access", "access") if plan.moves_by_topic else []
    return where_they_are(plan, connections, access, lately)


class CommandHandler:
    """One switch's hands.

    :param journal: the switch, stage and token that every write carries; ``None`` for a dry run, which must not
        write.
    :param said: called with each sentence of the stage.
    :param fence: raises :class:`StaleWriter` when somebody else is the executor now; called within commands that take
        several steps.
    """

    def __init__(
        self,
        plan: Plan,
        journal: Journal | None,
        facts: StageContext,
        said: Callable[[Sentence], None],
        fence: Callable[[], None] = lambda: None,
    ) -> None:
        self.plan = plan
        self.journal = journal
        self.facts = facts
        self._said = said
        self._fence = fence
        self._began = time.monotonic()
        self._pair = Pair.objects.select_related("first", "second", "default").get(name=plan.pair)
        self._clusters: dict[str, Cluster] = {c.name: c for c in self._pair.clusters}
        self._partitions: list[Partition] | None = None

    def begin(self, stage: Stage) -> None:
        """Another stage of the same switch, in the same process."""
        assert self.journal is not None
        self.journal = replace(self.journal, stage=stage.value)
        self._began = time.monotonic()
        if stage in (Stage.DRAIN, Stage.FOLLOW):
            # While consumers settled, writes went on, and a Topic may have got another partition.
            self._partitions = None

    def _client(self, cluster: str) -> ClusterClient:
        return mirroring.cluster_client(self._clusters[cluster])

    def _all_partitions(self) -> list[Partition]:
        if self._partitions is None:
            # A lost source cannot say what it has.
            known = self.plan.target if self.plan.kind.spec.source_lost else self.plan.source
            self._partitions = mirroring.partitions_of(self._client(known), self.plan.topics)
        return self._partitions

    def _mirrors(self) -> list[Mirror]:
        found = Mirror.objects.filter(pair=self._pair, name__in=self.plan.mirrors)
        return list(found.select_related("source", "pair__first", "pair__second"))

    @singledispatchmethod
    def carry_out(self, command: Any) -> Any:
        """The answer to one command, as its class says."""
        raise TypeError(f"unknown command {command!r}")

    @carry_out.register
    def _(self, command: do.Say) -> None:
        self._said(command.sentence)

    @carry_out.register
    def _(self, command: do.Pause) -> float:
        if command.seconds:
            time.sleep(command.seconds)
        return time.monotonic() - self._began

    @carry_out.register
    def _(self, command: do.Together) -> list[Any]:
        *others, last = command.commands
        # The last one here: only this thread has a database connection.
        with ThreadPoolExecutor(max_workers=max(len(others), 1)) as beside:
            started = [beside.submit(self.carry_out, other) for other in others]
            answer = self.carry_out(last)
            return [*(future.result() for future in started), answer]

    # -- ZooKeeper and Gateways -----------------------------------------------------------------------------------

    @carry_out.register
    def _(self, command: do.ReadBindings) -> dict[str, tuple[str, BindingState] | None]:
        found = bound_to(self._pair, self.plan)
        return {str(identity): (binding.cluster, binding.state) for identity, binding in found.items()}

    @carry_out.register
    def _(self, command: do.WriteBindings) -> int:
        assert self.journal is not None
        binding = Binding(
            command.cluster, command.state, switch=self.journal.switch, stage=self.journal.stage
        )
        edits = [Edit(identity, binding) for identity in self.plan.identities]
        return dialect_of(self._pair).change(edits, self.journal)

    @carry_out.register
    def _(self, command: do.ReadGateways) -> Any:
        return gateway_members()

    @carry_out.register
    def _(self, command: do.ReadWaiting) -> Waiting:
        return dialect_of(self._pair).waiting_for(command.epoch)

    @carry_out.register
    def _(self, command: do.ReadNotTold) -> Waiting:
        return dialect_of(self._pair).not_told(command.epoch)

    @carry_out.register
    def _(self, command: do.PublishPlacement) -> None:
        assert self.journal is not None
        groups = self._client(self.plan.target).groups(self.plan.groups)
        placement = Placement(
            self.plan.target,
            dict(command.leaders),
            {name: group.coordinator for name, group in groups.items() if group.coordinator >= 0},
        )
        with reaching():
            catalogue.publish_placement(zookeeper(), self.journal.switch, placement)

    @carry_out.register
    def _(self, command: do.ReadSettled) -> dict[tuple[str, str], str]:
        groups = set(self.plan.groups)
        found = ask_about(self.plan, ask_all, "/members", "members")
        return furthest_settled(m for m in found if m["group"] in groups)

    @carry_out.register
    def _(self, command: do.ReadClients) -> dict[str, set[str]]:
        found = connected(self.plan, ask_every, command.lately)
        return {self.plan.who(*name): clusters for name, clusters in found.items()}

    @carry_out.register
    def _(self, command: do.ReadActivity) -> set[tuple[str, str]]:
        found = ask_about(self.plan, ask_every, "/access", "access")
        topics = set(self.plan.topics)
        if self.plan.kind.spec.readers_only:  # others of the same AppID stay, and may read the same
            found = [a for a in found if self.plan.covers(a["appid"], a["client_id"])]
        return {
            (a["kind"], a["resource"])
            for a in found
            if a["cluster"] == command.cluster and a["resource"] in topics
            if a["idle"] is not None and a["idle"] < command.seconds
            if a["kind"] in ("produce", "consume")
        }

    @carry_out.register
    def _(self, command: do.ReadExpectedBack) -> list[ExpectedBack]:
        return dialect_of(self._pair).expected_back(self.plan.appids, self.plan.source)

    # -- clusters -------------------------------------------------------------------------------------------------

    @carry_out.register
    def _(self, command: do.CheckCluster) -> str | None:
        try:
            self._client(command.cluster).brokers()
        except KafkaError as error:
            return str(error)
        return None

    @carry_out.register
    def _(self, command: do.ReadTopics) -> dict[str, tuple[int, ...]]:
        return {
            name: info.leaders
            for name, info in self._client(command.cluster).topics(self.plan.topics).items()
        }

    @carry_out.register
    def _(self, command: do.CopyAcls) -> int:
        source, target = self._clusters[self.plan.source], self._clusters[self.plan.target]
        mirrored = {topic for m in self._mirrors() if m.source_id == source.pk for topic in m.topics}
        closed = sorted(mirrored & set(self.plan.topics))
        return standby.copy_acls(self._pair, source, target, self.plan.appids, closed)

    @carry_out.register
    def _(self, command: do.CheckDenials) -> list[str]:
        source, target = self._clusters[self.plan.source], self._clusters[self.plan.target]
        return standby.denied_beyond(source, target, self.plan.appids, self.plan.topics, self.plan.groups)

    @carry_out.register
    def _(self, command: do.CheckHosts) -> list[str]:
        # A lost source cannot be asked.
        asked = (
            (self.plan.target,) if self.plan.kind.spec.source_lost else (self.plan.source, self.plan.target)
        )
        return standby.depending_on_hosts(
            [self._clusters[name] for name in asked],
            self.plan.appids,
            self.plan.topics,
            self.plan.groups,
            settings.SWITCH_ACL_HOSTS,
        )

    @carry_out.register
    def _(self, command: do.CheckQuotas) -> QuotaCheck:
        return quotas.check(
            self._pair, self.plan, self._client(self.plan.source), self._client(self.plan.target)
        )

    @carry_out.register
    def _(self, command: do.CopyQuotas) -> list[str]:
        return quotas.copy(
            self._pair, self.plan, self._client(self.plan.source), self._client(self.plan.target)
        )

    @carry_out.register
    def _(self, command: do.ReadQuotas) -> QuotasFound:
        return quotas.read(self._pair, self.plan, self._client(self.plan.target))

    @carry_out.register
    def _(self, command: do.CheckSignIn) -> dict[str, tuple[set[str], set[str]]]:
        source = self._client(self.plan.source).scram_users()
        target = self._client(self.plan.target).scram_users()
        return {appid: (source.get(appid, set()), target.get(appid, set())) for appid in self.plan.appids}

    @carry_out.register
    def _(self, command: do.AllowWrites) -> int:
        return standby.allow_writes(self._clusters[command.cluster], self.plan.topics)

    @carry_out.register
    def _(self, command: do.ReadLateBrokers) -> list[int]:
        return standby.late_brokers(self._clusters[command.cluster], self.plan.topics, self.plan.appids)

    @carry_out.register
    def _(self, command: do.DenyWrites) -> int:
        made = denied_of(self.facts.values, command.cluster)
        cluster = self._clusters[command.cluster]

        def keep(rules: list[Denied]) -> None:
            """In ZooKeeper, too: by the notes in PostgreSQL alone, one that forgets them leaves rules that nobody takes away."""
            kept = with_denied(self.facts.values, command.cluster, rules)
            if kept is None:
                log.warning(
                    "switch %s: ZooKeeper has no room to note %d write denials", self.plan.scope, len(rules)
                )
            else:
                self.facts.put("denied", kept)

        return standby.deny_writes(self._pair, cluster, self.plan.topics, made, keep)

    @carry_out.register
    def _(self, command: do.WarmUp) -> None:
        partitions = self._all_partitions()
        self.carry_out(do.ReadAnchors())
        with ThreadPoolExecutor(max_workers=2) as beside:
            for done in [
                beside.submit(self._warm_up, c, partitions) for c in (self.plan.source, self.plan.target)
            ]:
                done.result()
        self._try_group_offsets(partitions)

    def _warm_up(self, cluster: str, partitions: list[Partition]) -> None:
        client = self._client(cluster)
        starts = client.start_offsets(partitions)
        for count in (1, settings.SWITCH_TAIL_RECORDS):
            client.tail(client.end_offsets(partitions), starts, count)
        client.group_offsets(self.plan.groups)

    def _try_group_offsets(self, partitions: list[Partition]) -> None:
        """Write what translate will write over: whether offsets can be written shows before clients wait for it."""
        source, target = self._client(self.plan.source), self._client(self.plan.target)
        committed = source.group_commits(self.plan.groups)
        tried = to_try(committed, target.group_commits(self.plan.groups), target.start_offsets(partitions))
        # (The fence: however long the reading took, who was replaced would write over what his successor has translated.)
        target.set_group_offsets(tried, self._fence)

    @carry_out.register
    def _(self, command: do.ReadMembers) -> dict[str, set[str]]:
        groups = self._client(command.cluster).groups(self.plan.groups)
        return {name: {member.member_id for member in group.members} for name, group in groups.items()}

    @carry_out.register
    def _(self, command: do.ReadEnds) -> dict[Partition, int]:
        return self._client(command.cluster).end_offsets(self._all_partitions())

    @carry_out.register
    def _(self, command: do.ReadStarts) -> dict[Partition, int]:
        return self._client(command.cluster).start_offsets(self._all_partitions())

    @carry_out.register
    def _(self, command: do.ReadGroupOffsets) -> dict[str, dict[Partition, int]]:
        return self._client(command.cluster).group_offsets(self.plan.groups)

    @carry_out.register
    def _(self, command: do.ReadCommits) -> dict[str, dict[Partition, Committed]]:
        return self._client(command.cluster).group_commits(self.plan.groups)

    @carry_out.register
    def _(self, command: do.ReadAssigned) -> Assigned:
        topics = set(self.plan.topics)
        hosts = self._hosts()
        found: dict[str, dict[Partition, frozenset[Reader]] | None] = {}
        for name, group in self._client(command.cluster).groups(self.plan.groups).items():
            if group.members and group.state != STABLE:
                found[name] = None
                continue
            given: dict[Partition, frozenset[Reader]] = {}
            for member in group.members:
                reader = Reader(member.client_id, hosts.get((name, member.member_id), ""))
                for partition in member.partitions:
                    if partition.topic in topics:
                        given[partition] = given.get(partition, frozenset()) | {reader}
            found[name] = given
        return found

    def _hosts(self) -> dict[tuple[str, str], str]:
        """From where the members of groups come, by group and member id, as the Gateways see it. (Their coordinator sees the Gateway.)"""
        members = ask_about(self.plan, ask_every, "/members", "members")
        return {(m["group"], m["member_id"]): m["host"] for m in members}

    @carry_out.register
    def _(self, command: do.ReadPositions) -> list[tuple[Reader, Partition, int]]:
        topics = set(self.plan.topics)
        # Of every Gateway: the lowest of half of the positions could skip records.
        found = ask_about(self.plan, ask_every, "/positions", "positions")
        return [
            (Reader(entry["client_id"], entry["host"]), Partition(topic, index), offset)
            for entry in found
            if entry["cluster"] == self.plan.source and entry["client_id"] in command.client_ids
            for topic, index, offset in entry["offsets"]
            if topic in topics
        ]

    @carry_out.register
    def _(self, command: do.WriteGroupOffsets) -> None:
        self._client(self.plan.target).set_group_offsets(command.offsets, self._fence)

    @carry_out.register
    def _(self, command: do.RemoveGroupOffsets) -> None:
        self._client(self.plan.target).remove_group_offsets(command.partitions, self._fence)

    # -- mirrors --------------------------------------------------------------------------------------------------

    @carry_out.register
    def _(self, command: do.ComputePlan) -> Plan | list[Sentence]:
        inventory.collect_access(every=True)
        try:
            return plan_for(self._pair, self.plan.scope, self._clusters[self.plan.target], self.plan.kind)
        except Refused as refused:
            return refused.reasons

    @carry_out.register
    def _(self, command: do.CheckAcks) -> list[str]:
        topics = self._client(self.plan.source).topics(self.plan.topics)
        replicated = [name for name, info in topics.items() if info.replication_factor > 1]
        writing = Access.objects.filter(
            pair=self._pair,
            appid__in=self.plan.appids,
            kind=Access.Kind.PRODUCE,
            resource__in=replicated,
            last_seen__gte=access_since(),
        )
        return sorted(
            f"{a.client_id or a.appid} (acks={a.details['acks']})"
            for a in writing
            if a.details.get("acks", -1) != -1
        )

    @carry_out.register
    def _(self, command: do.CheckAssignors) -> UsedAssignors:
        groups = self._client(self.plan.source).groups(self.plan.groups)
        eager = EAGER | frozenset(settings.SWITCH_EAGER_ASSIGNORS)
        joined = {
            (m["group"], m["member_id"]): m["assignors"]
            for m in ask_about(self.plan, ask_every, "/members", "members")
            if m["assignors"] is not None
        }
        found: dict[Rebalancing, list[str]] = {each: [] for each in Rebalancing}
        for name, group in sorted(groups.items()):
            members = {member.member_id: member.client_id for member in group.members}
            offered = {member: joined[name, member] for member in members if (name, member) in joined}
            how = rebalancing(group.protocol, members, offered, eager)
            who = ", ".join(sorted(set(members.values())))
            found[how].append(f"{name} ({group.protocol or group.state}: {who})")
        return UsedAssignors(tuple(found[Rebalancing.COOPERATIVE]), tuple(found[Rebalancing.UNKNOWN]))

    @carry_out.register
    def _(self, command: do.CheckMirrors) -> list[tuple[str, str, str, int | None]]:
        found = []
        mirrors = [m for m in self._mirrors() if command.copying_from in ("", m.source.name)]
        held = looking.held_now(mirrors) if command.thorough else {}
        for mirror in mirrors:
            sample = looking.look(mirror, command.thorough, held.get(mirror), limits_of(mirror.pair).max_lag)
            found.append((mirror.name, str(mirror.state), mirror.fault, sample.records))
        return found

    @carry_out.register
    def _(self, command: do.ReadWritten) -> dict[str, str]:
        return {topic: mirror.source.name for mirror in self._mirrors() for topic in mirror.topics}

    @carry_out.register
    def _(self, command: do.CheckSelfAssigned) -> dict[str, frozenset[str]]:
        readers = ask_about(self.plan, ask_every, "/readers", "readers")
        # Last: a client that joined meanwhile is a member.
        members = ask_about(self.plan, ask_every, "/members", "members")
        groups = self._client(self.plan.source).groups(self.plan.groups)
        hosts = {(m["group"], m["member_id"]): m["host"] for m in members}
        assigned = Counter(
            (member.client_id, hosts.get((group.name, member.member_id), ""), partition)
            for group in groups.values()
            for member in group.members
            for partition in member.partitions
        )
        return self_assigned(self.plan, readers, members, assigned)

    @carry_out.register
    def _(self, command: do.CheckReadingOn) -> list[str]:
        members = Access.objects.filter(
            pair=self._pair,
            appid__in=self.plan.appids,
            kind=Access.Kind.GROUP,
            resource__in=self.plan.groups,
            library__in={*READING_ON, *settings.SWITCH_READING_ON},
            last_seen__gte=access_since(),
        )
        names = {
            (row.appid, row.client_id)
            for row in members
            if has_joined(row.details) and reads_on(row.library, row.version, settings.SWITCH_READING_ON)
        }
        return sorted(self.plan.who(*name) for name in names if self.plan.covers(*name))

    @carry_out.register
    def _(self, command: do.ReadAnchors) -> dict[Partition, OffsetSync]:
        mirrors = Mirror.objects.filter(pair=self._pair, name__in=self.plan.mirrors)
        return mirroring.anchors_of_topics(mirrors, self.plan.topics)

    @carry_out.register
    def _(self, command: do.CompareTails) -> Sentence | None:
        count = settings.SWITCH_TAIL_RECORDS
        source_ends = {p: point.source for p, point in command.ends.items()}
        target_ends = {p: point.target for p, point in command.ends.items()}

        def read(cluster: str, ends: dict[Partition, int]) -> dict[Partition, list[Record]]:
            client = self._client(cluster)
            return client.tail(ends, client.start_offsets(ends), count)

        # Both sides at once: clients wait.
        with ThreadPoolExecutor(max_workers=1) as beside:
            other = beside.submit(read, self.plan.target, target_ends)
            return compare_tails(read(self.plan.source, source_ends), other.result())

    @carry_out.register
    def _(self, command: do.CompareNext) -> dict[Partition, bool]:
        count = settings.SWITCH_TAIL_RECORDS

        def read(cluster: str, spans: dict[Partition, tuple[int, int]]) -> dict[Partition, list[Record]]:
            client = self._client(cluster)
            ends = {p: min(first + count, end) for p, (first, end) in spans.items()}
            found = client.tail(ends, client.start_offsets(ends), count)
            return {p: [r for r in records if r.offset >= spans[p][0]] for p, records in found.items()}

        points, ends = command.points, command.ends
        there = {p: (point.target, ends[p].target) for p, point in points.items()}
        # Both sides at once: clients wait.
        with ThreadPoolExecutor(max_workers=1) as beside:
            other = beside.submit(read, self.plan.target, there)
            ours = read(self.plan.source, {p: (point.source, ends[p].source) for p, point in points.items()})
            theirs = other.result()
        return {p: same_next(ours.get(p, []), theirs.get(p, [])) for p in points}

    @carry_out.register
    def _(self, command: do.PauseMirrors) -> None:
        mirroring.pause_before_turning(self._mirrors(), self._fence)

    @carry_out.register
    def _(self, command: do.ResumeMirrors) -> None:
        for mirror in self._mirrors():
            mirroring.resume_unturned(mirror, self._fence)

    @carry_out.register
    def _(self, command: do.ReverseMirrors) -> None:
        target = self._clusters[self.plan.target]
        for mirror in self._mirrors():
            if mirror.source_id == target.pk:
                continue  # an earlier attempt has turned it round
            ends = {p: point for p, point in command.ends.items() if p.topic in mirror.topics}
            mirroring.reverse(mirror, ends, self._fence)

    @carry_out.register
    def _(self, command: do.HoldMirrors) -> None:
        mirroring.hold(self._mirrors(), self._clusters[self.plan.target], self._fence)

    @carry_out.register
    def _(self, command: do.ReadCopied) -> dict[Partition, int]:
        return {p: last for mirror in self._mirrors() for p, last in mirroring.copied_by(mirror).items()}

    @carry_out.register
    def _(self, command: do.ReadRepeated) -> dict[Partition, int]:
        return {p: count for mirror in self._mirrors() for p, count in mirroring.repeated_in(mirror).items()}

    # -- a lost source --------------------------------------------------------------------------------------------

    @carry_out.register
    def _(self, command: do.CheckLost) -> bool:
        return lost_source.is_lost(self._client(self.plan.source), self.plan)

    @carry_out.register
    def _(self, command: do.ReadSighted) -> do.LastKnown:
        return lost_source.sighted(self._pair, self._clusters[self.plan.source], self.plan)

    @carry_out.register
    def _(self, command: do.ReadUsers) -> tuple[list[str], list[str]]:
        return lost_source.users(self._pair, self._clusters[self.plan.source], self.plan)

    @carry_out.register
    def _(self, command: do.OpenTail) -> None:
        assert self.journal is not None
        unreplicated.open_tail(self.journal.switch, command.ends)

    # -- facts ----------------------------------------------------------------------------------------------------

    @carry_out.register
    def _(self, command: do.RecordDrained) -> None:
        self.facts.put("drained", points_to_json(command.ends))

    @carry_out.register
    def _(self, command: do.RecordReading) -> None:
        kept = [
            [group, p.topic, p.partition, offset]
            for group, offsets in sorted(command.positions.items())
            for p, offset in sorted(offsets.items())
        ]
        self.facts.put("reading", kept)

    @carry_out.register
    def _(self, command: do.ReadReading) -> dict[str, dict[Partition, int]] | None:
        kept = self.facts.values.get("reading")
        if kept is None:
            return None
        found: dict[str, dict[Partition, int]] = {}
        for group, topic, index, offset in kept:
            found.setdefault(group, {})[Partition(topic, index)] = offset
        return found

    @carry_out.register
    def _(self, command: do.RecordLoss) -> None:
        records = [[p.topic, p.partition, count] for p, count in command.records.items()]
        proved = points_to_json(command.proved)
        self.facts.put("loss", {"records": records, "age": command.seen_seconds_ago, "proved": proved})

    @carry_out.register
    def _(self, command: do.ReadProved) -> Mapping[Partition, OffsetSync] | None:
        loss = self.facts.values.get("loss", {})
        return points_from_json(loss["proved"]) if "proved" in loss else None

    @carry_out.register
    def _(self, command: do.ReadDrained) -> Mapping[Partition, OffsetSync] | None:
        drained = self.facts.values.get("drained")
        return None if drained is None else points_from_json(drained)

    @carry_out.register
    def _(self, command: do.RecordSeen) -> None:
        seen = seen_to_json(command)
        partitions = self._all_partitions()
        forced = self.plan.kind.spec.source_lost
        most = room_for({**self.facts.values, "seen": seen}, partitions, forced)
        if most is not None:
            raise StageFailed(
                say(
                    "This switch moves %(count)s partitions, and ZooKeeper has room to note the offsets of about %(most)s: without "
                    "that note a switch could not go on after a failover of PostgreSQL. Move fewer Topics at once.",
                    count=len(partitions),
                    most=most,
                )
            )
        self.facts.put("seen", seen)

    @carry_out.register
    def _(self, command: do.ReadSeen) -> do.RecordSeen:
        seen = self.facts.values.get("seen", {})
        return do.RecordSeen(
            tuple(seen.get("clients", ())),
            tuple(seen.get("groups", ())),
            tuple((kind, topic) for kind, topic in seen.get("activity", ())),
        )
