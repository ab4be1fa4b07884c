"""Extends and connects kafka-python's admin client for :mod:`hadash.kafka.kafka_python_client`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from weakref import WeakSet

from kafka import errors
from kafka.admin import (
    KafkaAdminClient,
)
from kafka.net.compat import KafkaNetClient
from kafka.net.connection import KafkaConnection
from kafka.net.transport import KafkaTCPTransport

from hadash.kafka.tls import context
from hadash.kafka.values import ClusterAccess

#: Seconds for one question including its retries. A healthy cluster answers in milliseconds; during a block a
#: switch cannot wait long.
REQUEST_SECONDS = float(os.environ.get("HADASH_KAFKA_REQUEST_SECONDS", "10"))

#: The share of it in which a cluster has to be reached, so that callers still get the reason within their time.
BOOTSTRAP_SHARE = 0.9

#: Requests that run at once, at most.
PARALLEL_REQUESTS = 16

#: The longest pause before the client connects again, so that a broker that is back is found soon.
RECONNECT_MILLISECONDS = 1000


#: The errors of an account that cannot sign in.
REFUSED = (
    errors.SaslAuthenticationFailedError,
    errors.UnsupportedSaslMechanismError,
    errors.IllegalSaslStateError,
)


class Admin(KafkaAdminClient):
    """The library's admin client with methods that it lacks. (They use its internals: its version is pinned,
    and ``tests/clusters`` test each of them.)
    """

    def forget_coordinators(self) -> None:
        """Look up the coordinators of groups again: the library would keep asking a broker that no longer is one."""
        self._manager.cluster._coordinators.clear()

    def coordinator_of(self, group: str) -> int:
        """Return the broker that was last asked about ``group``; -1 when none is known."""
        found = self._manager.cluster.get_coordinator(group)
        return -1 if found is None else int(found)

    def ask(self, request: Any) -> Any:
        """Send to any broker a request for which the library has no method, and return the answer."""
        return self._manager.run(self._manager.send, request)

    def ask_broker(self, broker: int, request: Any) -> Any:
        """Send a request to this broker, and return the answer. (The library would ask any.)"""
        return self._manager.run(self._manager.send, request, broker)

    def ask_controller(self, request: Any) -> Any:
        """Send a request to the current controller, and return the answer: with ZooKeeper other brokers may lag
        behind.
        """
        self._controller_id = None  # (the library would keep asking a former controller)
        return self._manager.run(self._send_request_to_controller, request)

    def version(self) -> str:
        """Return the release of Kafka, as far as the versions of the brokers' requests show it: ``4.2``."""
        return ".".join(map(str, self._manager.broker_version_data.broker_version))

    def _describe_groups_process_response(self, response: Any) -> dict[str, Any]:
        """Return the groups undecoded: the library would turn their errors into texts, and fail on the metadata
        of members that are not consumers.
        """
        found = {}
        for group in response.groups:
            error = errors.for_code(group.error_code)
            # (Since DescribeGroups 6 a missing group is an error, but its state is still set.)
            if error not in (errors.NoError, errors.GroupIdNotFoundError):
                raise error(group.group_id)
            found[group.group_id] = group
        return found


def raise_refusal(answer: Any) -> None:
    """Raise the error of an answer, or of a part of one.

    :raises kafka.errors.KafkaError: it has one.
    """
    error = errors.for_code(answer.error_code)
    if error is not errors.NoError:
        raise error(answer.error_message or "")


def config_of(access: ClusterAccess) -> dict[str, Any]:
    """Return kafka-python's configuration for a cluster."""
    config: dict[str, Any] = {
        "bootstrap_servers": access.bootstrap_servers.split(","),
        "client_id": "hadash",
        "security_protocol": access.security_protocol,
        "reconnect_backoff_max_ms": RECONNECT_MILLISECONDS,
        # More than there ever are: the library refuses further requests instead of queueing them.
        "max_in_flight_requests_per_connection": 4 * PARALLEL_REQUESTS,
    }
    if access.security_protocol.startswith("SASL"):
        config |= {
            "sasl_mechanism": access.sasl_mechanism,
            "sasl_plain_username": access.username,
            "sasl_plain_password": access.password,
        }
    if access.security_protocol.endswith("SSL"):
        config["ssl_context"] = context(access.tls)
    return config


def connect(config: Mapping[str, Any]) -> Admin:
    """Return a client that has reached its cluster.

    :raises kafka.errors.KafkaError: it cannot be reached within :data:`REQUEST_SECONDS`, or refuses the
    account.
    """
    made: list[KafkaNetClient] = []
    refusals: list[errors.KafkaError] = []

    def keep(**configs: Any) -> KafkaNetClient:
        client = KafkaNetClient(**configs)
        made.append(client)
        _note_refusals(client, refusals)
        return client

    try:
        return Admin(
            **config,
            request_timeout_ms=int(REQUEST_SECONDS * 1000),
            bootstrap_timeout_ms=int(BOOTSTRAP_SHARE * REQUEST_SECONDS * 1000),
            kafka_client=keep,
        )
    except BaseException:
        for client in made:  # otherwise its thread would never end
            client.close()
        if refusals:
            raise refusals[0] from None  # the library's error would say that no broker answers
        raise


def _note_refusals(client: KafkaNetClient, refusals: list[errors.KafkaError]) -> None:
    """Append each refusal of the account to ``refusals``: on a timeout the library only says that no broker
    answers.
    """
    connection_to = client._manager.get_connection
    known: WeakSet[KafkaConnection] = WeakSet()

    def noted(*arguments: Any, **options: Any) -> KafkaConnection:
        connection: KafkaConnection = connection_to(*arguments, **options)
        if connection not in known:
            known.add(connection)
            connection.init_future.add_errback(
                lambda error: refusals.append(error) if isinstance(error, REFUSED) else None
            )
            hear_last_words(connection)
        return connection

    client._manager.get_connection = noted


def hear_last_words(connection: KafkaConnection) -> None:
    """Make a connection deliver the data that a broker sent before it closed it, and only then the end. The
    library drops data that arrives together with the end of a connection, and a broker that refuses an account
    answers and closes at once.
    """
    made = connection.connection_made

    def connection_made(transport: KafkaTCPTransport) -> None:
        receive = transport._sock_recv
        ended: list[errors.KafkaError] = []

        def heard() -> tuple[bytes, errors.KafkaError | None]:
            if ended:
                return b"", ended[0]
            data, error = receive()
            if data and error is not None:
                ended.append(error)  # the socket stays readable, so the loop calls again at once
                return data, None
            return data, error

        transport._sock_recv = heard
        made(transport)

    connection.connection_made = connection_made
