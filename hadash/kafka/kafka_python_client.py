"""What one cluster is asked through kafka-python: its brokers, consumer groups, ACLs, SCRAM users and quotas (why:
docs/adr/0011-two-admin-clients.md). :mod:`hadash.kafka.calls` asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from hadash.kafka import acls, cluster_requests, group_requests, quotas, scram
from hadash.kafka.acls import Which
from hadash.kafka.calls import Asking, What, nobody_else
from hadash.kafka.group_admin import Admin
from hadash.kafka.values import (
    Acl,
    BrokerInfo,
    ClusterAccess,
    Committed,
    Engine,
    GroupInfo,
    Partition,
    QuotaEntity,
    Quotas,
)
from hadash.sentences import say

#: Groups that one call of the library reads, at most: from brokers before 3.0 it reads them one after the
#: other.
READ_AT_ONCE = 50

#: Names in an error message, at most.
NAMES_SHOWN = 3

T = TypeVar("T")


class KafkaPythonClient:
    """The brokers, groups, ACLs, SCRAM users and quotas of one cluster. Thread-safe.

    Methods raise ``CoordinatorMoved`` or ``ClusterUnavailable`` when there is no answer within
    :data:`REQUEST_SECONDS`, and another :class:`KafkaError` when the cluster refuses.
    """

    def __init__(self, access: ClusterAccess) -> None:
        self._asking = Asking(access)

    def close(self) -> None:
        """Close its connections. Calls that still run fail with ``ClusterUnavailable``."""
        self._asking.close()

    # -- questions ---------------------------------------------------------------------------------------------

    def describe(self, names: Iterable[str]) -> dict[str, GroupInfo]:
        """Return groups with their members and coordinator. The state of a missing group is ``Dead``."""
        found: dict[str, GroupInfo] = {}
        for answer in self._read(
            names,
            lambda groups: say("could not describe %(groups)s", groups=groups),
            group_requests.described,
        ):
            found |= answer
        return found

    def names(self) -> list[str]:
        """Return the names of all groups, sorted."""
        (found,) = self._asking.ask(
            {"groups": group_requests.group_names}, lambda _: say("could not list its groups")
        ).values()
        return found

    def nodes(self) -> tuple[list[BrokerInfo], int | None]:
        """Return the live brokers, by id, and the id of the controller."""
        (found,) = self._asking.ask(
            {"brokers": cluster_requests.nodes}, lambda _: say("could not be described")
        ).values()
        return found

    def engine(self) -> Engine:
        """Return the version of Kafka, and the leader of the quorum of its controllers if it has one."""
        (found,) = self._asking.ask(
            {"itself": cluster_requests.engine}, lambda _: say("could not describe itself")
        ).values()
        return found

    def topic_rules(self, brokers: Iterable[int], principals: Iterable[str]) -> dict[int, set[Acl]]:
        """Return, by broker, the principals' rules about Topics that have reached it: a broker enforces only
        those.
        """
        wanted = sorted(set(principals))
        asked = {
            f"broker {broker}, {principal}": (
                broker,
                partial(acls.heard_by, broker, principal),
            )
            for broker in set(brokers)
            for principal in wanted
        }
        answers = self._asking.ask(
            {about: request for about, (_, request) in asked.items()},
            lambda whose: say("could not read the rules of %(whose)s", whose=whose),
        )
        found: dict[int, set[Acl]] = {broker: set() for broker, _ in asked.values()}
        for about, (broker, _) in asked.items():
            found[broker] |= answers[about]
        return found

    def rules(self, wanted: Sequence[Which]) -> set[Acl]:
        """Return the access rules of the cluster that match one of ``wanted``."""
        asked = {str(which): partial(acls.rules, which) for which in wanted}
        return set().union(
            *self._asking.ask(
                asked, lambda which: say("could not read the ACLs %(which)s", which=which)
            ).values()
        )

    def create_rules(self, wanted: Sequence[Acl]) -> None:
        """Create access rules. Existing ones are not an error."""
        if wanted:
            self._asking.ask({"ACLs": partial(acls.create, wanted)}, lambda _: say("could not create ACLs"))

    def delete_rules(self, unwanted: Sequence[Acl]) -> None:
        """Delete exactly these access rules. Missing ones are not an error."""
        if unwanted:
            self._asking.ask({"ACLs": partial(acls.delete, unwanted)}, lambda _: say("could not delete ACLs"))

    def quotas(self) -> dict[QuotaEntity, dict[str, float]]:
        """Return all client quotas of the cluster.

        :raises NotOffered: it is older than 2.6.
        """
        (found,) = self._asking.ask(
            {"its clients": quotas.described}, lambda _: say("could not read the quotas of its clients")
        ).values()
        return found

    def scram_users(self) -> dict[str, set[str]]:
        """Return the SCRAM mechanisms of each user with a password on this cluster.

        :raises NotOffered: it is older than 2.7.
        """
        (found,) = self._asking.ask(
            {"its SCRAM users": scram.users}, lambda _: say("could not read its SCRAM users")
        ).values()
        return found

    def offsets(self, names: Iterable[str]) -> dict[str, dict[Partition, int]]:
        """Return committed offsets by group. An offset that cannot be read is an error, not a missing one."""
        return {
            group: {partition: committed.offset for partition, committed in commits.items()}
            for group, commits in self.commits(names).items()
        }

    def commits(self, names: Iterable[str]) -> dict[str, dict[Partition, Committed]]:
        """Return committed offsets like :meth:`offsets`, with the metadata of each commit."""
        found: dict[str, dict[Partition, Committed]] = {}
        for answer in self._read(
            names,
            lambda groups: say("could not read the offsets of %(groups)s", groups=groups),
            group_requests.commits,
        ):
            found |= answer
        return found

    def _read(
        self, names: Iterable[str], what: What, ask: Callable[[list[str], Admin], dict[str, T]]
    ) -> Iterable[dict[str, T]]:
        wanted = sorted(set(names))
        parts = [wanted[first : first + READ_AT_ONCE] for first in range(0, len(wanted), READ_AT_ONCE)]
        return self._asking.ask({_listed(part): partial(ask, part) for part in parts}, what).values()

    # -- changes -----------------------------------------------------------------------------------------------

    def set_offsets(
        self, offsets: Mapping[str, Mapping[Partition, Committed]], fence: Callable[[], None] = nobody_else
    ) -> None:
        """Write exactly these committed offsets with their metadata. Refused for a group with members on this
        cluster.

        :param fence: called before each attempt; raises when another process has taken over.
        """
        commits = {
            f"group {group}": partial(group_requests.commit, group, committed)
            for group, committed in offsets.items()
            if committed
        }
        self._asking.ask(
            commits, lambda group: say("could not write the offsets of %(group)s", group=group), fence
        )

    def remove_offsets(
        self, partitions: Mapping[str, Iterable[Partition]], fence: Callable[[], None] = nobody_else
    ) -> None:
        """Remove exactly these committed offsets. A missing group is not an error. Refused for Topics that the
        group's members on this cluster are subscribed to. ``fence`` as in :meth:`set_offsets`.
        """
        removals = {
            f"group {group}": partial(group_requests.remove, group, sorted(wanted))
            for group, wanted in partitions.items()
        }
        self._asking.ask(
            removals, lambda group: say("could not remove offsets of %(group)s", group=group), fence
        )

    def delete(self, names: Iterable[str], fence: Callable[[], None] = nobody_else) -> None:
        """Delete groups with all their offsets. Refused for a group that has members on this cluster or does
        not exist. ``fence`` as in :meth:`set_offsets`.
        """
        deletions = {f"group {name}": group_requests.Deletion(name) for name in set(names)}
        self._asking.ask(deletions, lambda group: say("could not delete %(group)s", group=group), fence)

    def set_quotas(self, wanted: Quotas) -> None:
        """Set some client quotas. Other quotas of these entities are kept."""
        if wanted:
            self._asking.ask(
                {"its clients": partial(quotas.set_quotas, wanted)},
                lambda _: say("could not set the quotas of its clients"),
            )

    def set_scram_password(self, user: str, mechanism: str, password: str) -> None:
        """Create or replace the user's SCRAM credential of one mechanism."""
        request = partial(scram.set_password, user, mechanism, password)
        self._asking.ask(
            {f"{user} ({mechanism})": request},
            lambda user: say("could not set the password of %(user)s", user=user),
        )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"group {', '.join(names[:NAMES_SHOWN])}{more}"
