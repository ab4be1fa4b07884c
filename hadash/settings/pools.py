"""Pools of consumers, and the coordinators that assign their partitions."""

from __future__ import annotations

from hadash.settings.environment import number, secret

#: The pools' token, with which pages ask the coordinator that decides: the same as in a coordinator's
#: HADASH_COORDINATOR_TOKEN_FILE. Without it, pages show what ZooKeeper holds, and not what members say.
COORDINATOR_TOKEN = secret("HADASH_COORDINATOR_TOKEN")
#: How many people besides the requester have to approve a change of a pool, unless the rules of its pair say
#: otherwise. 0: it is made at once, because members that hang are isolated at night, too.
POOL_APPROVALS = int(number("HADASH_POOL_APPROVALS", 0))
#: Seconds between two looks of workers at what the coordinator has done, and at approved changes that were not written:
#: a coordinator remembers 500 steps of each pool.
POOL_LOOK_SECONDS = number("HADASH_POOL_LOOK_SECONDS", 10)
#: Days for which the steps of assignments are kept: as long as an incident is talked about.
POOL_STEPS_KEPT_DAYS = number("HADASH_POOL_STEPS_KEPT_DAYS", 35)
