"""Read back from ZooKeeper what PostgreSQL has lost of a switch: how far it came, and the facts of its stages."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from hadash.audit.models import record
from hadash.bindings.dialect import Dialect
from hadash.bindings.errors import StaleWriter
from hadash.bindings.model import Journal
from hadash.sentences import say
from hadash.switching.machines.switches import Stage
from hadash.switching.models.switches import Switch, log_event
from hadash.switching.stages.resuming import newer, resumed_at

log = logging.getLogger(__name__)


def read_back(switch: Switch, token: int, dialect: Dialect, before: Journal | None) -> None:
    """Update the row of ``switch`` to what ZooKeeper knows; the switch's log and the audit log tell what was lost.

    Called when ``token`` has taken over, so that no other process still writes what is read here.

    :param before: the journal before the take-over.
    :raises StaleWriter: ``token`` was replaced. :raises BindingError: ZooKeeper cannot be read.
    """
    said = Stage(switch.stage)
    stage = resumed_at(switch.the_kind, said, _written(switch, dialect, before))
    facts = newer(switch.facts, dialect.facts(switch.key))
    if stage is said and facts is switch.facts:
        return
    with transaction.atomic():
        held = Switch.objects.select_for_update(of=("self",)).get(pk=switch.pk)
        if held.token != token:
            raise StaleWriter(f"Executor {token} of switch {switch.key} was replaced.")
        forgotten = _forgotten(held.facts, facts)
        held.stage, held.facts = stage.value, dict(facts)
        held.save(update_fields=["stage", "facts"])
        if stage is not said:
            sentence = say(
                "PostgreSQL had forgotten that this switch had reached %(stage)s (it said %(said)s). "
                "ZooKeeper knows it, "
                "so the switch goes on from there.",
                stage=stage.value,
                said=said.value,
            )
            log_event(held, sentence, stage.value)
        log.error("switch %s: PostgreSQL said %s, and lacked %s", switch.key, said, forgotten)
        record(None, "read back", held.subject, stage=stage.value, said=said.value, facts=forgotten)
    switch.stage, switch.facts = held.stage, held.facts


def _written(switch: Switch, dialect: Dialect, before: Journal | None) -> set[str]:
    """The stages that have changed bindings for a switch, according to ZooKeeper."""
    plan = switch.the_plan()
    documents = dialect.documents_now(plan.appids)
    bound = [documents[identity.appid].binding_of(identity) for identity in plan.identities]
    written = {binding.stage for binding in bound if binding is not None and binding.switch == switch.key}
    return written | ({before.stage} if before is not None else set())


def _forgotten(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    return sorted(name for name, value in theirs.items() if ours.get(name) != value)
