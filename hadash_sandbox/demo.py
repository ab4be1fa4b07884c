"""All of hadash on the embedded stack: servers, Gateway, web, worker, beat, world and clients."""

from __future__ import annotations

import os
import socket
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from hadash_sandbox import environment, ports
from hadash_sandbox.auditing import TOKEN, Auditing
from hadash_sandbox.downloads import spark_kafka_jars, tool_jars
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.java import find_java
from hadash_sandbox.processes import Process, describe_exit, run
from hadash_sandbox.secrets import passwords
from hadash_sandbox.stack import DEMO_USERS, Stack, is_running, say, stop_together
from hadash_sandbox.traffic.client import Pace
from hadash_sandbox.world import ClientSpec
from hadash_sandbox.worlds import world_named

ROOT = Path(__file__).resolve().parents[1]

#: Node ports of the Gateway for each cluster: enough for ten brokers.
PORTS_PER_CLUSTER = 10

#: Records a second of each producer of ``make demo``. Every half-second of a chart has some, and the machine is still
#: mostly idle. (Each record costs a write, a read by its group, and a fetch and a write of the mirror.)
DEMO_RATE = 10.0
#: Seconds that a client may take to end by itself.
STOP_SECONDS = 20.0
#: Most lines that the making of a generated fleet says: thirty days with four jobs each, and room for more.
FLEET_LINES = 1_000
#: Seconds between two looks at the progress of a generated fleet.
FLEET_POLL_SECONDS = 1.0

Log = Callable[[str], None]


#: The name of the demo's pair, as the world is seeded.
PAIR = "main"

#: Processes that serve their health page on a port of their own.
HEALTH_PAGES = ("worker", "beat", "pipeline worker")


