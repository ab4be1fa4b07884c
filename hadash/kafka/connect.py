"""A client of Kafka Connect's REST interface, with the calls that mirrors need."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from hadash.kafka.errors import ConnectError, ConnectUnavailable
from hadash.kafka.values import Partition
from hadash.sentences import say

#: Seconds for one request. A worker that rebalances answers 409 at once, and is asked again.
REQUEST_SECONDS = float(os.environ.get("HADASH_CONNECT_REQUEST_SECONDS", "15"))

#: Seconds for which a busy worker (409, it is rebalancing) is asked again, and seconds between two requests.
BUSY_SECONDS = float(os.environ.get("HADASH_CONNECT_BUSY_SECONDS", "30"))
POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """One task of a connector. ``worker``: Connect's id of the worker that runs it. ``trace``: the first line
    of its failure, if it has failed.
    """

    id: int
    state: str
    worker: str
    trace: str = ""


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """The status of a connector. ``state`` and the states in ``tasks`` are Connect's: RUNNING, PAUSED, STOPPED,
    FAILED, UNASSIGNED, RESTARTING.

    ``trace`` is the first line of the first failure. ``details`` are the single tasks.
    """

    state: str
    tasks: tuple[str, ...]
    trace: str = ""
    details: tuple[TaskStatus, ...] = ()

    @property
    def running(self) -> bool:
        """Whether the connector and all of its tasks run, and there is at least one task."""
        return self.state == "RUNNING" and bool(self.tasks) and set(self.tasks) == {"RUNNING"}

    @property
    def failed(self) -> bool:
        return self.state == "FAILED" or "FAILED" in self.tasks

    @property
    def stopped(self) -> bool:
        return self.state == "STOPPED" and not self.tasks


class ConnectClient:
    """A client of one Connect cluster. Methods raise :class:`ConnectError`; ``ConnectUnavailable`` when it does
    not answer.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.Client(base_url=self.url, timeout=REQUEST_SECONDS)

    def _request(
        self,
        method: str,
        path: str,
        json: Any = None,
        missing_ok: bool = False,
        seconds: float | None = None,
    ) -> Any:
        """Send a request, and return the decoded answer; ``None`` when it is empty, or missing and that is
        allowed.

        :param seconds: limits the whole call, also while the worker is busy; the default is the module's.
        """
        deadline = time.monotonic() + (BUSY_SECONDS if seconds is None else seconds)
        timeout = REQUEST_SECONDS if seconds is None else seconds
        while True:
            try:
                response = self._http.request(method, path, json=json, timeout=timeout)
            except httpx.HTTPError as error:
                raise ConnectUnavailable(
                    say(
                        "Kafka Connect at %(url)s does not answer (%(error)s).",
                        url=self.url,
                        error=error or type(error).__name__,
                    )
                ) from None
            if (
                response.status_code == 409
                and time.monotonic() < deadline
                and "rebalance" in response.text.lower()
            ):
                time.sleep(POLL_SECONDS)
                continue
            if response.status_code == 404 and missing_ok:
                return None
            if response.status_code >= 400:
                try:
                    message = response.json().get("message", response.text)
                except ValueError:
                    message = response.text
                raise ConnectError(
                    say(
                        "Kafka Connect refused %(method)s %(path)s: %(message)s",
                        method=method,
                        path=path,
                        message=message,
                    ),
                    response.status_code,
                )
            return response.json() if response.content else None

    @staticmethod
    def _path(name: str, *more: str) -> str:
        return "/".join(("/connectors", quote(name, safe=""), *more))

    def names(self) -> list[str]:
        return sorted(self._request("GET", "/connectors"))

    def create_stopped(self, name: str, config: Mapping[str, str]) -> None:
        """Create the connector without starting it (KIP-980). An existing one gets the new configuration."""
        if self.status(name) is None:
            try:
                self._request(
                    "POST", "/connectors", {"name": name, "config": dict(config), "initial_state": "STOPPED"}
                )
                return
            except ConnectError as error:
                if error.status != 409:
                    raise
        self._request("PUT", self._path(name, "config"), dict(config))

    def config(self, name: str) -> dict[str, str]:
        """Return a connector's settings, including passwords (never log them). Empty when it does not exist."""
        value: dict[str, str] = self._request("GET", self._path(name, "config"), missing_ok=True) or {}
        return value

    def change_config(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Change some settings (``None`` removes one) and keep the others (KIP-477, Connect 3.8). The state
        does not change: a stopped connector is not started, and a deleted one is not created.

        :raises ConnectError: there is no such connector, or Connect is older (status 405).
        """
        self._request("PATCH", self._path(name, "config"), dict(changes))

    def status(self, name: str) -> ConnectorStatus | None:
        """Return the status of a connector; ``None`` when it does not exist."""
        value = self._request("GET", self._path(name, "status"), missing_ok=True)
        if value is None:
            return None
        details = tuple(
            TaskStatus(
                task["id"], task["state"], task.get("worker_id", ""), _first_line(task.get("trace", ""))
            )
            for task in value["tasks"]
        )
        traces = [_first_line(value["connector"].get("trace", "")), *(task.trace for task in details)]
        trace = next((each for each in traces if each), "")
        return ConnectorStatus(
            value["connector"]["state"], tuple(task.state for task in details), trace, details
        )

    def stop(self, name: str, seconds: float | None = None) -> None:
        """Ask the connector to stop. Its tasks end a little later: see :attr:`ConnectorStatus.stopped`."""
        self._request("PUT", self._path(name, "stop"), missing_ok=True, seconds=seconds)

    def pause(self, name: str, seconds: float | None = None) -> None:
        """Ask the connector to copy nothing until it is resumed. It keeps its tasks, so no rebalance is needed.
        Connect has stored the new state when it answers.
        """
        self._request("PUT", self._path(name, "pause"), missing_ok=True, seconds=seconds)

    def resume(self, name: str) -> None:
        self._request("PUT", self._path(name, "resume"))

    def restart_failed(self, name: str) -> None:
        """Restart the connector and those of its tasks that failed."""
        self._request("POST", self._path(name, "restart?includeTasks=true&onlyFailed=true"))

    def delete(self, name: str) -> None:
        self._request("DELETE", self._path(name), missing_ok=True)

    def forget_offsets(self, name: str) -> None:
        """Delete the offsets of a *stopped* connector: a later one with the same name begins with the first
        record.
        """
        self._request("DELETE", self._path(name, "offsets"), missing_ok=True)

    def offsets(self, name: str) -> dict[Partition, int]:
        """Return the offset of the last record that a MirrorMaker 2 source copied, by partition."""
        value = self._request("GET", self._path(name, "offsets"), missing_ok=True) or {"offsets": []}
        return {
            Partition(entry["partition"]["topic"], int(entry["partition"]["partition"])): int(
                entry["offset"]["offset"]
            )
            for entry in value["offsets"]
            if entry.get("offset")
        }

    def set_offsets(self, name: str, cluster: str, last_copied: Mapping[Partition, int]) -> None:
        """Set where a *stopped* mirror continues: after the records at ``last_copied``. -1 resets the partition."""
        entries = [
            {
                "partition": {"cluster": cluster, "partition": p.partition, "topic": p.topic},
                "offset": {"offset": offset} if offset >= 0 else None,
            }
            for p, offset in sorted(last_copied.items())
        ]
        if entries:
            self._request("PATCH", self._path(name, "offsets"), {"offsets": entries})

    def close(self) -> None:
        self._http.close()


def _first_line(trace: str) -> str:
    """Return the first line of a trace. (A Java stack follows.)"""
    return trace.splitlines()[0] if trace else ""
