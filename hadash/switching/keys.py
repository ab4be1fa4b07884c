"""Names of what is journalled in ZooKeeper."""

from __future__ import annotations

import secrets


def new_key() -> str:
    """The name of a switch or change in ZooKeeper and in addresses. Random: a new database must not meet old
    journals.
    """
    """The name of a switch in ZooKeeper and in addresses. Random: a new database must not meet old journals."""
    return secrets.token_hex(5)
