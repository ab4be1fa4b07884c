"""The rules of governance: what each is called, how bad what it finds is, how that is said, what to do, and
where it comes from. Pure.

What a rule looks at stands elsewhere: over a whole fleet in the module of the same name in ``spark/rules/``, over the
clients of one switch in :mod:`hadash.governance.findings`. The page of all rules is made of this.
"""

from __future__ import annotations

from hadash.governance.catalogue import clients, clusters, identity, known, rights
from hadash.governance.catalogue.entry import WEIGHTS, About, Code, Entry, Severity

__all__ = ["CATALOGUE", "WEIGHTS", "About", "Code", "Entry", "Severity"]

CATALOGUE: dict[Code, Entry] = {
    entry.code: entry for module in (identity, rights, clients, known, clusters) for entry in module.ENTRIES
}
