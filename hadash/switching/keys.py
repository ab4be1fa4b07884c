"""Names for what is carried out."""

from __future__ import annotations

import secrets


def new_key() -> str:
    """The name of a switch in ZooKeeper and in addresses. Random: a new database must not meet old journals."""
    return secrets.token_hex(5)
