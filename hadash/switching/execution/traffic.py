"""The traffic of a switch's clients, as the Gateways saw it."""

from __future__ import annotations

import logging
from typing import Any

from hadash.bindings.errors import StoreUnavailable
from hadash.inventory.gateways import ask_all
from hadash.switching.models.switches import Switch

log = logging.getLogger(__name__)

#: Seconds of traffic that are kept before and after a switch.
TRAFFIC_MARGIN_SECONDS = 15.0

#: AppIDs of one switch whose traffic is kept and drawn: each is a question to every Gateway.
CHARTED_APPIDS = 20


def traffic_since(switch: Switch, since: float) -> list[dict[str, Any]]:
    """Samples of the switch's clients that ended after ``since`` (seconds since 1970), over all Gateways."""
    samples = [
        sample
        for asked in traffic_questions(switch)
        for sample in ask_all("/traffic", "samples", None, since=str(since), **asked)
    ]
    return sorted(samples, key=lambda sample: float(sample["at"]))


def traffic_questions(switch: Switch) -> list[dict[str, str]]:
    """What to ask Gateways for, to get the traffic of a switch's clients: of one InstanceID, or of each AppID."""
    plan = switch.the_plan()
    if len(plan.identities) == 1 and plan.instances:
        (identity,) = plan.identities
        return [{"appid": identity.appid, "instance": identity.instance_id or ""}]
    return [{"appid": appid} for appid in plan.appids[:CHARTED_APPIDS]]


def keep_traffic(switch: Switch) -> None:
    """Keep the samples around a switch that has ended: the Gateways forget them.

    Best effort: without ZooKeeper nobody knows where the Gateways are, and the switch has ended all the same.
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
