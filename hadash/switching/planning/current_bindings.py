"""The current bindings of a plan's identities."""

from __future__ import annotations

from hadash.bindings.model import Binding
from hadash.identity.identity import Identity
from hadash.inventory.dialects import dialect_of
from hadash.inventory.models import Pair
from hadash.switching.plan import Plan


def bound_to(pair: Pair, plan: Plan) -> dict[Identity, Binding]:
    """The binding of each identity of ``plan``: its own, else its AppID's, else the pair's default.

    :raises BindingError: the engine's servers do not answer.
    """
    bindings, default = dialect_of(pair), Binding(pair.default.name)
    documents = bindings.documents_now(plan.appids)
    return {
        identity: documents[identity.appid].binding_of(identity)
        or documents[identity.appid].default
        or default
        for identity in plan.identities
    }
