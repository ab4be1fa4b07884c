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
#: Ephemeral: whoever holds it has lost too often, and the others let its change of bindings pass.
TURN = "/turn"

#: Created when the store is first opened.
ROOTS = (BINDINGS, CHANGES, GATEWAYS, SWITCHES, CLUSTERS, PAIRS)


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
    """Ephemeral: this Gateway's session is alive."""
    return f"{gateway(gateway_id)}/live"


def gateway_applied(gateway_id: str) -> str:
    """The last epoch that this Gateway has put into effect."""
    return f"{gateway(gateway_id)}/applied"


def switch(switch_id: str) -> str:
    """The journal of a running switch."""
    return f"{SWITCHES}/{_element(switch_id)}"


def placement(switch_id: str) -> str:
    """Where the switch's partitions and groups live on its target cluster."""
    return f"{switch(switch_id)}/placement"


def cluster(name: str) -> str:
    """What a Gateway must know of a cluster."""
    return f"{CLUSTERS}/{_element(name)}"


def pair(name: str) -> str:
    """The two clusters of a pair and its default."""
    return f"{PAIRS}/{_element(name)}"
