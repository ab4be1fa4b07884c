"""Recorded reports of real Gateways about real clients, from which fleets are made.

It is a fixture of three files, which ``python -m hadash_sandbox record`` makes again (docs/pipeline.md):
``about.json`` says where, when and with which versions it was made, each line of ``reports.jsonl`` is a fact of
:data:`hadash.lake.access.SCHEMA`, each line of ``snapshot.jsonl`` is a row of a table of
:data:`hadash.lake.snapshots.TABLES`. Unknown values are left out.
"""

from __future__ import annotations

from pathlib import Path

#: The fixture's folder.
FOLDER = Path(__file__).resolve().parent
