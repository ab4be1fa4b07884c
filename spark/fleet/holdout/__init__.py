"""Faults seeded from the sentences of the catalogue alone: a held-out set, which nobody who wrote the rules
has tuned them on.

Whoever adds to it reads :mod:`hadash.governance.catalogue` and what is recorded
(:mod:`spark.fleet.recorded`), and neither ``spark/rules/`` nor ``spark/fleet/seeded_faults/``.
"""
