"""Two clusters as companies have them: ``north`` is SASL_SSL with SCRAM and sessions that end, ``south``
knows its clients by their certificates alone. A private authority issues everything, and Connect's own home
is behind TLS too.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient

from hadash_sandbox.connect import Connect
from hadash_sandbox.downloads import kafka_jars
from hadash_sandbox.java import find_java
from hadash_sandbox.kafka import ADMIN, MIRROR, KafkaCluster
from hadash_sandbox.stack import stop_together
from support.certificates import Authority, Issued
from support.environment import Cluster
from support.gateway import free_ports
from support.kafka import Clusters

#: Milliseconds after which a broker of north ends a session that was not renewed. Its twentieth part is what
#: the renewal has left at worst, on a machine that is busy with other tests.
SESSION_MS = 10_000

#: What breaks in a line of JAAS, in SCRAM's own form, and with SASLprep (which Kafka does not do: it would
#: make IX of Ⅸ).
PASSWORDS = {
    ADMIN: 'ad"min\\secret; =,',
    MIRROR: "mirror'\"\\\\ gehéim Ⅸ\u00a0x",
    "shop": 'shop\\"=3D,密码 Ⅸ',
    "lookup": 'look"up\\',
}


@dataclass
class TlsPair:
    """The running clusters. ``listener`` is where clients of each come to; ``clusters`` asks them past TLS,
    for what they really hold.
    """

    authority: Authority
    listener: dict[str, str]
    clusters: Clusters
    connect: Connect
    #: hadash's own certificate on south: ``CN=admin,…``, which its brokers make ``User:admin`` of.
    own: Issued

    def described(self, name: str) -> dict[str, Any]:
        """What pair.json says of a cluster."""
        said: dict[str, Any] = {
            "name": name,
            "number": {"north": 1, "south": 2}[name],
            "bootstrap_servers": self.listener[name],
            "tls_ca": {"file": str(self.authority.certificate)},
        }
        if name == "north":
            return said | {
                "security_protocol": "SASL_SSL",
                "sasl_mechanism": "SCRAM-SHA-512",
                "admin_username": ADMIN,
                "admin_password": PASSWORDS[ADMIN],
                "mirror_username": MIRROR,
                "mirror_password": PASSWORDS[MIRROR],
            }
        return said | {
            "security_protocol": "SSL",
            "tls_certificate": self.own.certificate.read_text(),
            "tls_key": {"file": str(self.own.key)},
            "admin_username": ADMIN,
            "mirror_username": ADMIN,
        }


@contextmanager
def running_tls_pair(folder: Path, zookeeper: KazooClient, hosts: str) -> Iterator[TlsPair]:
    """:param zookeeper: a client outside of every chroot; :param hosts: its servers."""
    java = find_java()
    jars = kafka_jars(java, lambda line: None)
    authority = Authority(folder)
    broker = authority.issue("broker").both()
    ports = free_ports(5)
    run = uuid.uuid4().hex[:8]
    made: dict[str, KafkaCluster] = {}
    for number, name in enumerate(("north", "south")):
        plain, tls = ports + number, ports + 2 + number
        made[name] = KafkaCluster(
            name,
            number + 1,
            folder,
            [plain],
            java=java,
            jars=jars,
            zookeeper=hosts,
            users={user: f"{user}-plain" for user in (ADMIN, MIRROR)},
            scram_users=PASSWORDS,
            config=_listeners(plain, tls, broker, authority.certificate, mutual=name == "south"),
        )
        made[name].chroot = f"/kafka-{name}-{run}"
    connect = Connect(
        folder,
        ports + 4,
        java=java,
        jars=jars,
        home=made["north"],
        config=_worker(f"127.0.0.1:{ports + 2}", authority.certificate),
    )
    with ExitStack() as ending:
        for cluster in made.values():
            ending.callback(zookeeper.delete, cluster.chroot, recursive=True)
        ending.callback(stop_together, [*made.values(), connect])
        for cluster in made.values():
            cluster.start(lambda line: None)
        connect.start(lambda line: None)
        clusters = Clusters(
            {
                name: Cluster(name, cluster.id, cluster.bootstrap_servers, ADMIN, f"{ADMIN}-plain")
                for name, cluster in made.items()
            }
        )
        listener = {name: f"127.0.0.1:{ports + 2 + number}" for number, name in enumerate(made)}
        yield TlsPair(authority, listener, clusters, connect, authority.issue(ADMIN))
    shutil.rmtree(folder, ignore_errors=True)


def _listeners(plain: int, tls: int, broker: Path, authority: Path, *, mutual: bool) -> dict[str, str]:
    addresses = f"CLIENT://127.0.0.1:{plain},TLS://127.0.0.1:{tls}"
    prefix = "listener.name.tls."
    return {
        "listeners": addresses,
        "advertised.listeners": addresses,
        "listener.security.protocol.map": f"CLIENT:SASL_PLAINTEXT,TLS:{'SSL' if mutual else 'SASL_SSL'}",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(broker),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority),
        f"{prefix}ssl.client.auth": "required" if mutual else "none",
        "ssl.principal.mapping.rules": r"RULE:^CN=([^,]+),OU=Apps,O=Acme$/$1/,DEFAULT",
        f"{prefix}sasl.enabled.mechanisms": "SCRAM-SHA-512",
        f"{prefix}scram-sha-512.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
        f"{prefix}scram-sha-512.connections.max.reauth.ms": str(SESSION_MS),
    }


def _worker(bootstrap: str, authority: Path) -> dict[str, str]:
    """Connect's own way home, with a truststore in a file. Its connectors' producers must not inherit that:
    Kafka takes either a file or a text.
    """
    quoted = PASSWORDS[ADMIN].replace("\\", "\\\\").replace('"', '\\"')
    return {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        f'username="{ADMIN}" password="{quoted}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority),
    }
