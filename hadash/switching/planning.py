"""Computing a plan from what is bound and observed now."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from hadash.bindings.errors import BindingError
from hadash.bindings.model import Binding
from hadash.bindings.store import BindingStore
from hadash.identity.identity import Identity
from hadash.identity.resolve import resolve
from hadash.inventory.gateways import zookeeper
from hadash.inventory.models import Access, AppID, Cluster
from hadash.mirroring.models import Mirror
from hadash.sentences import Sentence, say
from hadash.switching.plan import Plan
from hadash.switching.radius import MirrorOf, NotClosed, Use, close


class Refused(Exception):
    """What was asked for is not possible. ``reasons`` are for the person who asked."""

    def __init__(self, *reasons: Sentence) -> None:
        super().__init__(" ".join(str(reason) for reason in reasons))
        self.reasons = list(reasons)


def access_since() -> datetime:
    """What was last seen before that does not count as use any more."""
    return timezone.now() - timedelta(days=settings.ACCESS_WINDOW_DAYS)


def plan_for(appid: AppID, instance_id: str | None, target: Cluster) -> Plan:
    """The plan that would move an AppID, or one InstanceID of it, to ``target``.

    :raises Refused: it is there already, or the radius is not closed.
    """
    pair, scope = appid.pair, Identity(appid.name, instance_id)
    if target not in pair.clusters:
        raise Refused(say("Cluster %(cluster)s is not in pair %(pair)s.", cluster=target, pair=pair))
    try:
        document = BindingStore(zookeeper()).document(appid.name)
    except BindingError as error:
        raise Refused(say("%(error)s", error=error)) from None
    default = Binding(pair.default.name)
    current = resolve(document, instance_id or "", default)
    if current.cluster == target.name:
        raise Refused(say("%(who)s is bound to %(cluster)s already.", who=scope, cluster=target))
    access = Access.objects.filter(pair=pair, last_seen__gte=access_since())
    uses = [Use(a.appid, a.client_id, a.kind, a.resource) for a in access]
    mirrors = [
        MirrorOf(m.name, m.source.name, frozenset(m.topics))
        for m in Mirror.objects.filter(pair=pair).select_related("source")
    ]
    bound = {name: binding.cluster for name, binding in document.instances.items()}
    try:
        return close(scope, pair.name, current.cluster, target.name, uses, mirrors, bound)
    except NotClosed as error:
        raise Refused(*error.reasons) from None
