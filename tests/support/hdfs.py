"""An HDFS of the test's own: a NameNode and a DataNode of Hadoop's, from Maven Central, on loopback."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hadash_sandbox.downloads import Jars, fetched
from hadash_sandbox.java import LEAN_ENV, find_java
from hadash_sandbox.ports import HOST, allocate
from hadash_sandbox.processes import Process

#: As new as the client that Spark has.
VERSION = "3.5.0"

HADOOP = Jars(
    f"hadoop-{VERSION}",
    f"Hadoop's HDFS {VERSION}",
    tuple(
        ("org.apache.hadoop", name, VERSION)
        for name in ("hadoop-common", "hadoop-hdfs-client", "hadoop-hdfs")
    ),
    "about 100 MB, once",
)

_NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
_DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"

_LOGGING = """\
log4j.rootLogger=WARN,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %-5p %c{1} - %m%n
"""


@contextmanager
def hadoop(folder: Path) -> Iterator[str]:
    """The address of a lake in an empty HDFS."""
    java = find_java()
    names = ("rpc", "http", "data", "data-http", "data-ipc")
    ports = allocate(names, folder / "ports.json")
    conf = folder / "conf"
    for server in ("hdfs", "datanode"):
        # (Their pages for people are not in the jars; without a folder for them they do not start.)
        (conf / "webapps" / server).mkdir(parents=True)
    (conf / "log4j.properties").write_text(_LOGGING)
    (conf / "core-site.xml").write_text(_xml({"fs.defaultFS": f"hdfs://{HOST}:{ports['rpc']}"}))
    (conf / "hdfs-site.xml").write_text(
        _xml(
            {
                "dfs.replication": "1",
                "dfs.namenode.name.dir": f"file://{folder}/name",
                "dfs.datanode.data.dir": f"file://{folder}/data",
                "dfs.namenode.http-address": f"{HOST}:{ports['http']}",
                "dfs.datanode.address": f"{HOST}:{ports['data']}",
                "dfs.datanode.http.address": f"{HOST}:{ports['data-http']}",
                "dfs.datanode.ipc.address": f"{HOST}:{ports['data-ipc']}",
                "dfs.datanode.hostname": HOST,
                "dfs.namenode.datanode.registration.ip-hostname-check": "false",
                "dfs.namenode.rpc-bind-host": HOST,
                "dfs.namenode.safemode.extension": "0",
            }
        )
    )
    jars = fetched(HADOOP, java)

    def process(name: str, main: str, *arguments: str, ready: str = "") -> Process:
        return Process(
            name,
            java.command(main, [conf, *jars], heap_mb=256, properties={}, arguments=list(arguments)),
            log_path=folder / f"{name}.log",
            env=LEAN_ENV,
            ready=(lambda: _answers(ready)) if ready else None,
        )

    formatting = process("format", _NAMENODE, "-format", "-nonInteractive")
    formatting.start()
    assert formatting.wait(120) == 0, formatting.tail()
    # (One DataNode lives: the NameNode says so before it takes a file.)
    live = f"http://{HOST}:{ports['http']}/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
    namenode = process("namenode", _NAMENODE, ready=live)
    datanode = process("datanode", _DATANODE)
    datanode.ready = lambda: '"NumLiveDataNodes" : 1' in _answer(live)
    with pytest.MonkeyPatch.context() as patch:
        # The user who formats it owns it, and no other may write to its root.
        patch.delenv("HADOOP_USER_NAME", raising=False)
        try:
            for each in (namenode, datanode):
                each.start()
                each.wait_ready(120)
            yield f"hdfs://{HOST}:{ports['rpc']}/hadash?webhdfs={HOST}:{ports['http']}"
        finally:
            for each in (datanode, namenode):
                each.stop()


def _answers(address: str) -> bool:
    return bool(_answer(address))


def _answer(address: str) -> str:
    with urllib.request.urlopen(address, timeout=5) as answer:
        text: str = answer.read().decode()
    return text


def _xml(values: dict[str, str]) -> str:
    lines = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>" for name, value in values.items()
    )
    return f"<configuration>{lines}</configuration>"
