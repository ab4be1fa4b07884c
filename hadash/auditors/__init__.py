"""Auditors: processes that read both sides of every mirrored partition and prove that they hold the same records.

The comparison is :mod:`hadash.auditing`; who audits which partition says the assignment coordinator
(:mod:`hadash.coordinator`), of whose pools auditors are members. How it works: ``docs/auditors.md``.
"""
