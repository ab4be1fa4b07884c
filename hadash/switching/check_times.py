"""What the checks of a request waited for: when they take too long, a person is told which answers were slow.

Pure, but for the clock that is handed in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from hadash.sentences import Sentence, say
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Command

#: What each command of the checks asks for, in the words of the pages.
ASKED_FOR: Mapping[type[Command[object]], Sentence] = {
    do.CheckCluster: say("the brokers of a cluster"),
    do.CheckLost: say("the brokers of a cluster"),
    do.ReadTopics: say("the leaders of Topics"),
    do.ReadBindings: say("the bindings"),
    do.ReadGateways: say("the Gateways"),
    do.CheckMirrors: say("the mirrors and Connect"),
    do.CheckAudits: say("what auditors say"),
    do.ReadPools: say("the consumer pools"),
    do.ReadWritten: say("the mirrors and Connect"),
    do.ReadOffsetSyncs: say("the offset syncs of mirrors"),
    do.CompareLastRecords: say("the comparison of records"),
    do.CompareNext: say("the comparison of records"),
    do.CheckAssignors: say("how groups rebalance"),
    do.ReadMembers: say("the members of groups"),
    do.CheckSelfAssigned: say("the members of groups"),
    do.CheckReadingOn: say("the members of groups"),
    do.ReadGroupOffsets: say("the committed offsets"),
    do.ReadCommits: say("the committed offsets"),
    do.ReadAssigned: say("the assignment of groups"),
    do.ReadPositions: say("the positions of readers"),
    do.ReadStarts: say("the offsets of Topics"),
    do.ReadEnds: say("the offsets of Topics"),
    do.CheckSignIn: say("the users of both clusters"),
    do.ReadRights: say("the ACLs"),
    do.CheckRights: say("the ACLs"),
    do.CheckQuotas: say("the quotas"),
    do.ReadQuotas: say("the quotas"),
    do.CheckAcks: say("the acks of producers"),
    do.Pause: say("pauses until something holds"),
}
#: How many of them a person is told: the slowest is what to look at, the next says whether it is the only one.
NAMED = 2


class CheckTimes:
    """The seconds that checks have waited for each kind of answer."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: By the text of what is asked for: several commands may ask for the same.
        self._seconds: dict[str, float] = {}

    @contextmanager
    def of(self, command: Command[object]) -> Iterator[None]:
        """Count the time that this command takes. Commands within another one are counted by themselves."""
        began = self._clock()
        try:
            yield
        finally:
            if (asked := ASKED_FOR.get(type(command))) is not None:
                self._seconds[asked.text] = self._seconds.get(asked.text, 0.0) + self._clock() - began

    def slowest(self) -> list[Sentence]:
        """What took longest, the longest first, with its seconds: at most :data:`NAMED`."""
        longest = sorted(self._seconds.items(), key=lambda each: each[1], reverse=True)[:NAMED]
        return [
            say("%(what)s (%(seconds)s s)", what=Sentence(text), seconds=round(seconds, 1))
            for text, seconds in longest
        ]
