"""Hundreds of producers in one process. Each has a connection and a client.id of its own, and writes now and then.

They implement the protocol themselves, because a library's client would take a thread and a megabyte or more each. They
behave as any producer without idempotence: a refused record is sent again; a record whose connection ended before its
answer may have been written, and is not sent again.
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
from hadash_sandbox.traffic.records import HEADER, header_of, value_of
from hadash_sandbox.world import till

#: Connections that are opened at the same time, at most.
OPENING = 32
#: Seconds before a failed connection is opened again, at least and at most: random, so that not all come at once.
AGAIN_SECONDS = (0.05, 0.5)
#: Seconds after which an answer counts as missing: longer than a Gateway parks a request.
ANSWER_SECONDS = 30.0
#: Seconds between two writes of the journal's open runs.
FLUSH_SECONDS = 0.5

#: Errors after which a record may be sent again, because the cluster has not written it.
_NOT_WRITTEN = (
    ErrorCode.not_leader_or_follower,
    ErrorCode.leader_not_available,
    ErrorCode.unknown_topic_or_partition,
)
_PRODUCE_VERSION = 7


class Fleet:
    """The tills ``first`` to ``last`` of the options' config, each of which writes every ``seconds``."""

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
        """Run until ``wanted`` returns true; then every till waits for the answer to its last record."""
        tills = [asyncio.create_task(_Till(self, number).run()) for number in self.tills]
        while not wanted():
            await asyncio.sleep(FLUSH_SECONDS)
            self.journal.flush()
            for task in tills:
                if task.done():
                    task.result()  # a till never ends by itself: this raises its error
        self.stopping.set()
        await asyncio.gather(*tills)


class _Till:
    """One producer. It writes records 0, 1, 2, … one at a time, with its name as their key."""

    def __init__(self, fleet: Fleet, number: int) -> None:
        self._fleet = fleet
        self.name = till(number)
        self._next = 0
        self._connection: RawConnection | None = None

    async def run(self) -> None:
        fleet = self._fleet
        loop = asyncio.get_running_loop()
        # A client connects at once, and writes when its time comes.
        await self._connected()
        due = loop.time() + random.uniform(0, fleet.seconds)
        while not await self._waited(due - loop.time()):
            await self._write()
            due = max(due + fleet.seconds, loop.time())
        if self._connection is not None:
            self._connection.close()

    async def _waited(self, seconds: float) -> bool:
        """Wait for ``seconds``; return true when the fleet is to stop."""
        try:
            await asyncio.wait_for(self._fleet.stopping.wait(), max(seconds, 0))
        except TimeoutError:
            return False
        return True

    async def _write(self) -> None:
        """Send the next record, again while the cluster refuses it."""
        value = value_of(self._next, self.name)
        data = produce_request(
            self._fleet.topic,
            value,
            self.name,
            _PRODUCE_VERSION,
            key=self.name.encode(),
            headers=[(HEADER, header_of(self._next))],
            acks=-1,
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
            self._hang_up()  # a refused client looks for the right node again
            if code not in _NOT_WRITTEN:
                self._fleet.journal.failed(self.name, self._next, code.name)
                break
        self._next += 1

    async def _connected(self) -> RawConnection | None:
        """The till's connection, opened if need be; ``None`` when the fleet stops before that."""
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
    """Run a fleet until ``wanted`` returns true.

    The options' config has ``first`` and ``last`` (numbers of tills), and ``seconds`` (between two writes of a till).
    """

    async def run() -> None:
        await Fleet(options, journal).run(wanted)

    asyncio.run(run())
