"""A ZooKeeper client with hadash's settings."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import (
    BadVersionError,
    ConnectionLoss,
    KazooException,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    OperationTimeoutError,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
)
from kazoo.handlers.threading import AsyncResult, KazooTimeoutError, SequentialThreadingHandler
from kazoo.retry import KazooRetry

from hadash.bindings import layout
from hadash.bindings.access import Access
from hadash.bindings.errors import NotAllowed, StoreUnavailable
from hadash.sentences import say

#: hadash's path in the ensemble.
CHROOT = os.environ.get("HADASH_ZOOKEEPER_CHROOT", "/hadash")

#: Seconds that ZooKeeper keeps a session (and a Gateway's ``live`` node) without a heartbeat. Short enough for a dead
#: Gateway to be noticed within one stage, long enough for a garbage collection of the ensemble.
SESSION_TIMEOUT_SECONDS = float(os.environ.get("HADASH_ZOOKEEPER_SESSION_TIMEOUT", "6"))

#: Seconds to wait for the first connection, and to retry one command over connection losses.
CONNECT_TIMEOUT_SECONDS = float(os.environ.get("HADASH_ZOOKEEPER_CONNECT_TIMEOUT", "10"))

#: Seconds to wait for the answer to one command, longer than the election of a leader takes. kazoo queues commands
#: while it reconnects, however long that takes; a waiting person, or a switch whose clients wait, must be told of it.
ANSWER_SECONDS = float(os.environ.get("HADASH_ZOOKEEPER_ANSWER_TIMEOUT", "5"))

#: kazoo's errors for a command that was not answered: it may have been carried out, or may still be.
LOST_REPLY = (ConnectionLoss, OperationTimeoutError, SessionExpiredError, KazooTimeoutError)


_NOT_ALLOWED = say(
    "ZooKeeper keeps hadash's nodes from this process: they are another user's. Give every process of hadash the same "
    "HADASH_ZOOKEEPER_USER and password."
)
_TLS_TOO = say(
    ", and that HADASH_ZOOKEEPER_TLS_CA has issued the certificates of its servers, for the names in that setting"
)


@contextmanager
def reaching() -> Iterator[None]:
    """Translate kazoo's errors, for reads and for writes that may be repeated.

    :raises StoreUnavailable: ZooKeeper cannot be reached.
    :raises NotAllowed: ZooKeeper denies access.
    """
    try:
        yield
    except LOST_REPLY as error:
        raise StoreUnavailable(
            say("ZooKeeper cannot be reached (%(reason)s).", reason=type(error).__name__)
        ) from error
    except NoAuthError:
        raise NotAllowed(_NOT_ALLOWED) from None


def committed(transaction: TransactionRequest) -> bool:
    """Commit; false when another writer was faster, and nothing was done.

    :raises KazooException: the commit failed for another reason, such as :data:`LOST_REPLY`.
    """
    faults = [result for result in transaction.commit() if isinstance(result, Exception)]
    # Next to the operation that failed there are those that were rolled back, or not tried, because of it.
    own = [fault for fault in faults if not isinstance(fault, RolledBackError | RuntimeInconsistency)]
    for fault in own:
        if not isinstance(fault, BadVersionError | NoNodeError | NodeExistsError | NotEmptyError):
            raise fault
    return not faults


class _BoundedResult(AsyncResult):
    """A result whose ``get`` waits at most :data:`ANSWER_SECONDS` by default."""

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Return the result.

        :raises OperationTimeoutError: no answer in time; the command stays in kazoo's queue.
        """
        if timeout is not None:
            return super().get(block, timeout)
        try:
            return super().get(block, ANSWER_SECONDS)
        except KazooTimeoutError:
            raise OperationTimeoutError(f"no answer within {ANSWER_SECONDS:g} s") from None


class _BoundedHandler(SequentialThreadingHandler):
    def async_result(self) -> AsyncResult:
        return _BoundedResult(self)


def connect(
    hosts: str | None = None,
    chroot: str = CHROOT,
    *,
    bounded: bool = False,
    access: Access | None = None,
) -> KazooClient:
    """Return a started client below ``chroot``, which is created with hadash's folders when they are missing.

    :param hosts: ``host:port,host:port``; the default is ``ZOOKEEPER_HOSTS``.
    :param bounded: whether commands time out after :data:`ANSWER_SECONDS`; meant for the control plane. A Gateway waits
        as long as necessary, because kazoo's watches do not survive a command that times out.
    :param access: how to sign in; the default is what the environment says.
    :raises StoreUnavailable: when no server answers within :data:`CONNECT_TIMEOUT_SECONDS`.
    :raises NotAllowed: the nodes belong to another user.
    :raises ValueError: the environment names credentials that cannot be used.
    """
    access = Access.from_environment() if access is None else access
    hosts = hosts or os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")
    client = started(hosts, bounded=bounded, setting="ZOOKEEPER_HOSTS", access=access)
    try:
        client.ensure_path(chroot)
        client.chroot = chroot
        for path in (*layout.ROOTS, layout.EPOCH, layout.CLOCK):
            client.ensure_path(path)
        client.get(layout.EPOCH)  # without permission a client may still check whether a node exists
    except NoAuthError:
        client.stop()
        client.close()
        raise NotAllowed(
            say(
                "%(not_allowed)s It is at %(hosts)s%(chroot)s.",
                not_allowed=_NOT_ALLOWED,
                hosts=hosts,
                chroot=chroot,
            )
        ) from None
    except KazooException as error:
        client.stop()
        client.close()
        raise StoreUnavailable(
            say(
                "ZooKeeper at %(hosts)s was lost while hadash connected (%(error)s).",
                hosts=hosts,
                error=repr(error),
            )
        ) from None
    return client


def started(
    hosts: str,
    *,
    bounded: bool,
    setting: str,
    logger: logging.Logger | None = None,
    access: Access | None = None,
) -> KazooClient:
    """Return a connected client; it has created no nodes yet.

    :param hosts: with the chroot, if there is one.
    :param setting: the setting in which an operator would correct ``hosts``, for the error message.
    :param access: how to sign in, if at all.
    :param logger: the logger that kazoo uses; at level DEBUG kazoo writes the content of nodes to it.
    :raises StoreUnavailable: no server answers within :data:`CONNECT_TIMEOUT_SECONDS`.
    """
    client = KazooClient(
        hosts=hosts,
        logger=logger,
        handler=_BoundedHandler() if bounded else None,
        timeout=SESSION_TIMEOUT_SECONDS,
        connection_retry=KazooRetry(max_tries=-1, delay=0.05, backoff=2, max_delay=2),
        command_retry=KazooRetry(
            max_tries=-1, delay=0.05, backoff=2, max_delay=1, deadline=CONNECT_TIMEOUT_SECONDS
        ),
        **(access.options() if access is not None else {}),
    )
    try:
        client.start(timeout=CONNECT_TIMEOUT_SECONDS)
    except KazooTimeoutError:
        client.stop()
        client.close()
        raise StoreUnavailable(
            say(
                "ZooKeeper at %(hosts)s does not answer within %(seconds)s s. Check %(setting)s and that the ensemble "
                "has a leader%(tls)s.",
                hosts=hosts,
                seconds=f"{CONNECT_TIMEOUT_SECONDS:.0f}",
                setting=setting,
                tls=_TLS_TOO if access is not None and access.ca else "",
            )
        ) from None
    return client
