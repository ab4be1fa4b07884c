"""HDFS over HTTP (WebHDFS, which every NameNode serves), so that Hadoop need not be installed where hadash
runs.

Spark uses an address like ``hdfs://namenode:8020/lake``; hadash itself connects to port 9870 of the same host.
Parameters follow a question mark: ``webhdfs``, other HTTP addresses of the NameNodes (of a pair both, separated
by a comma, each with ``https://`` if needed), and ``kerberos=true``, which uses the ticket from ``kinit``.
Without Kerberos the user is HADOOP_USER_NAME, or the user that runs the program, as for all Hadoop clients.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import requests
from fsspec.implementations.webhdfs import WebHDFS
from pyarrow import fs

#: A NameNode's default port for HTTP (dfs.namenode.http-address).
HTTP_PORT = 9870

#: Seconds to connect, and seconds without a byte, until a NameNode or a DataNode counts as down. (WebHDFS
#: itself waits a minute for a DataNode that is down.)
TIMEOUT_SECONDS = (10, 90)


def hdfs(address: str, options: Mapping[str, str]) -> tuple[fs.PyFileSystem, str]:
    """Return the file system of an ``hdfs://`` address, and the path in it. Does not connect yet.

    :raises ValueError: the address has no host, or the library for ``kerberos`` is not installed.
    """
    url = urlsplit(address)
    servers = [each.strip() for each in options.get("webhdfs", "").split(",") if each.strip()]
    if not servers and not url.hostname:
        raise ValueError("it says no NameNode")
    kerberos = options.get("kerberos", "").lower() == "true"
    try:
        found = NameNodes(
            [_with_scheme(each) for each in servers or [f"{url.hostname}:{HTTP_PORT}"]], kerberos
        )
    except ImportError as error:
        raise ValueError(f"kerberos=true needs {error.name}: pip install requests-kerberos") from error
    return fs.PyFileSystem(fs.FSSpecHandler(found)), url.path.rstrip("/") or "/"


def _with_scheme(server: str) -> str:
    """Add ``http://`` to an address without a scheme.

    >>> _with_scheme("nn1:9870"), _with_scheme("https://nn1:9871/")
    ('http://nn1:9870', 'https://nn1:9871')
    """
    return (server if "://" in server else f"http://{server}").rstrip("/")


class NameNodes(WebHDFS):
    """WebHDFS with timeouts, failover to the active NameNode, and renaming that replaces an existing file.

    :param servers: ``http(s)://host:port`` of each NameNode.
    """

    # (One instance for each store: forked processes must not share a session.)
    cachable = False

    def __init__(self, servers: list[str], kerberos: bool = False) -> None:
        first = urlsplit(servers[0])
        user = None if kerberos else os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
        super().__init__(
            first.hostname, first.port, kerberos=kerberos, user=user, use_https=first.scheme == "https"
        )
        self.url: str
        self._servers = [f"{server}/webhdfs/v1" for server in servers]

    def _connect(self) -> None:
        super()._connect()
        self.session.request = _with_timeout(self.session.request)

    def _call(self, *args: Any, **kwargs: Any) -> requests.Response:
        """Send a request to the active NameNode.

        :raises OSError: none of the NameNodes answers, or the one that answers has failed.
        """
        away: Exception | None = None
        for server in [self.url, *(other for other in self._servers if other != self.url)]:
            self.url = server
            try:
                return super()._call(*args, **kwargs)
            except requests.ConnectionError as error:
                away = error
            except PermissionError as error:
                if "standby" not in str(error).lower():
                    raise
                away = error
            except RuntimeError as error:
                away = OSError(str(error))
                if "standby" not in str(error).lower():
                    raise away from error
        assert away is not None
        raise away

    def mv(self, path1: str, path2: str, **_: Any) -> None:
        """Rename a file atomically, replacing an existing one."""
        self._call("RENAME", method="put", path=path1, destination=path2, renameoptions="OVERWRITE")


def _with_timeout(request: Any) -> Any:
    def ask(*args: Any, **kwargs: Any) -> requests.Response:
        answer: requests.Response = request(*args, **{"timeout": TIMEOUT_SECONDS, **kwargs})
        return answer

    return ask
