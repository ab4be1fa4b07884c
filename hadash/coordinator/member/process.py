"""A member's process: follows its assignments until it is told to stop."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

from confluent_kafka import KafkaException
from kazoo.client import KazooClient

from hadash.bindings.client import connect, reaching
from hadash.bindings.errors import NameTaken, StoreUnavailable
from hadash.coordinator.http_side import HttpSide, build_app
from hadash.coordinator.look_loop import LookLoop
from hadash.coordinator.member.assigned import Wanted, wanted
from hadash.coordinator.member.registration import Registration
from hadash.coordinator.member.topic_reader import Handle, Reader, TopicReader
from hadash.coordinator.process_settings import MemberSettings, read_object, read_token
from hadash.coordinator.store import PoolStore
from hadash.sentences import Explained

log = logging.getLogger(__name__)

#: Makes the reader of a Topic from its name and the settings of its Kafka consumer.
MakeReader = Callable[[str, Mapping[str, Any]], Reader]

#: Seconds between two looks while something is not in effect yet.
POLL_SECONDS = 0.05

#: Seconds between two looks while another process has the name: it may be the one before, which is about to be gone.
TAKEN_SECONDS = 0.5

#: Seconds that readers have to stop and commit when the process ends.
CLOSE_SECONDS = 30.0


class PoolMember(LookLoop):
    """A member of a pool.

    :param client: a connected client whose commands time out; it is stopped with the member.
    :param make_reader: makes what reads a Topic.
    """

    def __init__(
        self, client: KazooClient, settings: MemberSettings, token: str, make_reader: MakeReader
    ) -> None:
        super().__init__(client)
        self._settings = settings
        self._make_reader = make_reader
        app = build_app(token, self.status, self.is_well)
        self._http = HttpSide(app, settings.http_host, settings.http_port)
        host = settings.http_advertised_host or settings.http_host
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self._http.port}"
        self._store = PoolStore(client, settings.pool, self.wake)
        self._registration = Registration(client, settings.pool, settings.name, self.url)
        self._readers: dict[str, Reader] = {}
        self._consumers: dict[str, Mapping[str, Any]] = {}
        #: Topic → why Kafka's client refuses the settings in its document.
        self._unusable: dict[str, str] = {}
        #: What the last look at ZooKeeper has found, and in which session everything was read from its start.
        self._wanted: dict[str, Wanted] = {}
        self._synced: int | None = None
        self._is_current = False
        self._error = ""

    @classmethod
    def from_environment(cls, handle: Handle) -> Self:
        """A member whose settings are the variables ``HADASH_MEMBER_…`` and those of ZooKeeper.

        :param handle: what is done with each record.
        :raises ValueError: a variable cannot be used. :raises StoreUnavailable: ZooKeeper does not answer.
        """
        settings = MemberSettings.from_environment()
        if not settings.pool:
            raise ValueError("HADASH_MEMBER_POOL is not set: it names the pool.")
        token = read_token(settings.token_file, "HADASH_MEMBER_TOKEN_FILE")
        secrets = read_object(settings.consumer_file, "HADASH_MEMBER_CONSUMER_FILE")

        def make_reader(topic: str, consumer: Mapping[str, Any]) -> Reader:
            return TopicReader(topic, consumer, secrets, handle, settings)

        return cls(connect(bounded=True), settings, token, make_reader)

    # -- the life of the process -----------------------------------------------------------------------------------

    def run(self) -> None:
        self._http.start()
        super().run()

    def end(self) -> None:
        """Stop reading, commit, and leave."""
        deadline = time.monotonic() + CLOSE_SECONDS
        for reader in self._readers.values():
            reader.stop()
        for topic, reader in self._readers.items():
            if not reader.is_closed(max(0.0, deadline - time.monotonic())):
                log.warning(
                    "Topic %s: a record is still being handled; its next member reads it again", topic
                )
        try:
            self._registration.leave()
        except StoreUnavailable:
            log.warning("ZooKeeper does not answer: others get the partitions when this session ends")
        self._http.stop()
        self._client.stop()
        self._client.close()

    def look(self) -> float:
        """Look once at what is to be read, and have it read; return the seconds until the next look."""
        try:
            is_at_rest = self._follow()
            self._error = ""
        except StoreUnavailable as error:
            # What is read goes on: only the coordinator may take it away.
            self._say_once(f"ZooKeeper does not answer, everything goes on as it is: {error}")
            is_at_rest = False
        except NameTaken as error:
            self._say_once(str(error))
            return TAKEN_SECONDS
        except Explained as error:
            self._say_once(str(error))
            return self._settings.check_seconds
        return self._settings.check_seconds if is_at_rest else POLL_SECONDS

    def _say_once(self, error: str) -> None:
        if error != self._error:
            log.warning("%s", error)
        self._error = error

    # -- following -------------------------------------------------------------------------------------------------

    def _follow(self) -> bool:
        """Look once; return whether everything is in effect, and the member is listed."""
        taken: NameTaken | None = None
        try:
            if not (self._registration.is_named or self._registration.take_name()):
                return False
        except NameTaken as error:
            taken = error  # what the other one reads, this one must not
        self._sync()
        view = self._store.read()
        self._wanted = wanted(view, self._settings.name, self._wanted, has_name=taken is None)
        self._apply()
        if taken is not None:
            self._is_current = False
            raise taken
        if not all(self._is_in_effect(topic, each) for topic, each in self._wanted.items()):
            return False
        versions = {topic: self._wanted[topic].version for topic in view.topics}
        isolation = view.isolated.get(self._settings.name)
        if isolation is not None and isolation.is_ending:
            self._registration.end_isolation(isolation, versions)
            return False
        self._is_current = True
        return self._registration.is_listed or self._registration.enlist(versions)

    def _is_in_effect(self, topic: str, each: Wanted) -> bool:
        reader = self._readers.get(topic)
        return reader is None or (
            self._consumers[topic] == each.consumer and each.is_in_effect(reader.reading())
        )

    def _sync(self) -> None:
        """At the begin of a session, have the server that answers know all that is known: what it says may be older."""
        session = self._client.client_id
        if session is None or session[0] == self._synced:
            return
        with reaching():
            self._client.sync("/")
        self._store.forget()
        self._synced = session[0]

    def _apply(self) -> None:
        for topic in [topic for topic, reader in self._readers.items() if reader.is_closed()]:
            # (It has ended by itself: an error that nobody has thought of. What it had not committed is read again.)
            log.error("the reader of Topic %s has ended; another one begins", topic)
            del self._readers[topic], self._consumers[topic]
        for topic in self._readers.keys() - self._wanted.keys():
            self._ended(topic)
        for topic, each in self._wanted.items():
            # (What has read another cluster stops first, and commits there.)
            if topic in self._readers and self._consumers[topic] != each.consumer and not self._ended(topic):
                continue
            if topic not in self._readers:
                if not each.partitions:
                    continue
                try:
                    self._readers[topic] = self._make_reader(topic, each.consumer)
                except KafkaException as error:
                    self._refused(topic, str(error))
                    continue
                self._consumers[topic] = each.consumer
                self._unusable.pop(topic, None)
            self._readers[topic].assign(each.token, each.partitions)

    def _refused(self, topic: str, reason: str) -> None:
        """Say once that a Topic cannot be read with the settings in its document; the others are."""
        if self._unusable.get(topic) != reason:
            log.error("Topic %s cannot be read with the settings in its document: %s", topic, reason)
        self._unusable[topic] = reason

    def _ended(self, topic: str) -> bool:
        """Let a reader end; whether it has. Until then it still counts as reading."""
        self._readers[topic].stop()
        if not self._readers[topic].is_closed():
            return False
        del self._readers[topic], self._consumers[topic]
        return True

    def is_well(self) -> bool:
        """Whether it has the name, and has put the assignments into effect since it began: a discovery may list it."""
        return self._is_current

    # -- what is told ----------------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """What the member says of itself."""
        topics: dict[str, Any] = {}
        for topic, each in list(self._wanted.items()):
            reader = self._readers.get(topic)
            if reader is None:
                error = self._unusable.get(topic, "")
                topics[topic] = {"token": each.token, "running": [], "error": error}
                continue
            reading = reader.reading()
            topics[topic] = {
                "token": reading.token,
                "running": sorted(reading.running),
                "positions": reading.running,
                "bytes_per_second": reading.rates,
                "lags": reading.lags,
                "error": reading.error,
            }
        return {
            "pool": self._settings.pool,
            "member": self._settings.name,
            "listed": self._registration.is_listed,
            "error": self._error,
            "topics": topics,
        }
