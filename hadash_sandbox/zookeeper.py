"""ZooKeeper from the jars inside PySpark: the store of hadash and of both Kafka clusters."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

from kazoo.client import KazooClient

from hadash.bindings.access import Access
from hadash.bindings.client import CHROOT, connect
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.java import LEAN_ENV, Java, pyspark_jars
from hadash_sandbox.ports import HOST
from hadash_sandbox.processes import Process
from hadash_sandbox.service import PortService, waits_for_disk

#: The user that owns hadash's nodes.
_USER = "hadash"

_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"

# The jars that the server needs, without their versions; the rest of PySpark's 300 jars is left out.
_JARS = (
    "zookeeper",
    "zookeeper-jute",
    "audience-annotations",
    "netty-handler",
    "netty-common",
    "netty-buffer",
    "netty-resolver",
    "netty-transport",
    "netty-transport-native-unix-common",
    "netty-transport-classes-epoll",
    "netty-codec-base",
    "slf4j-api",
    "log4j-slf4j2-impl",
    "log4j-api",
    "log4j-core",
    "metrics-core",
    "snappy-java",
)

_CONFIG = """\
dataDir={data}
clientPort={port}
clientPortAddress={host}
# The shortest session timeout is two ticks: one second, for tests of lost sessions.
tickTime=500
maxSessionTimeout=40000
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=ruok,srvr,stat
autopurge.snapRetainCount=3
autopurge.purgeInterval=1
"""

_LOG4J2 = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %-5p %c{1} - %m%n
# It cannot answer `srvr` cleanly before it has loaded its data, and says so with a stack trace.
logger.cnxn.name = org.apache.zookeeper.server.ServerCnxn
logger.cnxn.level = off
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


#: Largest size of one answer, in bytes. The names of fifty thousand rules do not fit into ZooKeeper's default limit of
#: 1 MiB; Kafka 3 itself asks for this one.
LARGEST_PACKET = 4 << 20


class ZooKeeper(PortService):
    """One standalone ZooKeeper server.

    :param password: of hadash's user, who alone has access to hadash's chroot.
    :param config: further lines of its configuration.
    """

    title = "ZooKeeper"

    def __init__(
        self, data_dir: Path, port: int, java: Java, password: str, config: Mapping[str, object] | None = None
    ) -> None:
        super().__init__("zookeeper", data_dir, port)
        self._more = "".join(f"{name}={value}\n" for name, value in (config or {}).items())
        #: Access to hadash's chroot. Kafka's chroots beside it are open to everybody.
        self.access = Access(_USER, password)
        self._config = self.dir / "zoo.cfg"
        self._log4j = self.dir / "log4j2.properties"
        self.process = Process(
            self.name,
            java.command(
                _MAIN,
                _classpath(),
                # Most data is small, but a pair of a hundred thousand AppIDs has two hundred thousand rules.
                heap_mb=512,
                properties={
                    "jute.maxbuffer": str(LARGEST_PACKET),
                    "log4j2.configurationFile": str(self._log4j),
                    "zookeeper.jmx.log4j.disable": "true",
                    "zookeeper.preAllocSize": "4096",  # kB per log file; the default is 64 MB
                    "zookeeper.forceSync": "yes" if waits_for_disk() else "no",
                },
                arguments=[self._config],
            ),
            log_path=self.log_path(),
            ready=self._serves,
            env=LEAN_ENV,
        )
        self.processes = [self.process]

    def environment(self) -> dict[str, str]:
        """The environment variables with which a process of hadash connects to it."""
        return {
            "ZOOKEEPER_HOSTS": self.address,
            "HADASH_ZOOKEEPER_USER": self.access.user,
            "HADASH_ZOOKEEPER_PASSWORD": self.access.password,
        }

    def connect(self, chroot: str = CHROOT) -> KazooClient:
        """A started client in ``chroot``, signed in as hadash."""
        return connect(self.address, chroot, access=self.access)

    def prepare(self) -> None:
        standard = _CONFIG.format(data=self.dir / "data", port=self.port, host=HOST)
        self._config.write_text(standard + self._more)
        self._log4j.write_text(_LOG4J2)

    def _serves(self) -> bool:
        """Whether ZooKeeper is ready: `srvr` names the mode only once the data is loaded; the port opens before."""
        with socket.create_connection((HOST, self.port), timeout=1) as connection:
            connection.sendall(b"srvr")
            answer = b""
            while chunk := connection.recv(4096):
                answer += chunk
        return b"Mode: standalone" in answer


def _classpath() -> list[Path]:
    folder = pyspark_jars()
    paths = []
    for name in _JARS:
        found = sorted(folder.glob(f"{name}-[0-9]*.jar"))
        if not found:
            raise SandboxError(
                f"The installed pyspark holds no {name} jar, which ZooKeeper needs. "
                "Install the version that pyproject.toml names."
            )
        paths.append(found[-1])
    return paths
