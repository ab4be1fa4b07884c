"""Names of switches and changes in ZooKeeper and in addresses."""

from __future__ import annotations

import secrets


def new_key() -> str:
    """A new name for a switch or change, in ZooKeeper and in addresses. It is random, so that a new database does
    not meet old journals.
    """
    return secrets.token_hex(5)
