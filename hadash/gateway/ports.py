"""The ports of a Gateway: one to begin with, and one in place of each broker that is known."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable
from typing import Any

from hadash.bindings.model import Broker, ClusterDescription
from hadash.gateway.brokers.nodes import Node, NodeMap, NodeOutOfRange
from hadash.gateway.health import Health
from hadash.gateway.settings import GatewaySettings

log = logging.getLogger(__name__)

#: Accepts connections on a bound socket, in place of a node; ``None``: clients begin there.
#: :raises OSError: the port is taken.
Listen = Callable[[socket.socket, Node | None], None]


class Ports:
    """Listens on the Gateway's ports, and on another one whenever a broker is learned of."""

    def __init__(self, settings: GatewaySettings, nodes: NodeMap, health: Health) -> None:
        self._settings = settings
        self._nodes = nodes
        self._health = health
        self._listen: Listen = _not_open
        self._open: set[int] = set()
        #: Whether clients connect to the brokers themselves, so that nobody is listened to in their place.
        self._redirects = settings.mode == "redirect"

    def open(self, clusters: Iterable[ClusterDescription], listen: Listen) -> None:
        """Listen on every port.

        :raises OSError: a port is taken. :raises NodeOutOfRange: a broker's number has no port.
        """
        self._listen = listen
        self._listen_on(self._settings.port, None)
        for description in clusters:
            self._nodes.learn(description.name, description.brokers)
        for node in self._nodes.nodes():
            self._listen_as(node)

    def learn(self, cluster: str, brokers: tuple[Broker, ...]) -> None:
        """Learn a cluster's brokers, and listen in place of those that are new: before any client hears of them."""
        try:
            fresh = self._nodes.learn(cluster, brokers)
        except NodeOutOfRange as error:
            log.error("%s", error)
            return
        for node in fresh:
            self._listen_late(node)

    def try_again(self) -> None:
        """Listen in place of brokers whose port was not free."""
        for node in [*self._health.unheard.values()]:
            self._listen_late(node)

    def _listen_late(self, node: Node) -> None:
        """Listen in place of a broker that the Gateway has learned of while it serves, as soon as its port is free."""
        port = self._nodes.port(node)
        try:
            self._listen_as(node)
        except OSError as error:
            if port not in self._health.unheard:
                log.error("clients cannot reach %s: port %d cannot be listened on: %s", node, port, error)
            self._health.unheard[port] = node
        else:
            self._health.unheard.pop(port, None)

    def _listen_as(self, node: Node) -> None:
        if not self._redirects:
            self._listen_on(self._nodes.port(node), node)

    def _listen_on(self, port: int, node: Node | None) -> None:
        if port not in self._open:
            self._listen(self._socket(port), node)
            self._open.add(port)

    def _socket(self, port: int) -> socket.socket:
        """Return a socket that is bound, but not listening yet."""
        family = socket.AF_INET6 if ":" in self._settings.host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if self._settings.workers > 1:
                # Several processes share the ports: the kernel assigns each connection to one of them.
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            bound.bind((self._settings.host, port))
        except OSError:
            bound.close()
            raise
        return bound


def _not_open(*_: Any) -> None:
    raise RuntimeError("The Gateway does not listen yet.")
