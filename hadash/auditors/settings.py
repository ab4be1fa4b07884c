"""The settings of an auditor, read from the environment. Those of its place in the pool are
:class:`hadash.coordinator.process_settings.MemberSettings`.
"""

from __future__ import annotations

from dataclasses import dataclass

from hadash.coordinator.process_settings import ProcessSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditorSettings(ProcessSettings):
    """The settings of an auditor."""

    PREFIX = "HADASH_AUDITOR_"

    #: The name of the pair whose mirrors are audited.
    pair: str = ""
    #: Bytes that are read each second at most, of both sides together: auditors must not be in the way of clients.
    bytes_per_second: int = 20_000_000
    #: KiB of records that are fetched ahead from each side, at most: with what is fetched for one partition
    #: (``fetch_kib``) most of an auditor's memory.
    queued_kib: int = 32_768
    fetch_kib: int = 1_024
    #: Records of a partition that are read from one side before the other side has them too, at most; and of all
    #: partitions together that are held for it: some 220 bytes each. With many partitions each has a share of these.
    ahead_records: int = 10_000
    held_records: int = 1_000_000
    #: Partitions in which both sides differ and the place is searched at which they agree again, at the same time: each
    #: may hold 50,000 records of each side, about 20 MiB. Others wait.
    searching: int = 8
    #: Seconds between two looks at mirrors and at the first and next offsets of partitions.
    look_seconds: float = 2.0
    #: Seconds for which the target's last records differ before that is told: a few later records often show better
    #: what has happened.
    settle_seconds: float = 5.0
    #: Seconds between two notes of how far partitions are. An auditor that dies compares again what it has not noted.
    note_seconds: float = 2.0
    #: Seconds that a cluster may take to answer.
    kafka_seconds: float = 10.0
