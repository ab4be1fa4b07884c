"""The chart of a thing with its surroundings; its marks are links to each other."""

from __future__ import annotations

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.dashboard.charts import flows
from hadash.dashboard.charts.chart import Chart
from hadash.dashboard.graph.nodes import Focus
from hadash.dashboard.graph.surroundings import Surroundings
from hadash.inventory.models import Pair
from hadash.radius.nodes import APPID, GROUP, INSTANCE, TOPIC


def flows_of(pair: Pair, wanted: Focus, found: Surroundings) -> Chart:
    """Return the chart of a thing's surroundings."""
    own = next((flow for flow in found.flows if flow.is_own), None)
    says = [_("What is darker is its own; the rest is what others do with the same.") if own else ""]
    if found.appids_left_out:
        says.append(
            _("%(count)s more AppIDs use the same and are left out.")
            % {"count": f"{found.appids_left_out:,}"}
        )
    if found.uses_left_out:
        says.append(
            _("%(count)s of its uses, those with the fewest records, are left out.")
            % {"count": f"{found.uses_left_out:,}"}
        )
    if found.internal_left_out:
        says.append(
            ngettext(
                "%(count)s use of an internal Topic is not drawn.",
                "%(count)s uses of internal Topics are not drawn.",
                found.internal_left_out,
            )
            % {"count": f"{found.internal_left_out:,}"}
        )
    key = {
        APPID: (flows.APPID, (wanted.appid,)),
        INSTANCE: (flows.CLIENT, (wanted.appid, wanted.name)),
        TOPIC: (flows.TOPIC, (wanted.name,)),
        GROUP: (flows.GROUP, (wanted.name,)),
    }[wanted.kind]

    among = {"pair": pair.name, "q": wanted.name or wanted.appid}

    def href(place: flows.Place) -> str:
        if place.key is None:
            # (The table has what the last run has published; of an older one the chart's CSV has all.)
            return "#csv" if wanted.run else f"{reverse('table', args=['edges'])}?{urlencode(among)}"
        if place.column == flows.CLUSTER:
            return ""
        if place.column == flows.CLIENT:
            appid, client = place.key
            return Focus(pair.name, INSTANCE, appid, client, wanted.run).href if client else ""
        if place.column == flows.APPID:
            return Focus(pair.name, APPID, place.key[0], run=wanted.run).href
        kind = TOPIC if place.column == flows.TOPIC else GROUP
        return Focus(pair.name, kind, name=place.key[0], run=wanted.run).href

    return flows.flows(
        (pair.first.name, pair.second.name),
        found.flows,
        flows.Place(*key),
        " ".join(part for part in says if part),
        href,
    )
