"""kafka-python's admin client as :mod:`hadash.kafka.groups` needs it, and connecting it."""

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

#: Seconds for one question, with all that is asked again meanwhile. A healthy cluster answers in
#: milliseconds; during a block nobody can wait long.
REQUEST_SECONDS = float(os.environ.get("HADASH_KAFKA_REQUEST_SECONDS", "10"))

#: The part of it in which a cluster has to be reached: whoever waits for the rest of the time hears why it is not.
BOOTSTRAP_SHARE = 0.9

#: Requests at once.
PARALLEL_REQUESTS = 16

#: The longest pause of the client before it connects again: a broker that is back is wanted at once.
RECONNECT_MILLISECONDS = 1000


#: The account cannot sign in.
REFUSED = (
    errors.SaslAuthenticationFailedError,
    errors.UnsupportedSaslMechanismError,
    errors.IllegalSaslStateError,
)


class Admin(KafkaAdminClient):
    """With what the library's public methods lack. (Its version is pinned, and ``tests/clusters`` try each of
    these.)
    """

    def forget_coordinators(self) -> None:
        """Ask again who coordinates which group: it would go on asking a broker that says that it does not."""
        self._manager.cluster._coordinators.clear()

    def coordinator_of(self, group: str) -> int:
        """The broker that was asked about ``group`` last; -1 when none is known."""
        found = self._manager.cluster.get_coordinator(group)
        return -1 if found is None else int(found)

    def ask(self, request: Any) -> Any:
        """The answer of any broker to a request that the library knows and has no method for."""
        return self._manager.run(self._manager.send, request)

    def ask_broker(self, broker: int, request: Any) -> Any:
        """The answer of this broker. (The library asks any.)"""
        return self._manager.run(self._manager.send, request, broker)

    def ask_controller(self, request: Any) -> Any:
        """The answer of the controller as it is now: with ZooKeeper every other broker may have heard of less."""
        self._controller_id = None  # (the library would go on with one that is none any more)
        return self._manager.run(self._send_request_to_controller, request)

    def version(self) -> str:
        """The release of Kafka, as far as it shows in the requests that the brokers know: ``4.2``."""
        return ".".join(map(str, self._manager.broker_version_data.broker_version))

    def _describe_groups_process_response(self, response: Any) -> dict[str, Any]:
        """Groups as they are: the library makes texts of their errors, and fails at what members of other
        kinds than consumers say of themselves.
        """
        found = {}
        for group in response.groups:
            error = errors.for_code(group.error_code)
            # (Since DescribeGroups 6 one that does not exist is an error; it has its state all the same.)
            if error not in (errors.NoError, errors.GroupIdNotFoundError):
                raise error(group.group_id)
            found[group.group_id] = group
        return found


def raise_refusal(answer: Any) -> None:
    """:raises kafka.errors.KafkaError: what the broker says in ``answer``, or in a part of one."""
    error = errors.for_code(answer.error_code)
    if error is not errors.NoError:
        raise error(answer.error_message or "")


def config_of(access: ClusterAccess) -> dict[str, Any]:
    config: dict[str, Any] = {
        "bootstrap_servers": access.bootstrap_servers.split(","),
        "client_id": "hadash",
        "security_protocol": access.security_protocol,
        "reconnect_backoff_max_ms": RECONNECT_MILLISECONDS,
        # More than ever are: who finds a connection full is refused, not kept waiting.
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
    """A client that has reached its cluster.

    :raises kafka.errors.KafkaError: it has not, within :data:`REQUEST_SECONDS`, or its account was refused.
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
        for client in made:  # its thread would go on for ever
            client.close()
        if refusals:
            raise refusals[0] from None  # the library would say that nobody answers
        raise


def _note_refusals(client: KafkaNetClient, refusals: list[errors.KafkaError]) -> None:
    """Have each refusal of the account put into ``refusals``: where the time is over first, the library says
    that nobody answers.
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
    """Have what a broker said before it hung up delivered, then that it has: the library drops what it reads
    together with the end of a connection, and a broker that refuses an account says so and hangs up.
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
                ended.append(error)  # the socket stays readable: who waits for it comes back at once
                return data, None
            return data, error

        transport._sock_recv = heard
        made(transport)

    connection.connection_made = connection_made
