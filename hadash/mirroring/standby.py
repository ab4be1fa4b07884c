"""Sets the ACLs of both sides: copies them to the standby, which only the mirror may write to. ``acls.py``
computes the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence, Set
from concurrent.futures import ThreadPoolExecutor

from hadash.inventory.models import AppID, Cluster, Pair
from hadash.kafka.cluster import ASKED_BY_NAME, ClusterClient, client_for
from hadash.kafka.values import Acl
from hadash.mirroring import acls as acl_rules
from hadash.mirroring.acls import Denied
from hadash.mirroring.models import WriteDenial


def _client(cluster: Cluster) -> ClusterClient:
    return client_for(cluster.access)


def copy_acls(
    pair: Pair, source: Cluster, target: Cluster, appids: Iterable[str], standby: Iterable[str] = ()
) -> int:
    """Give the AppIDs on ``target`` every rule that they have on ``source``; return how many were missing.

    ``standby`` names Topics whose mirror is on ``target``: users that get a right to write there are denied it
    first.
    """
    client, moving, closed = _client(target), list(appids), list(standby)
    principals = acl_rules.principals_of(moving)
    here, there = _client(source).acls_of(principals), client.acls_of(principals)
    wanted = acl_rules.missing(here, there, moving, own_denials(source))
    if wanted:
        known = client.acls_about(closed)
        _deny(pair, target, closed, known, known | wanted)
        client.create_acls(wanted)
    return len(wanted)


def rights(clusters: Sequence[Cluster], appids: Iterable[str]) -> list[set[Acl]]:
    """Return the rules of each cluster that apply to the AppIDs; none where there is no authorizer. The
    clusters are asked in parallel: a cluster searches all its rules for each name.
    """
    principals = acl_rules.principals_of(appids)
    clients = [_client(cluster) for cluster in clusters]
    with ThreadPoolExecutor(max_workers=len(clients)) as asking:
        return list(asking.map(lambda client: client.acls_of(principals), clients))


def deny_writes(
    pair: Pair,
    cluster: Cluster,
    topics: Iterable[str],
    made: Iterable[Denied] = (),
    before: Callable[[list[Denied]], None] = lambda rules: None,
) -> int:
    """Deny all users except the mirror writing to standby ``topics`` on ``cluster``; return the number of new
    rules.

    :param made: rules that hadash certainly has made, or was about to make: those that exist are noted again,
        because PostgreSQL may have lost the note. A rule itself does not tell who made it.
    :param before: called with the rules that will be made, before the first one is.
    """
    topics = list(topics)
    known = _client(cluster).acls_about(topics)
    _note(cluster, [rule for rule in made if acl_rules.write_denial(*rule) in known])
    return _deny(pair, cluster, topics, known, known, before)


def _note(cluster: Cluster, rules: Iterable[Denied]) -> None:
    """Note that hadash has made these rules, or is about to."""
    WriteDenial.objects.bulk_create(
        [WriteDenial(cluster=cluster, topic=topic, principal=principal) for topic, principal in rules],
        ignore_conflicts=True,
    )


def _deny(
    pair: Pair,
    cluster: Cluster,
    topics: Iterable[str],
    known: Set[Acl],
    rules: Set[Acl],
    before: Callable[[list[Denied]], None] = lambda rules: None,
) -> int:
    """Deny writing to the users that may write under ``rules``; ``known`` are the rules that exist already."""
    client = _client(cluster)
    users = set(client.scram_users()) | set(AppID.objects.filter(pair=pair).values_list("name", flat=True))
    exempt = {c.admin_username for c in pair.clusters} | {c.mirror_username for c in pair.clusters}
    wanted = acl_rules.write_denials(rules, list(topics), users, exempt) - known
    # The note first: a rule without one would never be removed, while a note without its rule is harmless.
    denied = sorted((rule.resource, rule.principal) for rule in wanted)
    if denied:
        before(denied)
    _note(cluster, denied)
    client.create_acls(wanted)
    return len(wanted)


def allow_writes(cluster: Cluster, topics: Iterable[str]) -> int:
    """Undo :func:`deny_writes`; return the number of removed rules. Denials that hadash did not make stay."""
    noted = WriteDenial.objects.filter(cluster=cluster, topic__in=list(topics))
    read = {denial.pk: acl_rules.write_denial(denial.topic, denial.principal) for denial in noted}
    _client(cluster).delete_acls(read.values())
    WriteDenial.objects.filter(pk__in=read).delete()  # only these: another may have been added meanwhile
    return len(read)


def late_brokers(cluster: Cluster, topics: Iterable[str], appids: Iterable[str]) -> list[int]:
    """Return the leaders of ``topics`` that do not have the current rules of ``appids`` yet.

    A broker enforces the rules that have reached it from ZooKeeper or from its controller. A broker that is cut
    off from both for a moment would keep denying rights that are granted now, and a client that a broker
    refuses does not retry.
    """
    client = _client(cluster)
    leaders = {leader for info in client.topics(topics).values() for leader in info.leaders if leader >= 0}
    principals = {f"User:{appid}" for appid in appids}
    now = {rule for rule in client.acls_of(principals) if rule.resource_type == "TOPIC"}
    heard = client.topic_rules(leaders, principals)
    return sorted(broker for broker, rules in heard.items() if rules != now)


def own_denials(cluster: Cluster) -> set[Acl]:
    """Return the denials that hadash has made on ``cluster``."""
    return {acl_rules.write_denial(d.topic, d.principal) for d in WriteDenial.objects.filter(cluster=cluster)}


def allowed_to_use(pair: Pair, cluster: Cluster, topics: Iterable[str]) -> set[tuple[str, str]]:
    """Return (AppID, Topic) for the AppIDs that may read or write ``topics`` by rules of their own that name
    Topics.

    A rule for all Topics does not show what its user does. hadash's own users are left out.
    """
    return _users_of(pair, _client(cluster).acls(), topics)


class Rules:
    """The rules of a cluster, for one computation. Few names are requested one by one; beyond that all rules
    are read once. (For each name a cluster searches all its rules, maybe some hundred thousand.)
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._asked = 0
        self._all: set[Acl] | None = None

    def users_of_topics(self, pair: Pair, topics: Collection[str]) -> set[str]:
        """Return the AppIDs that may use one of ``topics``, as in :func:`allowed_to_use`."""
        everything = self._everything(len(topics))
        rules = _client(self._cluster).acls_about(topics) if everything is None else everything
        return {appid for appid, _topic in _users_of(pair, rules, topics)}

    def of(self, appids: Collection[str]) -> set[Acl]:
        """Return the rules of these AppIDs."""
        principals = {f"User:{appid}" for appid in appids}
        everything = self._everything(len(principals))
        if everything is None:
            return _client(self._cluster).acls_of(principals)
        return {rule for rule in everything if rule.principal in principals}

    def _everything(self, names: int) -> set[Acl] | None:
        """Return all rules, when so many names were requested that this is faster; ``None`` before that."""
        self._asked += names
        if self._all is None and self._asked > ASKED_BY_NAME:
            self._all = _client(self._cluster).acls()
        return self._all


def allowed_by(pair: Pair, rules: Iterable[Acl], topics: Iterable[str]) -> set[tuple[str, str]]:
    """Return the same as :func:`allowed_to_use`, for rules that were read before."""
    return _users_of(pair, rules, topics)


def _users_of(pair: Pair, rules: Iterable[Acl], topics: Iterable[str]) -> set[tuple[str, str]]:
    exempt = {c.admin_username for c in pair.clusters} | {c.mirror_username for c in pair.clusters}
    return {(appid, topic) for appid, topic in acl_rules.users_of(rules, topics) if appid not in exempt}
