"""Carry out the commands of a stage: the only place where a switch reads and changes real servers."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

from hadash.bindings.model import Journal
from hadash.inventory.models import Cluster, Pair
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.values import Partition
from hadash.mirroring import services as mirroring
from hadash.mirroring.models import Mirror
from hadash.sentences import Sentence
from hadash.switching.execution.handlers import bindings, clusters, mirrors, records  # noqa: F401 (they register)
from hadash.switching.execution.handlers.registry import HANDLERS, handles
from hadash.switching.machines.switches import Stage
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.asking import Command
from hadash.switching.stages.context import StageContext

R = TypeVar("R")


class CommandHandler:
    """Carries out the commands of one switch.

    :param journal: the switch, stage and token that every write carries; ``None`` for a dry run, which must not write.
    :param said: called with each sentence of the stage.
    :param fence: raises :class:`StaleWriter` if another process is the executor now; called within commands that take
        several steps.
    """

    def __init__(
        self,
        plan: Plan,
        journal: Journal | None,
        context: StageContext,
        said: Callable[[Sentence], None],
        fence: Callable[[], None] = lambda: None,
    ) -> None:
        self.plan = plan
        self.journal = journal
        self.context = context
        self.said = said
        self.fence = fence
        self._began = time.monotonic()
        self.pair = Pair.objects.select_related("first", "second", "default").get(name=plan.pair)
        self.clusters: dict[str, Cluster] = {c.name: c for c in self.pair.clusters}
        self.partitions: list[Partition] | None = None

    def begin(self, stage: Stage) -> None:
        """Begin another stage of the same switch, in the same process."""
        assert self.journal is not None
        self.journal = replace(self.journal, stage=stage.value)
        self._began = time.monotonic()
        if stage in (Stage.DRAIN, Stage.CATCH_UP):
            # Writes went on while consumers quiesced, and a Topic may have got another partition.
            self.partitions = None

    @property
    def seconds(self) -> float:
        """Seconds since the stage began."""
        return time.monotonic() - self._began

    def client(self, cluster: str) -> ClusterClient:
        """The client of one of the pair's clusters, by its name."""
        return mirroring.cluster_client(self.clusters[cluster])

    def all_partitions(self) -> list[Partition]:
        """Every partition of the plan's Topics, cached until :meth:`begin` discards them."""
        if self.partitions is None:
            # A lost source cannot say what it has.
            known = self.plan.target if self.plan.kind.spec.source_lost else self.plan.source
            self.partitions = mirroring.partitions_of(self.client(known), self.plan.topics)
        return self.partitions

    def mirrors(self) -> list[Mirror]:
        """The plan's mirrors, as they are in the database now."""
        found = Mirror.objects.filter(pair=self.pair, name__in=self.plan.mirrors)
        return list(found.select_related("source", "pair__first", "pair__second"))

    def carry_out(self, command: Command[R]) -> R:
        """The answer to one command, as its class describes it."""
        answer: R = HANDLERS[type(command)](self, command)
        return answer


@handles(do.Say)
def say_it(hand: CommandHandler, command: do.Say) -> None:
    hand.said(command.sentence)


@handles(do.Pause)
def pause(hand: CommandHandler, command: do.Pause) -> float:
    if command.seconds:
        time.sleep(command.seconds)
    return hand.seconds


@handles(do.Together)
def together(hand: CommandHandler, command: do.Together) -> list[Any]:
    *others, last = command.commands
    # The last command runs here, because only this thread has a database connection.
    with ThreadPoolExecutor(max_workers=max(len(others), 1)) as beside:
        started = [beside.submit(hand.carry_out, other) for other in others]
        answer = hand.carry_out(last)
        return [*(future.result() for future in started), answer]
