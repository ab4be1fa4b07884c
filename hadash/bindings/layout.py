"""The paths below the chroot. Every path that hadash uses in ZooKeeper stands here."""

from __future__ import annotations

from hadash.identity.names import encode

BINDINGS = "/bindings"
EPOCH = "/epoch"
CHANGES = "/changes"
CHANGE_PREFIX = f"{CHANGES}/change-"
GATEWAYS = "/gateways"
SWITCHES = "/switches"
CLUSTERS = "/clusters"
PAIRS = "/pairs"
#: Gateway processes that have gone, and whose clients may send again what was not answered: see ``returning.py``.
RETURNING = "/returning"
#: Written in order to learn what time it is by ZooKeeper's clock: hosts' clocks differ.
CLOCK = "/clock"
#: Whose this chroot is: see ``hadash/inventory/installation.py``.
INSTALLATION = "/installation"
#: Ephemeral: whoever holds it has lost too often, and the others let its change of bindings pass.
TURN = "/turn"

#: Created when the store is first opened.
ROOTS = (BINDINGS, CHANGES, GATEWAYS, SWITCHES, CLUSTERS, PAIRS, RETURNING)


def _element(name: str) -> str:
    """:raises ValueError: without a name the path would be that of all others' parent."""
    if not name:
        raise ValueError("an empty name has no place in ZooKeeper")
    return encode(name)


def binding(appid: str) -> str:
    """The document of one AppID."""
    return f"{BINDINGS}/{_element(appid)}"


def gateway(gateway_id: str) -> str:
    """Persistent membership of a Gateway."""
    return f"{GATEWAYS}/{_element(gateway_id)}"


def gateway_live(gateway_id: str) -> str:
    """Ephemeral: the session of this Gateway's process is alive. Its data is the process's incarnation."""
    return f"{gateway(gateway_id)}/live"


def gateway_applied(gateway_id: str, incarnation: str) -> str:
    """Which changes one process of this Gateway has put into effect. A Gateway of before incarnations has
    ``applied``."""
    return f"{gateway(gateway_id)}/applied" + (f"-{_element(incarnation)}" if incarnation else "")


def returning(incarnation: str) -> str:
    """Who may send again what a Gateway process that has gone had not answered."""
    return f"{RETURNING}/{_element(incarnation)}"


def switch(switch_id: str) -> str:
    """The journal of a running switch."""
    return f"{SWITCHES}/{_element(switch_id)}"


def placement(switch_id: str) -> str:
    """Where the switch's partitions and groups live on its target cluster."""
    return f"{switch(switch_id)}/placement"


def facts(switch_id: str) -> str:
    """What the stages of a switch keep for each other."""
    return f"{switch(switch_id)}/facts"


def cluster(name: str) -> str:
    """What a Gateway must know of a cluster."""
    return f"{CLUSTERS}/{_element(name)}"


def pair(name: str) -> str:
    """The two clusters of a pair and its default."""
    return f"{PAIRS}/{_element(name)}"
