"""Checks and mends the settings of a mirror's connector and of its standby Topics. Part of each look.

Settings can differ because an operator changed the connector, a Topic's limit was raised, or a newer hadash
uses other settings. Differences are mended and reported. A mirror that is being turned round is not touched,
nor are the Topics of a mirror that is paused or stopped.
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
from hadash.sentences import NOTHING, Sentence, say

log = logging.getLogger(__name__)

#: Connect's status for an unknown request: before 3.8 it cannot change some settings and keep the others.
_NOT_ALLOWED = 405

#: Seconds after a mend in which tasks may still copy with the old settings: meanwhile Connect keeps reporting
#: RUNNING. It needs one or two seconds to restart a connector's tasks, and more while it rebalances.
SETTLED_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class _Read:
    """The settings of a mirror's Topics as this process last read them, with the time and the direction."""

    at: float
    source_id: int
    needs: Needs


#: The last read settings, by mirror.
_last_read: dict[int, _Read] = {}


@dataclass(frozen=True, slots=True)
class Kept:
    """The result of a check: ``fault`` is shown to users, ``unfit`` says why no switch may begin now."""

    fault: Sentence = NOTHING
    unfit: Sentence = NOTHING


def keep(mirror: Mirror, mend: bool = True, thorough: bool = False) -> Kept:
    """Find settings that differ from hadash's, and mend them.

    :param mend: whether settings may be changed; otherwise the connector's differences are recorded, and the
        next look mends them.
    :param thorough: read the Topics' settings even if that was done recently.
    :raises KafkaError, ConnectError: a server does not answer.
    """
    if mirror.turning:
        return Kept()
    # A switch pauses a mirror from its drain until it is turned round. Connect knows that even if PostgreSQL
    # has lost it in a failover. Then clients may already write to the side that the row calls the standby, and
    # the other side may have the settings of a standby. So the Topics are not touched; the connector is,
    # because it copies nothing.
    held_back = is_held_back(mirror)
    needed = _needs(mirror, thorough)
    topics = Kept() if held_back or needed is _known(mirror) else _topics(mirror, needed, mend)
    if not (topics.unfit or held_back):
        _last_read[mirror.pk] = needed
    connector = _connector(mirror, needed.needs, mend)
    return Kept(connector.fault or needed.needs.fault, topics.unfit or connector.unfit)


@contextmanager
def _unturned(mirror: Mirror) -> Iterator[bool]:
    """Lock the mirror, so that it is not turned round; yield whether it still copies in the direction that was
    looked at.
    """
    with transaction.atomic():
        held = Mirror.objects.select_for_update(of=("self",)).filter(pk=mirror.pk).first()
        yield held is not None and not held.turning and held.source_id == mirror.source_id


def _known(mirror: Mirror) -> _Read | None:
    """Return the last read settings, if they fit the mirror's current direction and Topics."""
    last = _last_read.get(mirror.pk)
    fits = last and (last.source_id, set(last.needs.active)) == (mirror.source_id, set(mirror.topics))
    return last if fits else None


def _needs(mirror: Mirror, thorough: bool) -> _Read:
    last = _known(mirror)
    if last and not thorough and time.monotonic() - last.at < settings.MIRROR_SETTINGS_SECONDS:
        return last
    return _Read(time.monotonic(), mirror.source_id, needs(mirror.source, mirror.target, mirror.topics))


def _topics(mirror: Mirror, read: _Read, mend: bool) -> Kept:
    """Store the settings for clients, and give the standby's Topics the settings that they need."""
    changes = standby_changes(mirror.target, read.needs.standby)
    with _unturned(mirror) as still:
        if not still:
            return Kept()
        if mirror.topic_settings != read.needs.active:
            mirror.topic_settings = read.needs.active
            mirror.save(update_fields=["topic_settings"])
        if changes and not mend:
            return Kept(
                unfit=say(
                    "Topics on %(cluster)s are not yet as a standby needs them (%(keys)s); the next look mends that. "
                    "Ask again then.",
                    cluster=mirror.target.name,
                    keys=sorted({key for changed in changes.values() for key in changed}),
                )
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
    if not mend:
        _note_drift(mirror, keys)
        return Kept(
            unfit=say(
                "Settings of its connector differ from what hadash gives it (%(keys)s); the next look mends them, and "
                "it starts again. Ask again then.",
                keys=keys,
            )
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
                say(
                    "Settings of its connector differ from what hadash gives it (%(keys)s), and this Connect cannot "
                    "change some of them alone. Set them in Connect (remove what hadash does not give it), or use "
                    "Connect 3.8 or newer.",
                    keys=keys,
                )
            )
        _note_drift(mirror, keys, mended=True)
        compare_from_the_start(mirror)
    log.warning("Settings of connector %s differed and are mended: %s.", name, ", ".join(keys))
    return Kept(unfit=_unsettled(mirror))


def _unsettled(mirror: Mirror) -> Sentence:
    """Return that its tasks may not have their mended settings yet; ``NOTHING`` if they have."""
    mended = mirror.drift.get("mended")
    if not mended or timezone.now() - datetime.fromisoformat(mended) > timedelta(seconds=SETTLED_SECONDS):
        return NOTHING
    return say(
        "Settings of its connector (%(keys)s) were mended less than %(seconds)s s ago, and tasks with the old ones may "
        "still copy. Ask again then.",
        keys=mirror.drift["keys"],
        seconds=f"{SETTLED_SECONDS:.0f}",
    )


def _note_drift(mirror: Mirror, keys: tuple[str, ...] | list[str], mended: bool = False) -> None:
    """Record the keys that differ, never their values: some are passwords."""
    now = timezone.now().isoformat()
    open_one = mirror.drift and not mirror.drift["mended"] and mirror.drift["keys"] == list(keys)
    since = mirror.drift["since"] if open_one else now
    mirror.drift = {"keys": list(keys), "since": since, "mended": now if mended else None}
    mirror.save(update_fields=["drift"])


def compare_from_the_start(mirror: Mirror) -> None:
    """Make the next comparison begin with the first record, because all copies so far are doubtful."""
    mirror.comparison = {**mirror.comparison, "walked": {}}
    mirror.compared_at = None
    mirror.save(update_fields=["comparison", "compared_at"])
