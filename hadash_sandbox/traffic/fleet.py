"""Hundreds of producers in one process: each a connection of its own, with its own client.id, that writes now and then.

They speak the protocol themselves (a library's client would take a thread and a megabyte or more each) and know what
any producer without idempotence knows: a record that was refused is sent again; one whose connection ended before its
answer may have been written, and is not.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
from collections.abc import Callable

from hadash.gateway.protocol.codec import ErrorCode
from hadash.gateway.protocol.wire import MalformedFrame
from hadash_sandbox.bench.raw import RawConnection, Refused, produce_error, produce_request
from hadash_sandbox.traffic.journal import Writer
from hadash_sandbox.traffic.records import value_of
from hadash_sandbox.world import till

#: Connections that are being opened at the same time.
OPENING = 32
#: Seconds before a connection is opened again after one that failed, at least and at most: not all at once.
AGAIN_SECONDS = (0.05, 0.5)
#: Seconds after which an answer is taken to be missing: longer than a Gateway parks a request.
ANSWER_SECONDS = 30.0
#: Seconds between two writes of the journal's open runs.
FLUSH_SECONDS = 0.5

#: The cluster has not written it: it may be sent again.
_NOT_WRITTEN = (
    ErrorCode.not_leader_or_follower,
    ErrorCode.leader_not_available,
    ErrorCode.unknown_topic_or_partition,
)
_PRODUCE_VERSION = 7


class Fleet:
    """The tills ``first`` to ``last``, each with a write every ``seconds``."""

    def __init__(self, options: argparse.Namespace, journal: Writer) -> None:
        settings = dict(setting.split("=", 1) for setting in options.config)
        host, _, port = options.bootstrap.rpartition(":")
        self.address = host, int(port)
        self.user, self.password = options.user, os.environ["CLIENT_PASSWORD"]
        (self.topic,) = options.topic
        self.tills = range(int(settings["first"]), int(settings["last"]) + 1)
        self.seconds = float(settings["seconds"])
        self.journal = journal
        self.stopping = asyncio.Event()
        self.opening = asyncio.Semaphore(OPENING)

    async def run(self, wanted: Callable[[], bool]) -> None:
        """Until ``wanted`` says to stop; then every till waits for the answer of what it has sent."""
        tills = [asyncio.create_task(_Till(self, number).run()) for number in self.tills]
        while not wanted():
            await asyncio.sleep(FLUSH_SECONDS)
            self.journal.flush()
            for task in tills:
                if task.done():
                    task.result()  # a till never ends by itself: this raises what ended it
        self.stopping.set()
        await asyncio.gather(*tills)


class _Till:
    """One producer: records 0, 1, 2, … of the key that is its name, one at a time."""

    def __init__(self, fleet: Fleet, number: int) -> None:
        self._fleet = fleet
        self.name = till(number)
        self._next = 0
        self._connection: RawConnection | None = None

    async def run(self) -> None:
        fleet = self._fleet
        loop = asyncio.get_running_loop()
        # A client connects at once, and writes when its turn has come.
        await self._connected()
        due = loop.time() + random.uniform(0, fleet.seconds)
        while not await self._waited(due - loop.time()):
            await self._write()
            due = max(due + fleet.seconds, loop.time())
        if self._connection is not None:
            self._connection.close()

    async def _waited(self, seconds: float) -> bool:
        """Let ``seconds`` pass; true when the fleet is to stop."""
        try:
            await asyncio.wait_for(self._fleet.stopping.wait(), max(seconds, 0))
        except TimeoutError:
            return False
        return True

    async def _write(self) -> None:
        """The next record, again for as long as it is refused."""
        value = value_of(self._next, self.name)
        data = produce_request(
            self._fleet.topic, value, self.name, _PRODUCE_VERSION, key=self.name.encode(), acks=-1
        )
        while (connection := await self._connected()) is not None:
            try:
                payload = await asyncio.wait_for(connection.send(data), ANSWER_SECONDS)
                code = produce_error(payload, _PRODUCE_VERSION)
            except (OSError, TimeoutError, MalformedFrame) as error:
                self._fleet.journal.unknown(self.name, self._next, repr(error))
                self._hang_up()
                break
            if code is ErrorCode.none:
                self._fleet.journal.progress(self.name, self._next)
                break
            self._hang_up()  # whoever is refused looks for the right node again
            if code not in _NOT_WRITTEN:
                self._fleet.journal.failed(self.name, self._next, code.name)
                break
        self._next += 1

    async def _connected(self) -> RawConnection | None:
        """Its connection, a new one if need be; ``None`` when the fleet stops before there is one."""
        fleet = self._fleet
        while self._connection is None or self._connection.lost:
            try:
                async with fleet.opening:
                    self._connection = await RawConnection.open(fleet.address, self.name)
                    await self._connection.sign_in(fleet.user, fleet.password)
            except (OSError, Refused, MalformedFrame) as error:
                fleet.journal.note(f"{self.name} could not connect: {error!r}")
                self._hang_up()
                if await self._waited(random.uniform(*AGAIN_SECONDS)):
                    return None
        return self._connection

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def produce(options: argparse.Namespace, journal: Writer, wanted: Callable[[], bool]) -> None:
    """Until ``wanted`` says to stop. ``--config``: first, last (numbers of tills) and seconds (between two writes)."""

    async def run() -> None:
        await Fleet(options, journal).run(wanted)

    asyncio.run(run())
