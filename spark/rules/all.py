"""All rules: importing this module registers them."""

from __future__ import annotations

from spark.rules import clients, clusters, identity, known, rights
from spark.rules.base import RULES

__all__ = ["RULES", "clients", "clusters", "identity", "known", "rights"]
