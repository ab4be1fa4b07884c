"""What real Gateways have reported of real clients: fleets are made from it.

A fixture of three files, which ``python -m hadash_sandbox record`` makes again (docs/pipeline.md):
``about.json`` says where, when and with which versions, ``reports.jsonl`` has a fact of
:data:`hadash.lake.access.SCHEMA` a line, ``snapshot.jsonl`` a row of a table of
:data:`hadash.lake.snapshots.TABLES` a line. What is not known is left out.
"""

from __future__ import annotations

from pathlib import Path

#: Where it lies.
FOLDER = Path(__file__).resolve().parent
