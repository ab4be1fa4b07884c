"""Both versions of a record that differs, as a person sees them: side by side, values only for who may see them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from django.conf import settings
from django.utils.crypto import salted_hmac

from hadash.auditing.findings import Kind
from hadash.auditors.models import AuditDifference
from hadash.inventory.models import Cluster
from hadash.kafka.errors import KafkaError
from hadash.kafka.one_record import Content, read_one
from hadash.kafka.values import Partition
from hadash.sentences import NOTHING, Sentence

#: Bytes of a part that are shown.
SHOWN_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class Part:
    """A key, value or header. ``text``: ``None`` if the reader may not see it. ``is_cut``: more bytes follow."""

    size: int | None
    checksum: str
    text: str | None
    is_cut: bool = False

    @property
    def is_missing(self) -> bool:
        """Whether the record has none (which is not the same as an empty one)."""
        return self.size is None


@dataclass(frozen=True, slots=True)
class Version:
    """One side of a difference.

    :param content: ``None`` if this side holds no such record, or it is gone; ``fault`` if it could not be read.
    :param is_expected: whether this side held the record when the difference was found.
    """

    cluster: str
    offset: int
    is_expected: bool
    key: Part | None = None
    value: Part | None = None
    headers: Sequence[tuple[str, Part]] = ()
    time: float | None = None
    fault: Sentence = NOTHING

    @property
    def is_there(self) -> bool:
        return self.key is not None


def part_of(content: bytes | None, *, may_see: bool, difference: int = 0) -> Part:
    """Return a part as it is shown: as text, or what is no text in hexadecimal.

    :param difference: its key: its mark is the same for the same content, here and nowhere else, so that nobody finds
        out a short content by trying.

    >>> part_of("购物".encode(), may_see=True).text, part_of(b"\\xff\\x00", may_see=True).text
    ('购物', 'ff 00')
    >>> part_of(b"secret", may_see=False).text is None
    True
    """
    if content is None:
        return Part(None, "", "" if may_see else None)
    checksum = salted_hmac(f"hadash.auditors.versions {difference}", content, algorithm="sha256").hexdigest()[
        :8
    ]
    if not may_see:
        return Part(len(content), checksum, None)
    shown = content[:SHOWN_BYTES]
    try:
        text = shown.decode()
    except UnicodeDecodeError:
        text = shown.hex(" ")
    return Part(len(content), checksum, text, len(content) > SHOWN_BYTES)


def versions_of(difference: AuditDifference, *, may_see: bool) -> list[Version]:
    """Read both versions of a difference: that of the source first.

    :param difference: with its partition and pair. :param may_see: whether the reader may see keys, values and headers.
    """
    pair = difference.audited.pair
    source = difference.source
    sides = (
        (source, difference.source_offset, difference.kind != Kind.EXTRA),
        (pair.other(source), difference.target_offset, difference.kind != Kind.MISSING),
    )
    partition = Partition(difference.audited.topic, difference.audited.partition)
    with ThreadPoolExecutor(max_workers=2) as both:
        reading = [both.submit(_version, *side, partition, may_see, difference.pk) for side in sides]
        return [each.result() for each in reading]


def _version(
    cluster: Cluster, offset: int, is_expected: bool, partition: Partition, may_see: bool, difference: int
) -> Version:
    if not is_expected:
        return Version(cluster.name, offset, is_expected)
    try:
        found = read_one(cluster.access, partition, offset, settings.AUDIT_READ_SECONDS)
    except KafkaError as error:
        return Version(cluster.name, offset, is_expected, fault=error.sentence)
    if found is None:
        return Version(cluster.name, offset, is_expected)
    return _shown(cluster.name, found, may_see, difference)


def _shown(cluster: str, found: Content, may_see: bool, difference: int) -> Version:
    return Version(
        cluster,
        found.offset,
        True,
        part_of(found.key, may_see=may_see, difference=difference),
        part_of(found.value, may_see=may_see, difference=difference),
        [(name, part_of(value, may_see=may_see, difference=difference)) for name, value in found.headers],
        found.time / 1000 if found.time >= 0 else None,
    )
