"""The ACLs of both sides: copied to the standby, which only the mirror may write to. See ``acls.py`` for the rules."""

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
    """Give the AppIDs on ``target`` every rule that they have on ``source``; how many were missing.

    ``standby`` names Topics of which ``target`` holds the mirror: they are closed to whoever may write now, before.
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
    """The rules of each cluster that say what the AppIDs may do there; none where there is no authorizer. Both are
    asked at the same time: a cluster looks through all of its rules for each name.
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
    """Keep everybody but the mirror from writing to standby ``topics`` on ``cluster``; how many rules it took.

    :param made: rules that hadash has made, or was about to make, as the caller knows for sure: which of them
        are there is noted again, because PostgreSQL may have forgotten it. A rule itself does not say whose
        it is.
    :param before: is told which rules will be made, before there is one.
    """
    topics = list(topics)
    known = _client(cluster).acls_about(topics)
    _note(cluster, [rule for rule in made if acl_rules.write_denial(*rule) in known])
    return _deny(pair, cluster, topics, known, known, before)


def _note(cluster: Cluster, rules: Iterable[Denied]) -> None:
    """That hadash has made these rules, or is about to."""
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
    """Deny writing to whoever may under ``rules``; ``known`` are those that exist."""
    client = _client(cluster)
    users = set(client.scram_users()) | set(AppID.objects.filter(pair=pair).values_list("name", flat=True))
    exempt = {c.admin_username for c in pair.clusters} | {c.mirror_username for c in pair.clusters}
    wanted = acl_rules.write_denials(rules, list(topics), users, exempt) - known
    # The note first: a rule without one would never be taken away again, a note without its rule does no harm.
    denied = sorted((rule.resource, rule.principal) for rule in wanted)
    if denied:
        before(denied)
    _note(cluster, denied)
    client.create_acls(wanted)
    return len(wanted)


def allow_writes(cluster: Cluster, topics: Iterable[str]) -> int:
    """Take :func:`deny_writes` back; how many rules it took. Somebody else's denials stay."""
    noted = WriteDenial.objects.filter(cluster=cluster, topic__in=list(topics))
    read = {denial.pk: acl_rules.write_denial(denial.topic, denial.principal) for denial in noted}
    _client(cluster).delete_acls(read.values())
    WriteDenial.objects.filter(pk__in=read).delete()  # only these: another may have come meanwhile
    return len(read)


def late_brokers(cluster: Cluster, topics: Iterable[str], appids: Iterable[str]) -> list[int]:
    """The leaders of ``topics`` that have not heard of the rules of ``appids`` as they are now.

    A broker enforces what it has heard, from ZooKeeper or from its controller. One that has lost both for a
    moment would go on denying what is allowed, and a client that is refused does not try again.
    """
    client = _client(cluster)
    leaders = {leader for info in client.topics(topics).values() for leader in info.leaders if leader >= 0}
    principals = {f"User:{appid}" for appid in appids}
    now = {rule for rule in client.acls_of(principals) if rule.resource_type == "TOPIC"}
    heard = client.topic_rules(leaders, principals)
    return sorted(broker for broker, rules in heard.items() if rules != now)


def own_denials(cluster: Cluster) -> set[Acl]:
    """The denials that hadash has made on ``cluster``."""
    return {acl_rules.write_denial(d.topic, d.principal) for d in WriteDenial.objects.filter(cluster=cluster)}


def allowed_to_use(pair: Pair, cluster: Cluster, topics: Iterable[str]) -> set[tuple[str, str]]:
    """(AppID, Topic): who may read or write which of ``topics`` by a rule of its own, as far as rules name Topics.

    A rule for all Topics says nothing about what its user does; hadash's own users are left out.
    """
    return _users_of(pair, _client(cluster).acls(), topics)


class Rules:
    """The rules of a cluster, while one question is answered: asked for by name as long as these are few,
    then read whole, once. (For each name a cluster looks through all of its rules, of which it may have some
    hundred thousand.)
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._asked = 0
        self._all: set[Acl] | None = None

    def users_of_topics(self, pair: Pair, topics: Collection[str]) -> set[str]:
        """The AppIDs that may use one of ``topics``, as :func:`allowed_to_use`."""
        everything = self._everything(len(topics))
        rules = _client(self._cluster).acls_about(topics) if everything is None else everything
        return {appid for appid, _topic in _users_of(pair, rules, topics)}

    def of(self, appids: Collection[str]) -> set[Acl]:
        """Those of these AppIDs."""
        principals = {f"User:{appid}" for appid in appids}
        everything = self._everything(len(principals))
        if everything is None:
            return _client(self._cluster).acls_of(principals)
        return {rule for rule in everything if rule.principal in principals}

    def _everything(self, names: int) -> set[Acl] | None:
        """All rules, once so many names have been asked for that reading them is quicker; ``None`` before."""
        self._asked += names
        if self._all is None and self._asked > ASKED_BY_NAME:
            self._all = _client(self._cluster).acls()
        return self._all


def allowed_by(pair: Pair, rules: Iterable[Acl], topics: Iterable[str]) -> set[tuple[str, str]]:
    """As :func:`allowed_to_use`, of rules that were read before."""
    return _users_of(pair, rules, topics)


def _users_of(pair: Pair, rules: Iterable[Acl], topics: Iterable[str]) -> set[tuple[str, str]]:
    exempt = {c.admin_username for c in pair.clusters} | {c.mirror_username for c in pair.clusters}
    return {(appid, topic) for appid, topic in acl_rules.users_of(rules, topics) if appid not in exempt}
