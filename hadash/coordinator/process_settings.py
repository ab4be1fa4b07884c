"""The settings of a coordinator's process and of a member's, read from the environment."""

from __future__ import annotations

import json
import math
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

#: The numbers that may be 0.
_MAY_BE_ZERO = {"http_port"}

_KINDS = {int: "a whole number", float: "a number", str: "a text"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """Settings whose fields are variables: field ``check_seconds`` from ``<prefix>CHECK_SECONDS``."""

    #: What the names of the variables begin with.
    PREFIX = ""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Read the settings. An empty variable counts as not set.

        :raises ValueError: a variable cannot be used. The message names it and says what can.
        """
        values: dict[str, Any] = {}
        defaults = cls()
        for each in fields(cls):
            variable, default = f"{cls.PREFIX}{each.name.upper()}", getattr(defaults, each.name)
            if text := environment.get(variable, "").strip():
                values[each.name] = _read(
                    variable, text, type(default), may_be_zero=each.name in _MAY_BE_ZERO
                )
        return cls(**values)


def _read(variable: str, text: str, kind: type, *, may_be_zero: bool) -> Any:
    try:
        value = kind(text)
    except ValueError:
        raise ValueError(f"{variable}={text!r} is not {_KINDS[kind]}.") from None
    if isinstance(value, int | float) and not (
        math.isfinite(value) and (value > 0 or (may_be_zero and value == 0))
    ):
        raise ValueError(f"{variable}={text!r} must be {'0 or more' if may_be_zero else 'more than 0'}.")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorSettings(ProcessSettings):
    """The settings of a coordinator."""

    PREFIX = "HADASH_COORDINATOR_"

    #: What people know this process by.
    name: str = field(default_factory=socket.gethostname)
    #: Status and metrics over HTTP. Loopback by default; status wants the pools' token.
    http_host: str = "127.0.0.1"
    http_port: int = 8790
    #: Where hadash reaches it, if it is not ``http_host``.
    http_advertised_host: str = ""
    #: A file with the pools' token, which members want to see: at least 16 characters.
    token_file: str = ""
    #: ``zookeeper``, ``static`` (``discovery_file`` is a JSON object of pools, each with an object of member → URL),
    #: ``consul`` or ``nacos`` (``discovery_url`` has ``{pool}`` in it).
    discovery: str = "zookeeper"
    discovery_file: str = ""
    discovery_url: str = ""
    #: A file with a JSON object of headers for the discovery, such as Consul's token.
    discovery_headers_file: str = ""
    #: A file with settings of Kafka consumers that ZooKeeper must not hold, such as passwords: a JSON object. With them
    #: the partitions of Topics are counted.
    consumer_file: str = ""
    #: Seconds for a cluster to say how many partitions a Topic has.
    kafka_seconds: float = 10.0
    #: Seconds between two looks at a pool where all is Stable and nothing has changed: what ZooKeeper does not tell by
    #: itself, such as the members of another discovery.
    check_seconds: float = 5.0
    #: Seconds between two looks while something is waited for.
    poll_seconds: float = 0.1
    #: Seconds that members may take to answer before a look goes on without them.
    ask_seconds: float = 0.5
    #: Seconds without another change of the members before partitions move: members come and go in groups.
    settle_seconds: float = 0.5
    #: Seconds after ZooKeeper was away, or after this coordinator has taken over, for which members count as there that
    #: have partitions and are not listed: when all sessions end at once, some members are back before the others, and
    #: would get what those still read. Longer than a member takes to connect again.
    return_seconds: float = 10.0
    #: Seconds after which a strategy that balances bytes sees new averages: to move partitions costs more than to be a
    #: little uneven.
    weights_seconds: float = 300.0
    #: Seconds between two looks at how many partitions a Topic has.
    partitions_seconds: float = 30.0
    #: Seconds after which an assignment that is not Stable is told in the log: somebody has to look at it.
    unstable_seconds: float = 60.0

    @property
    def url(self) -> str:
        """Where hadash reaches this process."""
        host = self.http_advertised_host or self.http_host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.http_port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSettings(ProcessSettings):
    """The settings of a member of a pool."""

    PREFIX = "HADASH_MEMBER_"

    #: The pool, and the member's name in it: stable over restarts, unique in the pool.
    pool: str = ""
    name: str = field(default_factory=socket.gethostname)
    #: Where its status is asked. A port of 0 is any free one.
    http_host: str = "127.0.0.1"
    http_port: int = 8700
    http_advertised_host: str = ""
    #: A file with the pools' token: at least 16 characters.
    token_file: str = ""
    #: A file with settings of Kafka consumers that ZooKeeper must not hold, such as passwords: a JSON object.
    consumer_file: str = ""
    #: Seconds between two looks at the assignments, besides those that ZooKeeper tells of.
    check_seconds: float = 5.0
    #: Seconds between two commits of what has been read. A member that dies reads again what it has not committed.
    commit_seconds: float = 5.0
    #: Seconds before a record whose handling failed is handled again.
    retry_seconds: float = 5.0
    #: Seconds that an offset, a position or the end of a partition may take to be answered.
    kafka_seconds: float = 10.0


def read_token(path: str, variable: str) -> str:
    """Read a pool's token.

    :raises ValueError: there is none, or it is too short to be a secret.
    """
    if not path:
        raise ValueError(f"{variable} is not set: members and coordinators know each other by a token.")
    try:
        token = Path(path).read_text().strip()
    except OSError as error:
        raise ValueError(f"{variable}={path!r} cannot be read: {error.strerror}.") from None
    if len(token) < SHORTEST_TOKEN:
        raise ValueError(f"{variable}={path!r} holds fewer than {SHORTEST_TOKEN} characters.")
    return token


#: Characters of a token, at least.
SHORTEST_TOKEN = 16


def read_object(path: str, variable: str) -> dict[str, Any]:
    """Read a JSON object; none at an empty path is an empty one. :raises ValueError: it cannot be read."""
    if not path:
        return {}
    try:
        found = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise ValueError(f"{variable}={path!r} cannot be read: {error.strerror}.") from None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"{variable}={path!r} holds no JSON object.")
    return found
