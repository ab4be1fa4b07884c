"""Keeping a mirror as hadash wants it: the settings of its connector and of its standby Topics. Part of each look.

Somebody changes a connector in Connect, a Topic's limit is raised, a later hadash gives connectors another setting:
what differs is found, mended and said. A mirror that is being turned round is left alone, and so are the
Topics of one that is paused or stopped.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from hadash.kafka.errors import ConnectError
from hadash.mirroring.drift import drifted, mending
from hadash.mirroring.models import Mirror
from hadash.mirroring.services import config_of, connect_client, connector_of, is_held_back
from hadash.mirroring.standby_topics import Needs, needs, set_topics, standby_changes
from hadash.mirroring.topic_settings import TIMESTAMP_TYPE

log = logging.getLogger(__name__)

#: Connect's answer to a request that it does not know: before 3.8 it cannot change some settings and keep the others.
_NOT_ALLOWED = 405

#: Seconds after a mend in which tasks may still copy with the old settings: Connect says nothing of them when
#: it goes on to say RUNNING. It needs one or two to start a connector's tasks again; while it rebalances,
#: some more.
SETTLED_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class _Read:
    """What this process has read last of a mirror's Topics, when, and in which direction."""

    at: float
    source_id: int
    needs: Needs


#: By mirror.
_last_read: dict[int, _Read] = {}


@dataclass(frozen=True, slots=True)
class Kept:
    """What was found, in words: ``fault`` is for people, ``unfit`` says why no switch may begin now. Empty if all is
    well.
    """

    fault: str = ""
    unfit: str = ""


def keep(mirror: Mirror, mend: bool = True, thorough: bool = False) -> Kept:
    """Find what differs from what hadash wants, and mend it.

    :param mend: whether it may be changed; otherwise the connector's differences are noted, and the next look mends
        them.
    :param thorough: read the Topics' settings, however lately that was done.
    :raises KafkaError, ConnectError: a server does not answer.
    """
    if mirror.turning:
        return Kept()
    # A switch holds a mirror back from its drain until it has turned it round. Connect knows that also where
    # a PostgreSQL has forgotten it that has failed over: by then clients may write to what the row still
    # calls the standby, and what it calls the active side may be set as a standby. So its Topics are left
    # alone; its connector is not, which copies nothing.
    held_back = is_held_back(mirror)
    needed = _needs(mirror, thorough)
    topics = Kept() if held_back or needed is _known(mirror) else _topics(mirror, needed, mend)
    if not (topics.unfit or held_back):
        _last_read[mirror.pk] = needed
    connector = _connector(mirror, needed.needs, mend)
    return Kept(connector.fault or needed.needs.fault, topics.unfit or connector.unfit)


@contextmanager
def _unturned(mirror: Mirror) -> Iterator[bool]:
    """Whether the mirror still copies in the direction that was looked at; it is not turned round meanwhile."""
    with transaction.atomic():
        held = Mirror.objects.select_for_update(of=("self",)).filter(pk=mirror.pk).first()
        yield held is not None and not held.turning and held.source_id == mirror.source_id


def _known(mirror: Mirror) -> _Read | None:
    """What was read last, if it is of this mirror as it is now."""
    last = _last_read.get(mirror.pk)
    fits = last and (last.source_id, set(last.needs.active)) == (mirror.source_id, set(mirror.topics))
    return last if fits else None


def _needs(mirror: Mirror, thorough: bool) -> _Read:
    last = _known(mirror)
    if last and not thorough and time.monotonic() - last.at < settings.MIRROR_SETTINGS_SECONDS:
        return last
    return _Read(time.monotonic(), mirror.source_id, needs(mirror.source, mirror.target, mirror.topics))


def _topics(mirror: Mirror, read: _Read, mend: bool) -> Kept:
    """Remember what is meant for clients, and set the standby's Topics to what they need."""
    changes = standby_changes(mirror.target, read.needs.standby)
    with _unturned(mirror) as still:
        if not still:
            return Kept()
        if mirror.topic_settings != read.needs.active:
            mirror.topic_settings = read.needs.active
            mirror.save(update_fields=["topic_settings"])
        if changes and not mend:
            keys = ", ".join(sorted({key for changed in changes.values() for key in changed}))
            return Kept(
                unfit=f"Topics on {mirror.target.name} are not yet as a standby needs them ({keys}); the next look "
                "mends that. Ask again then."
            )
        set_topics(mirror.target, changes, "a standby")
        late = sorted(topic for topic, changed in changes.items() if TIMESTAMP_TYPE in changed)
        if late:
            log.warning(
                "Topics %s on %s did not keep the times of what mirror %s copies; from now on they do. "
                "Records that were copied before may have another time.",
                ", ".join(late),
                mirror.target.name,
                mirror.name,
            )
            compare_from_the_start(mirror)
    return Kept()


def _connector(mirror: Mirror, needed: Needs, mend: bool) -> Kept:
    """Compare the connector's settings, and mend them."""
    name = connector_of(mirror, mirror.source)
    wanted = config_of(mirror, mirror.source, needed.limits)
    held = connect_client().config(name)
    keys = drifted(wanted, held) if held else ()
    if not keys:
        if mirror.drift and not mirror.drift["mended"]:
            _note_drift(mirror, mirror.drift["keys"], mended=True)
        return Kept(unfit=_unsettled(mirror))
    texts = ", ".join(keys)
    if not mend:
        _note_drift(mirror, keys)
        return Kept(
            unfit=f"Settings of its connector differ from what hadash gives it ({texts}); the next look mends them, "
            "and it starts again. Ask again then."
        )
    with _unturned(mirror) as still:
        if not still:
            return Kept()
        try:
            connect_client().change_config(name, mending(wanted, keys))
        except ConnectError as error:
            if error.status != _NOT_ALLOWED:
                raise
            _note_drift(mirror, keys)
            return Kept(
                f"Settings of its connector differ from what hadash gives it ({texts}), and this Connect "
                "cannot change some of them alone. Set them in Connect (remove what hadash does not give it), "
                "or use Connect 3.8 or newer."
            )
        _note_drift(mirror, keys, mended=True)
        compare_from_the_start(mirror)
    log.warning("Settings of connector %s differed and are mended: %s.", name, texts)
    return Kept(unfit=_unsettled(mirror))


def _unsettled(mirror: Mirror) -> str:
    """That its tasks may not have their mended settings yet, in words; empty if they have."""
    mended = mirror.drift.get("mended")
    if not mended or timezone.now() - datetime.fromisoformat(mended) > timedelta(seconds=SETTLED_SECONDS):
        return ""
    return (
        f"Settings of its connector ({', '.join(mirror.drift['keys'])}) were mended less than {SETTLED_SECONDS:.0f} s "
        "ago, and tasks with the old ones may still copy. Ask again then."
    )


def _note_drift(mirror: Mirror, keys: tuple[str, ...] | list[str], mended: bool = False) -> None:
    """Which keys, never their values: some are passwords."""
    now = timezone.now().isoformat()
    open_one = mirror.drift and not mirror.drift["mended"] and mirror.drift["keys"] == list(keys)
    since = mirror.drift["since"] if open_one else now
    mirror.drift = {"keys": list(keys), "since": since, "mended": now if mended else None}
    mirror.save(update_fields=["drift"])


def compare_from_the_start(mirror: Mirror) -> None:
    """Whatever was copied so far is doubtful: the next comparison begins with the first record."""
    mirror.comparison = {**mirror.comparison, "walked": {}}
    mirror.compared_at = None
    mirror.save(update_fields=["comparison", "compared_at"])
