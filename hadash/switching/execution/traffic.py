"""The traffic of a switch's clients, as the Gateways saw it."""

from __future__ import annotations

import logging
from typing import Any

from hadash.bindings.errors import StoreUnavailable
from hadash.inventory.gateways import ask_all
from hadash.switching.models.switches import Switch

log = logging.getLogger(__name__)

#: Seconds of traffic before and after a switch that are stored.
TRAFFIC_MARGIN_SECONDS = 15.0

#: The most AppIDs of one switch whose traffic is stored and drawn: each needs a request to every Gateway.
CHARTED_APPIDS = 20


def traffic_since(switch: Switch, since: float) -> list[dict[str, Any]]:
    """Samples of the switch's clients that ended after ``since`` (seconds since 1970), from all Gateways."""
    samples = [
        sample
        for asked in traffic_questions(switch)
        for sample in ask_all("/traffic", "samples", None, since=str(since), **asked)
    ]
    return sorted(samples, key=lambda sample: float(sample["at"]))


def traffic_questions(switch: Switch) -> list[dict[str, str]]:
    """The queries to Gateways for the traffic of a switch's clients: one for its InstanceID, or one for each AppID."""
    plan = switch.the_plan()
    if len(plan.identities) == 1 and plan.instances:
        (identity,) = plan.identities
        return [{"appid": identity.appid, "instance": identity.instance_id or ""}]
    return [{"appid": appid} for appid in plan.appids[:CHARTED_APPIDS]]


def keep_traffic(switch: Switch) -> None:
    """Store the samples around a switch that has ended, because the Gateways forget them.

    Best effort: without ZooKeeper the Gateways' addresses are not known, and the switch has ended anyway.
    """
    switch.refresh_from_db()
    if switch.started_at is None:
        return
    try:
        samples = traffic_since(switch, switch.started_at.timestamp() - TRAFFIC_MARGIN_SECONDS)
    except StoreUnavailable as error:
        log.warning("the traffic of switch %s is not kept: %s", switch.key, error)
        return
    Switch.objects.filter(pk=switch.pk).update(traffic=samples)
