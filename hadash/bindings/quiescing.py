"""How far a member of a group has quiesced, as a Gateway says it of each of its clients. Pure."""

from __future__ import annotations

#: The states, the furthest first. ``parked``: its JOIN_GROUP or SYNC_GROUP waits in a Gateway. ``joining``: the
#: coordinator has its JOIN_GROUP. ``held``: the answer to its heartbeat is withheld.
STATES = ("parked", "joining", "held", "active")

#: It has committed and waits to rejoin.
QUIESCED = frozenset({"parked", "joining"})

#: It is waited for no longer while heartbeats are held: it has quiesced, or learns of the rebalance with the others.
HELD = QUIESCED | {"held"}
