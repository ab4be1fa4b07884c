"""The errors of this package: assignments that cannot be computed."""

from __future__ import annotations

from hadash.sentences import Sentence


class NotKnown(Exception):
    """The result of Kafka's assignor is not known; ``sentence`` says why."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


class AssignorFails(NotKnown):
    """Kafka's own assignor ends with an exception for this group: its leader fails, and no member gets anything."""


class AssignorHangs(AssignorFails):
    """Kafka's own assignor moves partitions in a circle for this group and never ends: its leader hangs."""
