"""Forms for changes of pools. The services decide what is allowed."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from hadash.coordinator.strategies import STRATEGIES
from hadash.inventory.models import Cluster
from hadash.pools.actions import Action, Change

#: The strategies, by the names that ZooKeeper holds.
STRATEGY_WORDS = {
    "range": gettext_lazy("range: neighbouring partitions of each Topic, as Kafka's RangeAssignor"),
    "roundrobin": gettext_lazy("roundrobin: in turn, as Kafka's RoundRobinAssignor"),
    "sticky": gettext_lazy("sticky: even, and moves as few as it can, as Kafka's StickyAssignor"),
    "weighted": gettext_lazy(
        "weighted: balances the bytes that partitions carry, and moves as few as it can"
    ),
}

#: The actions that a page of one pool offers by this form.
OFFERED = tuple(action for action in Action if action is not Action.CREATE)


class PoolForm(forms.Form):
    """A new pool."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=200)
    strategy = forms.ChoiceField(
        label=gettext_lazy("Strategy"),
        choices=[(name, STRATEGY_WORDS[name]) for name in sorted(STRATEGIES)],
        initial="sticky",
    )

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"]).strip()
        if name.startswith(".") or "/" in name:
            raise forms.ValidationError(_("A pool's name has no slash, and does not begin with a dot."))
        return name


class TopicForm(forms.Form):
    """A Topic that a pool is to read.

    :param clusters: those that the user may see, by name.
    """

    cluster = forms.ChoiceField(label=gettext_lazy("Cluster"))
    topic = forms.CharField(label=gettext_lazy("Topic"), max_length=249)
    group = forms.CharField(label=gettext_lazy("Group, in which offsets are committed"), max_length=200)
    #: More settings of the members' Kafka consumers, one ``name=value`` a line.
    more = forms.CharField(required=False, widget=forms.Textarea)

    def __init__(self, *args: Any, clusters: dict[str, Cluster], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.clusters = clusters
        self.fields["cluster"].choices = [(name, name) for name in sorted(clusters)]  # type: ignore[attr-defined]

    def clean_more(self) -> dict[str, str]:
        found = {}
        for line in str(self.cleaned_data["more"]).splitlines():
            if not line.strip():
                continue
            name, equals, value = line.partition("=")
            if not equals or not name.strip():
                raise forms.ValidationError(_("“%(line)s” is not name=value.") % {"line": line.strip()})
            found[name.strip()] = value.strip()
        return found


def change_of(pool: str, action: Action, values: dict[str, Any]) -> Change:
    """Return the change that the fields ``member``, ``topic`` and ``strategy`` ask for."""
    return Change(
        pool,
        action,
        member=values.get("member", "") if action in (Action.ISOLATE, Action.TAKE_BACK) else "",
        topic=values.get("topic", "") if action in (Action.REMOVE_TOPIC, Action.RELEASE) else "",
        strategy=values.get("strategy", "") if action in (Action.STRATEGY, Action.SHADOW) else "",
    )
