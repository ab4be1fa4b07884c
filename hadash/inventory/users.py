"""Creates users on both clusters of a pair: SCRAM passwords cannot be read back, so each is set on both at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hadash.audit.models import record
from hadash.identity.names import InvalidName, validated
from hadash.inventory.models import Cluster, Pair
from hadash.inventory.services import NotRegistered
from hadash.kafka.cluster import client_for
from hadash.kafka.errors import KafkaError
from hadash.sentences import say

#: Kafka's mechanisms whose passwords the clusters themselves store.
MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")


def create_user(
    pair: Pair,
    appid: str,
    clusters: Iterable[Cluster],
    mechanisms: Iterable[str],
    password: Callable[[], str],
    *,
    replace: bool = False,
    by: str,
) -> str:
    """Set one password for ``appid`` on ``clusters``, and return it. It is stored nowhere else.

    All clusters are asked first, so that a cluster that does not answer does not leave the change half done.

    :param password: returns the password; called when all checks have passed.
    :param replace: also replace an existing password of the user.
    :param by: the actor for the audit log, which never has the password.
    :raises NotRegistered: the name is not valid, is an account of hadash's own, or has a password already; or
        one cluster has taken the password and another one has not, as the sentence says.
    :raises KafkaError: a cluster does not answer; nothing was changed.
    """
    try:
        appid = validated(appid, "AppID")
    except InvalidName as error:
        raise NotRegistered(error.sentence) from None
    _refuse_own(appid)
    wanted, names = list(clusters), sorted(set(mechanisms))
    held = {c.name: sorted(client_for(c.access).scram_users().get(appid, set()) & set(names)) for c in wanted}
    taken = [cluster for cluster, has in held.items() if has]
    if taken and not replace:
        raise NotRegistered(
            say(
                "%(appid)s has a password on %(clusters)s already, and clients may use it. "
                "Replace it only if you know all of them.",
                appid=appid,
                clusters=taken,
            )
        )
    secret = password()
    done: list[str] = []
    for cluster in wanted:
        try:
            client_for(cluster.access).set_scram_password(appid, names, secret)
        except KafkaError as error:
            _record(pair, appid, [*done, f"{cluster.name} (not known)"], names, taken, by)
            raise NotRegistered(
                say(
                    "The password of %(appid)s is set on %(done)s; whether on %(cluster)s is not known: %(error)s "
                    "Run the command again with --replace: it sets a new one on all of them.",
                    appid=appid,
                    done=done or ["no cluster"],
                    cluster=cluster,
                    error=error,
                )
            ) from None
        done.append(cluster.name)
    _record(pair, appid, done, names, taken, by)
    return secret


def _refuse_own(appid: str) -> None:
    """Check that ``appid`` is not an account of hadash's own.

    :raises NotRegistered: hadash signs in with it to a cluster.
    """
    for cluster in Cluster.objects.all():
        if appid in (cluster.admin_username, cluster.mirror_username):
            raise NotRegistered(
                say(
                    "%(appid)s is an account of hadash's own on %(cluster)s: with another password it could not "
                    "sign in any more. Change that one with Kafka's tools, then register the pair again.",
                    appid=appid,
                    cluster=cluster,
                )
            )


def _record(
    pair: Pair, appid: str, clusters: list[str], mechanisms: list[str], replaced: list[str], by: str
) -> None:
    record(
        None,
        "user password set",
        f"user {appid}",
        by=by,
        pair=pair.name,
        clusters=clusters,
        mechanisms=mechanisms,
        replaced=replaced,
    )
