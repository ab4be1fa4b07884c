"""The rules of governance: each one's name, severity, sentences, remedy and source. Pure.

The checks themselves are elsewhere: over a whole fleet in the module of the same name in ``spark/rules/``, over
the clients of one switch in :mod:`hadash.governance.findings`. The page of all rules is built from this
package.
"""

from __future__ import annotations

from hadash.governance.catalogue import clients, clusters, identity, known, rights
from hadash.governance.catalogue.entry import WEIGHTS, About, Code, Entry, Severity

__all__ = ["CATALOGUE", "WEIGHTS", "About", "Code", "Entry", "Severity"]

CATALOGUE: dict[Code, Entry] = {
    entry.code: entry for module in (identity, rights, clients, known, clusters) for entry in module.ENTRIES
}
