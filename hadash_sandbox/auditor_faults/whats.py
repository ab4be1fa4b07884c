"""What can die beside auditors."""

from __future__ import annotations

AUDITOR, COORDINATOR, ZOOKEEPER = "auditor", "coordinator", "ZooKeeper"
POSTGRESQL, SOURCE, TARGET = "PostgreSQL", "source", "target"
WHATS = (AUDITOR, COORDINATOR, ZOOKEEPER, POSTGRESQL, SOURCE, TARGET)
