"""What cannot be said of an assignment."""

from __future__ import annotations


class NotKnown(Exception):
    """What Kafka's assignor would do is not known here; the message says why."""


class AssignorFails(NotKnown):
    """Kafka's own assignor ends with an exception for this group: its leader fails, and nobody gets anything."""


class AssignorHangs(AssignorFails):
    """Kafka's own assignor moves partitions in a circle for this group and never ends: its leader hangs."""
