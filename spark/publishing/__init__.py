"""Publishes runs with their rows to PostgreSQL, without Django, into the tables of
:mod:`hadash.governance.models.published`.
"""
