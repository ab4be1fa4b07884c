"""Template tags for pools of consumers."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from hadash.coordinator.states import Event, State
from hadash.dashboard.templatetags.hadash import state
from hadash.presentation import badges
from hadash.presentation.pools import STANDINGS

register = template.Library()

#: What happened to a Topic's assignment.
EVENT_WORDS = {
    Event.ASSIGN: _("assigned for the first time"),
    Event.REASSIGN: _("given to others: a member is gone"),
    Event.CONFIRM_START: _("all members have started"),
    Event.ADD: _("partitions of nobody assigned"),
    Event.MOVE: _("partitions move: their members are to stop"),
    Event.CONFIRM_CLOSE: _("all members have stopped"),
    Event.HOLD: _("all members have stopped; a switch holds the Topic"),
    Event.RELEASE: _("the switch is over; nothing had to be stopped"),
}


@register.filter
def pool_event(value: str) -> str:
    """The words for a step's event; an unknown one as it is."""
    return str(EVENT_WORDS[Event(value)]) if value in set(Event) else value


@register.simple_tag
def standing(value: str) -> SafeString | str:
    """The badge of a state of an assignment; an unknown one as it is."""
    return state(badges.of(STANDINGS[State(value)])) if value in set(State) else value
