"""The paths below the chroot. Every path that hadash uses in ZooKeeper is defined here."""

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
#: Gateway processes that are gone and whose clients may send again what was not answered: see ``returning.py``.
RETURNING = "/returning"
#: Written in order to read the time of ZooKeeper's clock: hosts' clocks differ.
CLOCK = "/clock"
#: The installation that this chroot belongs to: see ``hadash/inventory/installation.py``.
INSTALLATION = "/installation"
#: Ephemeral: the change that created it has lost too often, and the other changes of bindings wait for it.
TURN = "/turn"

#: The trees of the assignment coordinator: see ``hadash/coordinator``.
CONSUMERS = "/consumers"
#: Ephemeral: the coordinator that decides; and how often that was settled. Its version is the fencing token.
COORDINATOR_LEADER = f"{CONSUMERS}/.leader"
COORDINATOR_EPOCH = f"{CONSUMERS}/.epoch"

#: Created when the store is first opened.
ROOTS = (BINDINGS, CHANGES, GATEWAYS, SWITCHES, CLUSTERS, PAIRS, RETURNING)


def _element(name: str) -> str:
    """Encode a name as one path element.

    :raises ValueError: the name is empty; the path would be that of the parent folder.
    """
    if not name:
        raise ValueError("an empty name has no place in ZooKeeper")
    return encode(name)


def binding(appid: str) -> str:
    """The binding document of one AppID."""
    return f"{BINDINGS}/{_element(appid)}"


def gateway(gateway_id: str) -> str:
    """The persistent membership record of a Gateway."""
    return f"{GATEWAYS}/{_element(gateway_id)}"


def gateway_live(gateway_id: str) -> str:
    """The ephemeral node that says that the session of this Gateway's process is alive. It holds the incarnation."""
    return f"{gateway(gateway_id)}/live"


def gateway_applied(gateway_id: str, incarnation: str) -> str:
    """The changes that one process of this Gateway has put into effect. A Gateway from before incarnations has
    ``applied``."""
    return f"{gateway(gateway_id)}/applied" + (f"-{_element(incarnation)}" if incarnation else "")


def returning(incarnation: str) -> str:
    """The clients that may send again what a Gateway process that is gone had not answered."""
    return f"{RETURNING}/{_element(incarnation)}"


def switch(switch_id: str) -> str:
    """The journal of a running switch."""
    return f"{SWITCHES}/{_element(switch_id)}"


def placement(switch_id: str) -> str:
    """The broker ids of the switch's partitions and groups on its target cluster."""
    return f"{switch(switch_id)}/placement"


def facts(switch_id: str) -> str:
    """The facts that the stages of a switch keep for each other."""
    return f"{switch(switch_id)}/facts"


def cluster(name: str) -> str:
    """The description of a cluster for the Gateways."""
    return f"{CLUSTERS}/{_element(name)}"


def pair(name: str) -> str:
    """The two clusters of a pair and its default."""
    return f"{PAIRS}/{_element(name)}"


def pool(name: str) -> str:
    """A pool of consumers. (Names of pools do not begin with a dot: the coordinator's own nodes do.)"""
    if name.startswith("."):
        raise ValueError(f"the name of a pool may not begin with a dot: {name!r}")
    return f"{CONSUMERS}/{_element(name)}"


def is_coordinators(path: str) -> bool:
    """Whether a node beside the pools is one of the coordinators' own."""
    return path.startswith(f"{CONSUMERS}/.")


def pool_settings(name: str) -> str:
    """The strategy of a pool, and whether it is stopped."""
    return f"{pool(name)}/settings"


def assignments(pool_name: str) -> str:
    return f"{pool(pool_name)}/assignments"


def assignment(pool_name: str, topic: str) -> str:
    """Which member reads which partition of a Topic."""
    return f"{assignments(pool_name)}/{_element(topic)}"


def assignment_states(pool_name: str) -> str:
    return f"{pool(pool_name)}/state"


def assignment_state(pool_name: str, topic: str) -> str:
    """How far a change of a Topic's assignment has come."""
    return f"{assignment_states(pool_name)}/{_element(topic)}"


def membership(pool_name: str) -> str:
    """Its version counts how often a member came, or came back."""
    return f"{pool(pool_name)}/membership"


def pool_members(pool_name: str) -> str:
    return f"{pool(pool_name)}/members"


def pool_member(pool_name: str, member: str) -> str:
    """Ephemeral: a member that the discovery over ZooKeeper lists."""
    return f"{pool_members(pool_name)}/{_element(member)}"


def member_name(pool_name: str, member: str) -> str:
    """Ephemeral: the process that has a member's name, whether or not it is listed."""
    return f"{member_names(pool_name)}/{_element(member)}"


def member_names(pool_name: str) -> str:
    return f"{pool(pool_name)}/names"


def holds(pool_name: str) -> str:
    return f"{pool(pool_name)}/holds"


def hold(pool_name: str, topic: str) -> str:
    """A switch has the members of a pool stop reading a Topic, or go on with it elsewhere."""
    return f"{holds(pool_name)}/{_element(topic)}"


def isolations(pool_name: str) -> str:
    return f"{pool(pool_name)}/isolated"


def isolation(pool_name: str, member: str) -> str:
    """A member that a person has isolated."""
    return f"{isolations(pool_name)}/{_element(member)}"
