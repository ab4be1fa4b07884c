"""Runs, and their rows in PostgreSQL. No Django: the tables are those of :mod:`hadash.governance.models`."""
