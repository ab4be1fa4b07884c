"""What every process says of itself while a server is away, and the traces of a switch.

The pages are asked as Kubernetes and Prometheus ask them. How fast they answer is measured by ``make
bench-health``, which lets a cluster hang, too (a mirror may copy records twice by that, which the switches of
other tests here would be refused for).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from support.otlp import Collector, Span
from support.waiting import eventually

from hadash.bindings.model import Binding
from hadash.bindings.store import BindingStore
from hadash.identity.resolve import resolve
from hadash_sandbox.demo import Demo
from hadash_sandbox.trial import Trial

pytestmark = pytest.mark.stack

PATIENT = 30.0


def ask(demo: Demo, process: str, path: str) -> tuple[int, dict[str, Any]]:
    response = httpx.get(f"{demo.health_pages[process]}{path}", timeout=PATIENT)
    return response.status_code, response.json()


def says_away(demo: Demo, process: str, server: str, is_needed: bool) -> bool:
    """Whether the process names the server as away, and is ready all the same unless it needs it."""
    status, found = ask(demo, process, "/readyz")
    named = [check["name"] for check in found.get("checks", ()) if not check["ok"]]
    return server in named and status == (503 if is_needed else 200)


def is_ready(demo: Demo, process: str) -> bool:
    return ask(demo, process, "/readyz")[0] == 200


@contextmanager
def away(*processes: Any) -> Iterator[None]:
    for process in processes:
        process.pause()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


def test_all_is_well(demo: Demo, trial: Trial) -> None:
    for process in ("web", "worker", "beat"):
        assert ask(demo, process, "/healthz")[1]["status"] == "ok", process
        eventually(
            lambda process=process: ask(demo, process, "/readyz")[1]["status"] == "ok", f"{process} ready"
        )
    assert ask(demo, "gateway", "/readyz")[1]["faults"] == []


#: Away → by process, what it says of it, and whether it can do without. (A Gateway speaks of ZooKeeper only
#: when its session is over.)
SAID: dict[str, dict[str, bool]] = {
    "postgresql": {"web": True, "worker": True},
    "redis": {"web": False, "worker": True, "beat": True},
    "zookeeper": {"web": False, "worker": False},
}


@pytest.mark.parametrize("server", SAID)
def test_a_server_that_hangs_is_named_by_everybody_and_nobody_is_to_be_started_again(
    demo: Demo, trial: Trial, server: str
) -> None:
    with away(*processes_of(demo, server)):
        for process, is_needed in SAID[server].items():
            # (Another server may be slow to answer in between: what counts is that it ends so.)
            eventually(
                lambda process=process, is_needed=is_needed: says_away(demo, process, server, is_needed),
                f"{process} says so",
                patience=60,
            )
        for process in demo.health_pages:
            assert ask(demo, process, "/healthz")[0] == 200, process
        up = metric(demo, "web", f'hadash_fleet_up{{server="{server}"}}')
        assert up == 0
        if server == "zookeeper":
            eventually(
                lambda: bool(ask(demo, "gateway", "/readyz")[1]["faults"]), "the Gateway says so", patience=60
            )
            assert is_ready(demo, "gateway")  # it goes on with what it knows
    for process in SAID[server]:
        eventually(lambda process=process: is_ready(demo, process), f"{process} is ready again", patience=90)


def processes_of(demo: Demo, server: str) -> list[Any]:
    stack = demo.stack
    if server == "zookeeper":
        return list(stack.zookeeper.processes)
    return list(getattr(stack, {"postgresql": "postgres", "redis": "redis"}[server]).processes)


def metric(demo: Demo, process: str, series: str) -> float | None:
    text = httpx.get(f"{demo.health_pages[process]}/metrics", timeout=PATIENT).text
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        if name == series:
            return float(value)
    return None


def test_figures_of_every_process_can_be_read(demo: Demo) -> None:
    names: dict[str, Callable[[float], bool]] = {
        "web": lambda value: value >= 1,
        "worker": lambda value: value > 0,
        "beat": lambda value: value > 0,
    }
    series = {
        "web": 'hadash_workers{queue="celery"}',
        "worker": 'hadash_tasks_total{state="success",task="switching.start_due"}',
        "beat": 'hadash_tasks_published_total{task="switching.start_due"}',
    }
    for process, holds in names.items():
        eventually(
            lambda process=process, holds=holds: (
                (value := metric(demo, process, series[process])) is not None and holds(value)
            ),
            f"{series[process]} of {process}",
            patience=60,
        )


def test_a_switch_can_be_followed_from_the_approval_to_each_command(
    trial: Trial, bindings: BindingStore, traces: Collector
) -> None:
    before = resolve(bindings.document("shop"), "shop-carts", Binding("east")).cluster
    measured = trial.switch("shop", "shop-carts", "west" if before == "east" else "east")
    assert measured.status == "succeeded", measured.outcome

    def whole() -> list[Span]:
        """From the request that began it to a write of bindings in a stage."""
        for span in list(traces.spans):
            if span.name == "WriteBindings":
                way = traces.way(span)
                if way[0].service == "hadash-web" and way[0].parent == "":
                    return way
        return []

    eventually(lambda: bool(whole()), "the trace of the switch", patience=60)
    way = whole()
    services = [span.service for span in way]
    assert services[-1] == "hadash-worker"
    assert any(span.name.startswith("stage ") for span in way)
    assert [span for span in way if span.name.startswith("run/switching.")], [span.name for span in way]


def test_what_people_search_stands_in_no_trace(demo: Demo, traces: Collector) -> None:
    """Nor a code of the identity provider, nor the secret of an address by which somebody unsubscribes."""
    secrets = ("searched-for-this", "code-of-the-provider", "secret-of-the-mail")
    for address in (
        "sign-in/?q=searched-for-this",
        "sign-in/oidc/return/?code=code-of-the-provider",
        "unsubscribe/secret-of-the-mail/",
    ):
        httpx.get(demo.url + address)

    def seen(path: str) -> list[Span]:
        return [
            span for span in list(traces.spans) if any(path in value for value in span.attributes.values())
        ]

    eventually(
        lambda: seen("/sign-in/") and seen("unsubscribe/<str:token>"), "the traces of both", patience=60
    )
    assert not [span for secret in secrets for span in seen(secret)]


def test_and_by_the_ids_in_the_workers_log(demo: Demo, trial: Trial, bindings: BindingStore) -> None:
    """Of the switch that was just made: its approval's request and who sent it stand in the lines of its stages."""
    before = resolve(bindings.document("shop"), "shop-carts", Binding("east")).cluster
    measured = trial.switch("shop", "shop-carts", "west" if before == "east" else "east")
    assert measured.status == "succeeded", measured.outcome
    lines = (demo.data_dir / "logs" / "worker.log").read_text().splitlines()
    last = [line for line in lines if " stage=forward" in line][-1]
    key = last.partition(" switch=")[2].partition(" ")[0]
    of_stages = [line for line in lines if f" switch={key} stage=" in line]
    assert len(of_stages) > 5
    assert all("[request=" in line and " person=arne " in line for line in of_stages), of_stages
