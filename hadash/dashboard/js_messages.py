"""The texts of the scripts, in the viewer's language."""

from __future__ import annotations

from django.utils.translation import gettext as _

from hadash.switching.machines.switches import Kind


def script_phrases(kind: Kind = Kind.PLANNED) -> dict[str, str]:
    """Return the texts for the page of a switch of this kind. Scripts fill placeholders such as ``{name}``."""
    return {
        "clients": _("Clients"),
        "client": _("Client"),
        "gateways": _("Gateways"),
        "cluster": _("Cluster"),
        "when": _("When"),
        "clusters": _("Clusters"),
        "mirror": _("Mirror"),
        "state": _("State"),
        "writes": _("writes"),
        "reads": _("reads"),
        "per_second": _("{rate}/s"),
        "records_per_second": _("records per second"),
        "no_rate": _("rate unknown"),
        "idle": _("idle"),
        "no_client_id": _("no client.id"),
        "not_registered": _("not registered"),
        "stays": _("stays"),
        "not_connected": _("No client of this AppID is connected to a Gateway."),
        "start_clients": _("Start its clients at the Gateway."),
        "more_clients": _("and {count} more clients"),
        "parked": _("{count} parked"),
        "breaker_closed": _("passes"),
        "breaker_open": _("blocked"),
        "seen_on": _("seen on {cluster}"),
        "on": _("on {clusters}"),
        "applied": _("epoch {epoch}"),
        "applied_of": _("epoch {applied} of {epoch}"),
        "does_not_answer": _("does not answer"),
        "excluded": _("excluded"),
        "no_gateway": _("No Gateway is a member."),
        "zookeeper_silent": _("ZooKeeper does not answer: what the Gateways do now is not known here."),
        "lag": _("records behind: {lag}"),
        "lag_unknown": _("lag unknown"),
        "no_mirror": _("no mirror"),
        "copies": _("copies from {source} to {target}"),
        "produced": _("{cluster} produced"),
        "consumed": _("{cluster} consumed"),
        "time_axis": _("local time ({zone})"),
        "no_traffic": _("No records have passed a Gateway in this time."),
        "no_traffic_yet": _("The traffic of a switch is drawn from its beginning on."),
        "traffic_unknown": _("What passes is not known: no Gateway can be asked."),
        "as_of": _("as of {time}"),
        "min": _("min"),
        "picture": _("Clients, Gateways and clusters of this switch"),
        "writes_refused": _("readers wait") if kind.spec.readers_only else _("writes wait"),
    }
