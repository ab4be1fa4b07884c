"""Reads the controller of a cluster with ZooKeeper from there: brokers report which broker it is, but not how
often it has changed.
"""

from __future__ import annotations

import json
import logging
from typing import NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from hadash.kafka.errors import ClusterUnavailable, KafkaError
from hadash.sentences import say

#: Seconds for the cluster's ZooKeeper to answer; a snapshot continues without it.
ZOOKEEPER_SECONDS = 10.0

CONTROLLER, EPOCH = "/controller", "/controller_epoch"

#: A logger that writes nothing: the nodes of a cluster's ZooKeeper may hold secrets.
_silent = logging.getLogger("hadash.kafka.controller.kazoo")
_silent.setLevel(logging.CRITICAL)


class Controller(NamedTuple):
    """The controller of a cluster. ``broker``: its id, ``None`` while there is none. ``epoch`` rises by one
    with each election.
    """

    broker: int | None
    epoch: int


def zookeeper_controller(cluster: str, hosts: str) -> Controller:
    """Read the controller and its epoch.

    :param hosts: the cluster's ZooKeeper with the chroot, ``z1:2181,z2:2181/kafka``.
    :raises ClusterUnavailable: it does not answer.
    :raises KafkaError: the chroot is not that of a Kafka cluster.
    """
    # The chroot is added here: for a missing one the library would only log a warning.
    servers, slash, chroot = hosts.partition("/")
    root = f"{slash}{chroot}".rstrip("/")
    client = KazooClient(hosts=servers, timeout=ZOOKEEPER_SECONDS, logger=_silent, read_only=True)
    try:
        client.start(timeout=ZOOKEEPER_SECONDS)
        epoch = int(client.get(f"{root}{EPOCH}")[0])
        try:
            broker = int(json.loads(client.get(f"{root}{CONTROLLER}")[0])["brokerid"])
        except NoNodeError:
            broker = None
        return Controller(broker, epoch)
    except (NoNodeError, ValueError, KeyError, TypeError):
        raise KafkaError(
            say(
                "ZooKeeper at %(hosts)s has no controller of Kafka's in it. Is its chroot in zookeeper_hosts of "
                "cluster %(cluster)s?",
                hosts=hosts,
                cluster=cluster,
            )
        ) from None
    except (KazooException, KazooTimeoutError) as error:
        raise ClusterUnavailable(
            say(
                "ZooKeeper of cluster %(cluster)s, %(hosts)s, did not answer within %(seconds)s s (%(error)s).",
                cluster=cluster,
                hosts=hosts,
                seconds=f"{ZOOKEEPER_SECONDS:.0f}",
                error=repr(error),
            )
        ) from None
    finally:
        client.stop()
        client.close()
