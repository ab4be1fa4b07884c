"""Remove the old Topics of a migration, step by step: each step checks everything again and has its audit entry.

It may be killed at any point and begun again: what is to be removed is noted before the first step, and a step that
was done but not noted is repeated, which changes nothing. One worker at a time does it, fenced by a token.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction

from hadash.audit.models import record, stored
from hadash.kafka.errors import ConnectError, KafkaError
from hadash.kafka.values import Partition
from hadash.mirroring import ending, standby
from hadash.mirroring import services as mirroring
from hadash.mirroring.models import WriteDenial
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.machines.retirements import Status, Step
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import log_event, log_once
from hadash.switching.refusals import EnginesAway
from hadash.switching.retirement import services
from hadash.switching.retirement.checks import blockers
from hadash.switching.retirement.reading import existing, mirrors_of, read_now
from hadash.switching.server_errors import SERVER_ERRORS

log = logging.getLogger(__name__)

#: Seconds between two looks at Topics that are being deleted.
POLL_SECONDS = 0.2

#: Errors of servers, after which the removal is retried later.
_AWAY = (*SERVER_ERRORS, EnginesAway)


class Replaced(Exception):
    """Another worker has taken over the removal, or a person has decided otherwise."""


def remove(pk: int, token: int) -> None:
    """Carry out a running retirement, with the ``token`` that was handed over."""
    taken = services.take(pk, token)
    if taken is None:
        return
    removal = _Removal(taken)
    try:
        removal.run()
    except Replaced as error:
        log.info("%s", error)
    except (OperationalError, InterfaceError):
        raise  # without the database nothing can be noted: the lease ends, and another worker continues
    except _AWAY as error:
        removal.end(services.defer, say("%(error)s", error=error))
    except Refused as refused:
        removal.end(services.fail, refused.reasons[0])
    except Exception as error:
        log.exception("the removal after switch %s failed unexpectedly", taken.switch.key)
        sentence = say("Unexpected error (%(kind)s): %(error)s", kind=type(error).__name__, error=error)
        removal.end(services.fail, sentence)


class _Removal:
    """One worker's attempt."""

    def __init__(self, retirement: Retirement) -> None:
        self.retirement = retirement
        self.switch = retirement.switch
        self.plan = self.switch.the_plan()
        self.facts: dict[str, Any] = dict(retirement.facts)
        self.old = mirroring.cluster_client(self.switch.source)
        self._replaced = f"The removal after switch {self.switch.key} was taken over or decided otherwise."

    def run(self) -> None:
        steps: dict[Step, Callable[[], None]] = {
            Step.MIRRORS: self._mirrors,
            Step.GROUPS: self._groups,
            Step.TOPICS: self._topics,
            Step.DENIALS: self._denials,
        }
        for step in Step:
            if step.value in self.facts.get("removed", ()):
                continue
            self._check()
            if "before" not in self.facts:
                self._save(before=stored(self._before()))
            steps[step]()
            self._note(step)
        with self._mine() as held:
            services.finish(held)

    def end(self, how: Callable[[Retirement, Sentence], None], reason: Sentence) -> None:
        """End an attempt that cannot continue. If nothing is removed yet the mirrors run again, so that the clients
        can go back. Once a mirror is gone they cannot, and the point up to which all mirrors have written must stay
        known: by it the rest is removed later.
        """
        try:
            if self.facts.get("stopping") and not self.facts.get("removed"):
                if self._retired():
                    self._leave_mirrors_stopped()
                else:
                    self._let_mirrors_go_on()
            with self._mine() as held:
                how(held, reason)
        except Replaced as error:
            log.info("%s", error)

    def _let_mirrors_go_on(self) -> None:
        # First: what mirrors write from now on is theirs. A worker that dies in between must not find it out as
        # somebody else's writing.
        self._save(written=None)
        all_run = True
        for mirror in mirrors_of(self.plan, self.switch):
            try:
                ending.go_on(mirror, self._fence)
            except ConnectError as error:
                all_run = False
                said = (
                    "Mirror %(mirror)s was stopped and does not run again: %(error)s "
                    "Resume its connector in Connect."
                )
                log_event(self.switch, say(said, mirror=mirror.name, error=error))
        if all_run:
            self._save(stopping=False)

    def _leave_mirrors_stopped(self) -> None:
        log_once(
            self.switch,
            say(
                "Of the mirrors %(gone)s cannot run any more: nobody can go back, and the others stay stopped.",
                gone=sorted(self._retired()),
            ),
        )

    # -- steps -------------------------------------------------------------------------------------------------------

    def _mirrors(self) -> None:
        """Stop the mirrors, prove that no other client has written to their Topics, then delete them."""
        found = mirrors_of(self.plan, self.switch)
        if self.facts.get("written") is None:
            self._save(stopping=True)
            written: dict[Partition, int] = {}
            for mirror in found:
                written |= ending.stop(mirror, self._fence)
            self._save(written=[[p.topic, p.partition, end] for p, end in sorted(written.items())])
        self._check()
        self._note_mirrors()
        for mirror in found:
            ending.remove(mirror, self._fence, partial(self._retire, mirror.name))
            self._note_mirrors()

    def _retire(self, name: str) -> None:
        """Note that a mirror cannot run again from now on."""
        if name not in self._retired():
            self._save(retired=[*self.facts.get("retired", ()), name])

    def _retired(self) -> set[str]:
        """Names of mirrors that cannot run again, whether or not they still exist."""
        done = Step.MIRRORS.value in self.facts.get("removed", ())
        return set(self.plan.mirrors) if done else set(self.facts.get("retired", ()))

    def _note_mirrors(self) -> None:
        """Write an audit entry for each mirror that is gone, also for one whose worker was lost before it could."""
        left = {mirror.name for mirror in mirrors_of(self.plan, self.switch)}
        noted = self.facts.get("noted", [])
        for name in sorted(self._retired() - left - set(noted)):
            noted = [*noted, name]
            with transaction.atomic():
                self._save(noted=noted)
                self._record(Step.MIRRORS, {name: self.facts["before"][Step.MIRRORS.value].get(name)})

    def _groups(self) -> None:
        standing = self.old.group_offsets(self.plan.groups)
        names = sorted(name for name, offsets in standing.items() if offsets)
        if names:
            self._fence()
            self.old.delete_groups(names)

    def _topics(self) -> None:
        self._fence()
        # All of them, whether or not the cluster lists them: the controller knows better than a broker that has just
        # started.
        self.old.delete_topics(self.plan.topics)
        deadline = time.monotonic() + settings.RETIREMENT_GONE_SECONDS
        while left := existing(self.old, self.plan.topics):
            if time.monotonic() > deadline:
                raise KafkaError(
                    say(
                        "Cluster %(cluster)s has not deleted Topic %(topics)s yet.",
                        cluster=self.old.name,
                        topics=", ".join(left),
                    )
                )
            time.sleep(POLL_SECONDS)

    def _denials(self) -> None:
        self._fence()
        standby.allow_writes(self.switch.source, self.plan.topics)

    # -- the checks --------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        """:raises Refused: something blocks the removal."""
        self._fence()
        found = read_now(
            self.switch,
            self._written(),
            stopping=bool(self.facts.get("stopping")),
            retired=self._retired(),
        )
        reasons = blockers(self.plan, found)
        if reasons:
            raise Refused(*reasons)

    def _written(self) -> dict[Partition, int]:
        """Where the Topics have to end; empty when they are removed."""
        if Step.TOPICS.value in self.facts.get("removed", ()):
            return {}
        return {Partition(t, p): end for t, p, end in self.facts.get("written") or ()}

    def _before(self) -> dict[str, Any]:
        """Everything that a person would need to build it up again."""
        infos = {name: info for name, info in self.old.topics().items() if name in self.plan.topics}
        configs = self.old.topic_configs(infos)
        offsets = self.old.group_offsets(self.plan.groups)
        denials = WriteDenial.objects.filter(cluster=self.switch.source, topic__in=self.plan.topics)
        mirrors = mirrors_of(self.plan, self.switch)
        # A standby Topic has the mirror's own settings: the settings meant for clients are the ones to keep.
        meant = {topic: held for mirror in mirrors for topic, held in mirror.topic_settings.items()}
        return {
            Step.MIRRORS.value: {
                mirror.name: {
                    "source": mirror.source.name,
                    "target": mirror.target.name,
                    "topics": mirror.topics,
                    "corresponding": {
                        str(p): [point.source, point.target]
                        for p, point in mirroring.offset_syncs_of(mirror).items()
                    },
                }
                for mirror in mirrors
            },
            Step.GROUPS.value: {
                name: {str(p): offset for p, offset in committed.items()}
                for name, committed in offsets.items()
            },
            Step.TOPICS.value: {
                name: {
                    "partitions": len(info.leaders),
                    "replication_factor": info.replication_factor,
                    "configs": {**configs.get(name, {}), **meant.get(name, {})},
                }
                for name, info in infos.items()
            },
            Step.DENIALS.value: sorted(f"{denial.principal} WRITE {denial.topic}" for denial in denials),
        }

    # -- the row -----------------------------------------------------------------------------------------------------

    def _fence(self) -> None:
        """Renew the lease; called directly before every change to a cluster, Connect or ZooKeeper.

        :raises Replaced: the removal is no longer this worker's.
        """
        if not self._row().update(lease_until=services.lease()):
            raise Replaced(self._replaced)

    def _row(self) -> Any:
        return Retirement.objects.filter(
            pk=self.retirement.pk, token=self.retirement.token, status=Status.RUNNING.value
        )

    @contextmanager
    def _mine(self) -> Iterator[Retirement]:
        """The row, locked. :raises Replaced: the removal is no longer this worker's."""
        with transaction.atomic():
            held: Retirement | None = self._row().select_for_update(of=("self",)).first()
            if held is None:
                raise Replaced(self._replaced)
            held.switch, held.facts = self.switch, self.facts
            yield held

    def _save(self, **facts: Any) -> None:
        self.facts |= facts
        if not self._row().update(facts=self.facts):
            raise Replaced(self._replaced)

    def _note(self, step: Step) -> None:
        """Note that a step is done, and what was there before, in one transaction with its audit entry."""
        with transaction.atomic():
            self._save(removed=[*self.facts.get("removed", ()), step.value])
            if step is not Step.MIRRORS:  # each mirror has an entry of its own
                self._record(step, self.facts["before"][step.value])

    def _record(self, step: Step, before: Any) -> None:
        record(
            None,
            "removed",
            self.switch.subject,
            cluster=self.plan.source,
            what=step.value,
            before=before,
            after={},
        )
