"""A wheel, built from this checkout, in an environment that has nothing of it: every program starts, and what
it needs is there.
"""

from __future__ import annotations

import os
import subprocess
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import httpx
import psycopg
import pytest
from packaging.requirements import Requirement
from support import wheels
from support.environment import required
from support.waiting import eventually

from hadash_sandbox import ports

pytestmark = [pytest.mark.stack, pytest.mark.in_turn]

DATABASE = "of_a_wheel"
START_SECONDS = 120.0


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheels.build(tmp_path_factory.mktemp("wheel"))


class Installed:
    """An environment with the wheel, and an empty folder in which everything runs."""

    def __init__(self, wheel: Path, folder: Path) -> None:
        self.home, self.bin = folder / "home", folder / "env" / "bin"
        self.home.mkdir()
        self.packages = wheels.install(wheel, folder / "env")
        self.own = sorted(
            path.name for path in self.packages.iterdir() if not path.name.startswith("_virtualenv")
        )
        wheels.lend_dependencies(self.packages)
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "DJANGO_SETTINGS_MODULE")
        }

    def port(self, name: str) -> int:
        return ports.allocate([name], self.home / f"{name}.json")[name]

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        program, *arguments = command
        return subprocess.run(
            [str(self.bin / program), *arguments], cwd=self.home, env={**self.environment, **environment},
            capture_output=True, text=True, check=False, timeout=START_SECONDS,
        )  # fmt: skip

    @contextmanager
    def running(self, name: str, *command: str, **environment: str) -> Iterator[None]:
        program, *arguments = command
        with (self.home / f"{name}.log").open("w") as log:
            process = subprocess.Popen(
                [str(self.bin / program), *arguments], cwd=self.home, env={**self.environment, **environment},
                stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        try:
            yield
        except BaseException:
            print((self.home / f"{name}.log").read_text()[-4000:])
            raise
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    found = Installed(wheel, tmp_path_factory.mktemp("installed"))
    url = required("DATABASE_URL")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        connection.execute(f"CREATE DATABASE {DATABASE}")
    address, _, query = url.partition("?")
    found.environment["DATABASE_URL"] = (
        f"{address.rpartition('/')[0]}/{DATABASE}{f'?{query}' if query else ''}"
    )
    found.environment["HADASH_ZOOKEEPER_CHROOT"] = "/hadash-of-a-wheel"
    found.environment["HADASH_SECRET_KEY"] = "of-a-wheel-" + "x" * 40
    done = found.run("hadash-manage", "migrate", "--no-input", "-v", "0")
    assert done.returncode == 0, done.stderr
    yield found
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


def python(installed: Installed, code: str) -> str:
    done = installed.run("python", "-c", code)
    return (done.stdout + done.stderr).strip()


def test_the_environment_gets_no_general_names(installed: Installed) -> None:
    assert [name for name in installed.own if not name.startswith("hadash")] == []
    assert "ModuleNotFoundError" in python(installed, "import tasks")
    assert "ModuleNotFoundError" in python(installed, "import spark")


def test_it_is_not_the_checkout_that_is_tested(installed: Installed) -> None:
    assert python(installed, "import hadash; print(hadash.__file__)") == str(
        installed.packages / "hadash" / "__init__.py"
    )


def test_the_embedded_stack_stays_behind(wheel: Path) -> None:
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if "sandbox" in name]


def test_what_it_says_it_needs_is_what_the_lock_file_has(wheel: Path) -> None:
    asked = tomllib.loads((wheels.ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    with zipfile.ZipFile(wheel) as packed:
        (name,) = [name for name in packed.namelist() if name.endswith("/METADATA")]
        told = [
            line.removeprefix("Requires-Dist: ")
            for line in packed.read(name).decode().splitlines()
            if line.startswith("Requires-Dist:")
        ]
    assert {Requirement(text).name for text in told} == {Requirement(text).name for text in asked}
    for text in told:
        requirement = Requirement(text)
        assert requirement.specifier.contains(metadata.version(requirement.name), prereleases=True), text


def test_checks_and_migrations(installed: Installed) -> None:
    done = installed.run("hadash-manage", "check")
    assert (done.returncode, done.stdout.strip()) == (0, "System check identified no issues (0 silenced).")
    done = installed.run("hadash-manage", "makemigrations", "--check", "--dry-run")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_command_line(installed: Installed) -> None:
    assert "usage: hadash" in installed.run("hadash", "--help").stdout
    done = installed.run("hadash", "list", HADASH_URL="http://127.0.0.1:9", HADASH_TOKEN="")
    assert done.returncode == 2
    assert "HADASH_TOKEN" in done.stdout


def test_a_gateway_says_what_it_lacks(installed: Installed) -> None:
    done = installed.run("hadash-gateway", HADASH_GATEWAY_PORT="none")
    assert (done.returncode, "HADASH_GATEWAY_PORT" in done.stderr) == (2, True), done.stderr
    done = installed.run("hadash-gateway", HADASH_GATEWAY_PAIR="main", HADASH_GATEWAY_ID="gateway-1")
    assert "ZooKeeper knows no pair 'main'. Register it in hadash" in done.stderr


def test_pages_have_their_templates_files_and_translations(installed: Installed) -> None:
    port = str(installed.port("web"))
    with installed.running(
        "web", "python", "-m", "uvicorn", "hadash.asgi:application", "--host", "127.0.0.1", "--port", port
    ):
        base = f"http://127.0.0.1:{port}"
        eventually(lambda: answers(f"{base}/healthz"), "the web server", patience=START_SECONDS)
        eventually(lambda: answers(f"{base}/readyz"), "it is ready", patience=START_SECONDS)
        page = httpx.get(f"{base}/sign-in/", headers={"Accept-Language": "zh-hans"})
        assert (page.status_code, "登录" in page.text) == (200, True)
        for file in ("hadash.css", "app.js", "plotly/plotly.min.js", "htmx/htmx-2.min.js"):
            assert httpx.get(f"{base}/static/{file}").status_code == 200, file


@pytest.mark.parametrize(
    "command",
    [
        ("worker", "--pool", "threads", "--concurrency", "2", "-Q", "celery,outbox,pipeline"),
        ("beat", "-s", "beat"),
    ],
    ids=["worker", "beat"],
)
def test_workers_and_beat(installed: Installed, command: tuple[str, ...]) -> None:
    page = f"127.0.0.1:{installed.port(command[0])}"
    # (A queue of its own: the workers of other tests must not take what beat of this database hands over.)
    redis = {
        "REDIS_URL": required("REDIS_URL").rpartition("/")[0] + "/7",
        "HADASH_LAKE": str(installed.home / "lake"),
    }
    with installed.running(
        command[0], "python", "-m", "celery", "-A", "hadash", *command, HADASH_HEALTH_ADDRESS=page, **redis
    ):
        eventually(lambda: answers(f"http://{page}/readyz"), "it is ready", patience=START_SECONDS)


def test_spark_finds_its_jobs(installed: Installed) -> None:
    """As the pipeline starts it: in the folder where ``spark`` lies."""
    code = (
        "import django, os, subprocess, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'hadash.settings'; django.setup();"
        "from django.conf import settings; from hadash.pipeline.applications import command;"
        "print(subprocess.run([*command(False)[:-2], '--help'], cwd=settings.BASE_DIR, capture_output=True, text=True))"
    )
    assert "usage: " in python(installed, code)


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=10).status_code == 200
    except httpx.HTTPError:
        return False