class Demo:
    """A running demo: ``with Demo(folder) as demo`` starts it, and everything that it started ends with it."""

    #: The Celery application that the worker runs.
    worker_app = "tasks"

    def __init__(
        self,
        data_dir: Path,
        *,
        clients: bool = True,
        web: bool = True,
        rate: float = 20.0,
        pace: Pace = Pace.CLOSED_LOOP,
        world: str = "demo",
        gateways: int = 1,
        pipeline: bool = False,
        auditors: int = 0,
        fleet: int = 0,
        fleet_looked_at: Sequence[int] | None = None,
        log: Log = say,
    ) -> None:
        """:param rate: records a second of each producer.
        :param pace: when librdkafka's producers send the next record.
        :param world: a name that :func:`hadash_sandbox.worlds.world_named` knows.
        :param gateways: number of Gateway processes.
        :param pipeline: also start a worker for the pipeline's jobs; Spark needs a gigabyte of memory and a core.
        :param auditors: number of processes that compare both sides of the mirrors, with a coordinator.
        :param fleet: AppIDs of a generated fleet beside the world (:mod:`hadash_sandbox.fleet`); 0 for none.
        :param fleet_looked_at: the days ago on which jobs looked at that fleet; ``None`` for the days that suit a
            running pipeline.
        """
        self.data_dir = data_dir.resolve()
        self.log = log
        self.rate = rate
        self.pace = pace
        self.world_name = world
        self.world = world_named(world)
        #: Number of Gateway processes, which share one port.
        self.gateways = gateways
        #: AppIDs and their passwords.
        self.users = {**DEMO_USERS, **self.world.users}
        self.stack = Stack(
            self.data_dir, brokers=self.world.brokers, plain_users=self.users, on_death=self._died
        )
        self.clients: dict[str, Process] = {}
        self._with_clients = clients
        self._with_web = web
        self._with_pipeline = pipeline
        self._auditors = auditors
        self._fleet = fleet
        self._fleet_looked_at = fleet_looked_at
        self.gateway: Process | None = None
        self.worker: Process | None = None
        self.beat: Process | None = None
        self.web: Process | None = None

    # -- life ------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> Self:
        """Start the servers, hadash and the clients; return when all of them are up.

        :raises SandboxError: a part did not come up; then everything is stopped again.
        """
        began = time.monotonic()
        for library in {spec.library for spec in self.world.clients if spec.library.startswith("java-")}:
            tool_jars(
                library.removeprefix("java-"), find_java(), self.log
            )  # in advance, so that nobody has to wait for the download when the client starts
        if self._with_pipeline:
            spark_kafka_jars(find_java(), self.log)  # likewise, for the first full audit
        if not is_running(self.data_dir):
            # A demo that was killed has left its environment file. Other programs would use its old addresses while
            # this demo starts.
            environment.forget(self.data_dir)
        self.stack.start(self.log)
        try:
            self._start_hadash()
            environment.keep(self.data_dir, {**self.environment(), "HADASH_URL": self.url})
            if self._with_clients:
                self.log(f"Starting {len(self.world.clients)} Kafka clients ...")
                for spec in self.world.clients:
                    self.start_client(spec)
        except BaseException:
            self.stop()
            raise
        self.log(f"Everything is up ({time.monotonic() - began:.0f} s).")
        return self

    def stop(self) -> None:
        """Stop everything, the clients first: they leave their groups through the Gateway."""
        environment.forget(self.data_dir)
        stop_together(list(self.clients.values()))
        self.stack.stop()

    def _died(self, process: Process) -> None:
        self.log(f"{process.name} has ended unexpectedly; its log is {process.log_path}.")

    # -- hadash's own processes --------------------------------------------------------------------------------------

    def _allocate(self) -> None:
        names = ["gateway", *(f"gateway node {n}" for n in range(2 * PORTS_PER_CLUSTER))]
        self.ports = ports.allocate(names, self.data_dir / "gateway-ports.json")
        # (The processes of a Gateway have consecutive status ports.)
        admin = [f"gateway admin {n}" if n else "gateway admin" for n in range(self.gateways)]
        self.ports |= ports.allocate(
            [*admin, "web", "mail", *(f"{name} health" for name in HEALTH_PAGES)],
            self.data_dir / "web-ports.json",
            avoid=self.ports.values(),
        )
        self.admin_ports = [self.ports[name] for name in admin]
        ports.check(self.ports, grace=5.0)

    def environment(self) -> dict[str, str]:
        """The environment of hadash's processes: the same variables that production sets."""
        secrets = passwords(("secret-key", "password"), self.data_dir / "hadash-secrets.json")
        return {
            **self.stack.environment(),
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "hadash.settings",
            "HADASH_SECRET_KEY": secrets["secret-key"],
            "HADASH_SANDBOX_PASSWORD": secrets["password"],
            "HADASH_SANDBOX_WORLD": self.world_name,
            "HADASH_SMTP_HOST": "127.0.0.1",
            "HADASH_SMTP_PORT": str(self.ports["mail"]),
            "HADASH_SMTP_SECURITY": "none",
            "HADASH_MAIL_FROM": "hadash <hadash@example.org>",
            "HADASH_PUBLIC_URL": self.url,
            "HADASH_METRICS_NETWORKS": "127.0.0.0/8",
            "HADASH_DEMO_MAIL": str(self.data_dir / "mail"),
            "HADASH_GATEWAY_ID": "gateway-1",
            "HADASH_GATEWAY_PORT": str(self.ports["gateway"]),
            "HADASH_GATEWAY_PORTS_PER_CLUSTER": str(PORTS_PER_CLUSTER),
            "HADASH_GATEWAY_ADMIN_PORT": str(self.ports["gateway admin"]),
            "HADASH_GATEWAY_WORKERS": str(self.gateways),
            "HADASH_GATEWAY_STATE": str(self.data_dir / "gateway"),
            "HADASH_GATEWAY_LAKE": str(self.data_dir / "lake"),
            "HADASH_COORDINATOR_TOKEN": TOKEN,
        }

    def gateway_environment(self) -> dict[str, str]:
        """The environment of the Gateway. A subclass may point it at other addresses of the servers."""
        return self.environment()

    def worker_environment(self) -> dict[str, str]:
        """The environment of the worker; a subclass may add to it."""
        return self.environment()

    @property
    def url(self) -> str:
        """The base URL of the web server."""
        return f"http://127.0.0.1:{self.ports['web']}/"

    @property
    def bootstrap(self) -> str:
        """The Gateway's bootstrap address for Kafka clients."""
        return f"127.0.0.1:{self.ports['gateway']}"

    def admin_config(self, cluster: str) -> dict[str, str]:
        """librdkafka settings to connect to a cluster directly, as its administrator."""
        return self.stack.kafka[cluster].client_config()

    @property
    def password(self) -> str:
        """The password of all people of the world."""
        return self.environment()["HADASH_SANDBOX_PASSWORD"]

    def _python(
        self,
        name: str,
        *arguments: str,
        ready: Callable[[], bool] | None = None,
        restart: bool = True,
        env: dict[str, str] | None = None,
    ) -> Process:
        process = Process(
            name,
            [sys.executable, *arguments],
            log_path=self.data_dir / "logs" / f"{name.replace(' ', '-')}.log",
            env=self.environment() if env is None else env,
            cwd=ROOT,
            ready=ready,
            restart=restart,
        )
        self.stack.add(process)
        return process

    def _start_hadash(self) -> None:
        self._allocate()
        self.log("Preparing the database ...")
        self._once("migrate", str(ROOT / "manage.py"), "migrate", "--no-input", "-v", "0")
        self.log("Seeding Topics, ACLs, mirrors and people ...")
        self._once("seed", "-m", "hadash_sandbox.seed")
        if self._fleet:
            self._generate()
        self.log("Starting Gateway, worker, beat, mailbox and web ...")
        self._start_mailbox()
        listening = [self._answers(port, "/status") for port in self.admin_ports]
        self.gateway = self._python(
            "gateway",
            *("-m", "hadash.gateway"),
            ready=lambda: all(answers() for answers in listening),
            env=self.gateway_environment(),
        )
        self.worker = self._python(
            "worker",
            *self.worker_arguments(),
            env={**self.worker_environment(), **self._health_page("worker")},
        )
        self.beat = self._python(
            "beat",
            *("-m", "celery", "-A", "hadash", "beat", "-l", "WARNING", "-s", str(self.data_dir / "beat")),
            env={**self.environment(), **self._health_page("beat")},
        )
        if self._with_pipeline:
            env = {**self.environment(), **self._health_page("pipeline worker")}
            # (Spark would fetch its connector itself, at the first full audit, while somebody waits for that.)
            jars = ",".join(map(str, spark_kafka_jars(find_java(), self.log)))
            env.setdefault("HADASH_SPARK_MORE", os.environ.get("HADASH_SPARK_MORE", f"spark.jars={jars}"))
            self._python("pipeline worker", *self.worker_arguments("pipeline", 1), env=env)
        if self._with_web:
            self._start_web()
        if self._auditors:
            self._start_auditors()

    def _start_auditors(self) -> None:
        first = self.admin_config(next(iter(self.stack.kafka)))
        auditing = Auditing(self.data_dir / "auditors", self.environment(), first)
        arguments, env = auditing.coordinator()
        self._python("coordinator", *arguments, env=env)
        for number in range(1, self._auditors + 1):
            arguments, env = auditing.auditor(number, PAIR)
            self._python(f"auditor {number}", *arguments, env=env)

    def _health_page(self, process: str) -> dict[str, str]:
        return {"HADASH_HEALTH_ADDRESS": f"127.0.0.1:{self.ports[f'{process} health']}"}

    @property
    def health_pages(self) -> dict[str, str]:
        """By process, the base URL of its ``/healthz``, ``/readyz`` and ``/metrics``."""
        names = [name for name in HEALTH_PAGES if self._with_pipeline or name != "pipeline worker"]
        own = {name: f"http://127.0.0.1:{self.ports[f'{name} health']}" for name in names}
        return {"web": self.url.rstrip("/"), "gateway": f"http://127.0.0.1:{self.admin_ports[0]}", **own}

    def _start_mailbox(self) -> None:
        """Start a mail server that keeps all mail in a Maildir, which the demo's pages show.

        It is aiosmtpd's own program and handler.
        """
        port = self.ports["mail"]
        self._python(
            "mailbox",
            *("-m", "aiosmtpd", "-n", "-l", f"127.0.0.1:{port}", "-c", "aiosmtpd.handlers.Mailbox"),
            str(self.data_dir / "mail"),
            ready=lambda: _greets(port),
        )

    def _start_web(self) -> None:
        self.web = self._python(
            "web",
            "-m", "uvicorn", "hadash.asgi:application",
            "--host", "127.0.0.1", "--port", str(self.ports["web"]), "--log-level", "warning",
            "--timeout-graceful-shutdown", "1",
            ready=self._answers(self.ports["web"], "/sign-in/"),
        )  # fmt: skip

    @classmethod
    def worker_arguments(cls, queue: str = "celery,outbox", at_once: int = 8) -> list[str]:
        """The arguments of a Celery worker.

        It uses threads, not processes: the stages of a switch share the open connections to the clusters. (In
        production, mail has a worker of its own; a demo sends too little for that.)

        :param queue: the queues to read, separated by commas.
        :param at_once: number of threads.
        """
        return [
            "-m",
            "celery",
            "-A",
            cls.worker_app,
            "worker",
            "-l",
            "INFO",
            "--pool",
            "threads",
            "--concurrency",
            str(at_once),
            "-Q",
            queue,
            "-n",
            f"{queue.partition(',')[0]}@%h",
            "--without-gossip",
            "--without-mingle",
        ]

    def _generate(self) -> None:
        """Add the generated fleet, and log its progress: it takes minutes."""
        command = [sys.executable, "-m", "hadash_sandbox.fleet", "--appids", str(self._fleet)]
        if self._fleet_looked_at is not None:
            command += ["--looked-at", *map(str, self._fleet_looked_at)]
        process = Process(
            "fleet",
            command,
            log_path=self.data_dir / "logs" / "fleet.log",
            env=self.environment(),
            cwd=ROOT,
        )
        process.start()
        try:
            told, ended = 0, False
            while not ended:
                ended = process.has_ended(FLEET_POLL_SECONDS)
                lines = process.tail(FLEET_LINES)
                for line in lines[told:]:
                    self.log(line)
                told = len(lines)
            if process.exit_code != 0:
                raise SandboxError(
                    f"The fleet could not be generated ({describe_exit(process.exit_code)}); its log is "
                    f"{process.log_path}."
                )
        finally:
            process.stop()

    def _once(self, what: str, *arguments: str) -> None:
        log_path = self.data_dir / "logs" / f"{what}.log"
        run(what, [sys.executable, *arguments], log_path=log_path, env=self.environment())

    @staticmethod
    def _answers(port: int, path: str) -> Callable[[], bool]:
        def ready() -> bool:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as response:
                return bool(response.status == 200)

        return ready

    # -- clients -----------------------------------------------------------------------------------------------------

    def start_client(self, spec: ClientSpec) -> Process:
        """Start one client, which writes the journal ``journals/<name>.jsonl``."""
        journals = self.data_dir / "journals"
        journals.mkdir(parents=True, exist_ok=True)
        arguments = [
            "-m",
            "hadash_sandbox.traffic.client",
            spec.role,
            "--name",
            spec.name,
            "--bootstrap",
            self.bootstrap,
            "--user",
            spec.appid,
            "--mechanism",
            spec.mechanism,
            "--rate",
            str(self.rate),
            "--pace",
            self.pace.value,
            "--library",
            spec.library,
            "--journal",
            str(journals / f"{spec.name}.jsonl"),
        ]
        for topic in spec.topics:
            arguments += ["--topic", topic]
        for setting in spec.config:
            arguments += ["--config", setting]
        if spec.client_id:
            arguments += ["--client-id", spec.client_id]
        if spec.group:
            arguments += ["--group", spec.group]
        process = Process(
            f"client {spec.name}",
            [sys.executable, *arguments],
            log_path=self.data_dir / "logs" / f"client-{spec.name}.log",
            env={"PYTHONPATH": str(ROOT), "CLIENT_PASSWORD": self.users[spec.appid]},
            cwd=ROOT,
        )
        self.stack.add(process)
        self.clients[spec.name] = process
        return process

    def stop_clients(
        self,
        role: str | None = None,
        seconds: float = STOP_SECONDS,
        among: Sequence[ClientSpec] | None = None,
    ) -> None:
        """Stop the clients of a role, or all; each waits for its last acknowledgements.

        :param seconds: a client that takes longer is killed.
        :param among: only clients of this list; the default is all of the world's.
        """
        specs = self.world.clients if among is None else among
        wanted = [s.name for s in specs if role in (None, s.role) and s.name in self.clients]
        with ThreadPoolExecutor(max(len(wanted), 1)) as pool:
            for stopped in [pool.submit(self.clients[name].stop, seconds) for name in wanted]:
                stopped.result()


def _greets(port: int) -> bool:
    """Whether a mail server on this port sends its greeting."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as there:
        return there.recv(100).startswith(b"220 ")


#: Where ``make demo`` keeps its data.
DEFAULT_DATA = Path(os.environ.get("HADASH_DEMO_DATA", ROOT / "var" / "demo"))
