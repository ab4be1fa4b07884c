"""Debian's HAProxy, as load balancers in front of Gateways and brokers."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import pytest

from hadash_sandbox.ports import is_listening
from support.waiting import eventually

_CONFIG = """\
global
    log stdout format raw local0
defaults
    mode tcp
    log global
    timeout connect 5s
    timeout client 60s
    timeout server 60s
"""

#: %ci and %cp are whose connection it is, after any header of the PROXY protocol; fc_rcvd_proxy whether there was one.
_FRONTEND = """\
frontend {name}
    bind 127.0.0.1:{port} {bind}
    option logasap
    log-format "{name} client=%ci:%cp header=%[fc_rcvd_proxy]"
    default_backend to-{name}
backend to-{name}
    server only 127.0.0.1:{to} {server}
"""


class HAProxy:
    """Some frontends, each passing connections on to one port."""

    def __init__(self, folder: Path) -> None:
        self._config = folder / "haproxy.cfg"
        self._log = folder / "haproxy.log"
        self._sections: list[str] = [_CONFIG]
        self._ports: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None

    def pass_on(self, name: str, port: int, to: int, *, bind: str = "", server: str = "") -> None:
        """:param bind: options of the listening side (``accept-proxy``);

        :param server: of the other (``send-proxy-v2``).
        """
        self._sections.append(_FRONTEND.format(name=name, port=port, to=to, bind=bind, server=server))
        self._ports.append(port)

    def __enter__(self) -> HAProxy:
        path = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
        if path is None:
            pytest.fail("HAProxy is not installed: make haproxy installs it.", pytrace=False)
        self._config.write_text("".join(self._sections))
        with self._log.open("wb") as log:
            # -db: in the foreground, so that it ends with us.
            self._process = subprocess.Popen([path, "-db", "-f", str(self._config)], stdout=log, stderr=log)
        for port in self._ports:
            eventually(lambda port=port: self._is_up(port), f"HAProxy on {port}")
        return self

    def _is_up(self, port: int) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text()
        return is_listening(port)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(20)

    def sessions(self, name: str) -> list[Mapping[str, str]]:
        """What it has logged of a frontend: ``client`` (host:port) and ``header`` (0 or 1) of each connection."""
        lines = [line.split() for line in self._log.read_text(errors="replace").splitlines()]
        return [dict(part.split("=", 1) for part in line[1:]) for line in lines if line[:1] == [name]]
