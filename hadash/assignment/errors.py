"""What cannot be said of an assignment."""

from __future__ import annotations

from hadash.sentences import Sentence


class NotKnown(Exception):
    """What Kafka's assignor would do is not known here; ``sentence`` says why."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


class AssignorFails(NotKnown):
    """Kafka's own assignor ends with an exception for this group: its leader fails, and nobody gets anything."""


class AssignorHangs(AssignorFails):
    """Kafka's own assignor moves partitions in a circle for this group and never ends: its leader hangs."""
