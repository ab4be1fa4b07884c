"""Faults seeded only from the sentences of the catalogue: a held-out set, on which the rules were not tuned.

Authors of this set read :mod:`hadash.governance.catalogue` and the recordings (:mod:`spark.fleet.recorded`),
and neither ``spark/rules/`` nor ``spark/fleet/seeded_faults/``.
"""
