"""What the handlers of commands share."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from hadash.bindings.model import Journal
from hadash.inventory.models import Cluster, Pair
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.values import Partition
from hadash.mirroring import services as mirroring
from hadash.mirroring.models import Mirror
from hadash.sentences import Sentence
from hadash.switching.machines.switches import Stage
from hadash.switching.plan import Plan
from hadash.switching.stages.context import StageContext


class HandlerContext:
    """What the handlers of commands share while they carry out one switch: its plan, its journal and its servers.

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
