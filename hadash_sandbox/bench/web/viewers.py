"""Part ``viewers``: measures the web process while many viewers watch one switch, and the delay of the last of them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime

import httpx
import psutil

from hadash_sandbox.bench.report import Report, quantile
from hadash_sandbox.demo import Demo
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.person import Person

VIEWERS = 200
#: Goals: processors of the web process while they watch, and seconds until the last viewer has heard of a stage.
GOAL_CORES, GOAL_SECONDS = 1.0, 1.0
#: Seconds for all viewers to join, seconds of watching before the switch runs, and seconds for the switch to end.
JOIN_SECONDS, QUIET_SECONDS, END_SECONDS = 60.0, 10.0, 120.0
#: The switch that they watch.
APPID, INSTANCE, TARGET = "shop", "shop-carts", "west"


@dataclass
class Heard:
    """The viewers' results: by stage, the seconds after its beginning at which each viewer heard of it.

    ``joined`` and ``ended`` are the numbers of viewers that have joined, and that have heard the end.
    """

    joined: int = 0
    ended: int = 0
    delays: dict[str, list[float]] = field(default_factory=dict)


def measure(demo: Demo, report: Report) -> None:
    """Make a real switch of the demo's world, watched by :data:`VIEWERS` viewers."""
    operator = Person(demo.url, "olga", demo.password)
    approver = Person(demo.url, "arne", demo.password)
    key = operator.request(APPID, INSTANCE, TARGET, "to be watched by many")
    if demo.web is None or demo.web.pid is None:
        raise SandboxError("There is no web process to watch with.")
    web = psutil.Process(demo.web.pid)
    heard, cores = asyncio.run(
        _watch(demo, operator, key, lambda: approver.approve(key).raise_for_status(), web)
    )
    of_stages = [delay for delays in heard.delays.values() for delay in delays]
    for stage, delays in heard.delays.items():
        report.row(
            f"{VIEWERS} viewers of one switch",
            stage=stage,
            heard=len(delays),
            median_s=round(quantile(delays, 0.5), 2),
            last_s=round(max(delays), 2),
        )
    report.row(
        f"{VIEWERS} viewers of one switch",
        stage="all",
        cores=", ".join(f"{k} {v:.2f}" for k, v in cores.items()),
    )
    report.at_most(f"{VIEWERS} viewers: the web process", GOAL_CORES, max(cores.values()), "cores")
    stages = len(heard.delays)
    report.at_most(
        f"{VIEWERS} viewers: the last one hears of a stage",
        GOAL_SECONDS,
        max(of_stages, default=None),
        "s",
        samples=len(of_stages),
        needed=VIEWERS * max(stages, 1),
    )


async def _watch(
    demo: Demo, person: Person, key: str, begin: object, web: psutil.Process
) -> tuple[Heard, dict[str, float]]:
    heard = Heard()
    limits = httpx.Limits(max_connections=VIEWERS + 10, max_keepalive_connections=VIEWERS)
    async with httpx.AsyncClient(
        base_url=demo.url, cookies=person.cookies, limits=limits, timeout=None, trust_env=False
    ) as client:
        viewers = [asyncio.create_task(_view(client, key, heard)) for _ in range(VIEWERS)]
        try:
            async with asyncio.timeout(JOIN_SECONDS):
                while heard.joined < VIEWERS:
                    await asyncio.sleep(0.1)
                    for viewer in viewers:
                        if viewer.done():
                            viewer.result()  # raises the error that ended it
            heard.delays.clear()
            quiet = await _cores(web, asyncio.sleep(QUIET_SECONDS))
            await asyncio.to_thread(begin)  # type: ignore[arg-type]
            running = await _cores(web, asyncio.wait(viewers, timeout=END_SECONDS))
        finally:
            for viewer in viewers:
                viewer.cancel()
        if heard.ended < VIEWERS:
            raise SandboxError(f"Only {heard.ended} of {VIEWERS} viewers have heard the end.")
    return heard, {"before": quiet, "while it ran": running}


async def _cores(web: psutil.Process, wait: object) -> float:
    """The average number of processors that the web process used while ``wait`` was awaited."""
    before, began = sum(web.cpu_times()[:2]), time.monotonic()
    await wait  # type: ignore[misc]
    return (sum(web.cpu_times()[:2]) - before) / (time.monotonic() - began)


async def _view(client: httpx.AsyncClient, key: str, heard: Heard) -> None:
    """Run one viewer until the switch's stream ends."""
    known: set[str] = set()
    async with client.stream("GET", f"switches/{key}/stream/") as answer:
        answer.raise_for_status()
        async for name, data in _events(answer):
            if name == b"end":
                heard.ended += 1
                return
            if name != b"state":
                continue
            now = time.time()
            # (Two hundred browsers would each parse the whole event; this one process parses only what it needs.)
            told_first = data.partition(b', "now": ')[0]
            stages = json.loads(told_first + b"}")["stages"]
            new = {stage["stage"]: stage for stage in stages if stage["stage"] not in known}
            if not known and not new:
                heard.joined += 1
            for stage, told in new.items():
                known.add(stage)
                began = datetime.fromisoformat(told["started_at"]).timestamp()
                heard.delays.setdefault(stage, []).append(now - began)


async def _events(answer: httpx.Response) -> AsyncIterator[tuple[bytes, bytes]]:
    """(name, data) of each event, as bytes: to split two hundred streams as text would cost more than to send them."""
    waiting = b""
    async for chunk in answer.aiter_raw():
        *whole, waiting = (waiting + chunk).split(b"\n\n")
        for event in whole:
            head, _data, data = event.partition(b"data: ")
            yield head.partition(b"event: ")[2].strip(), data
