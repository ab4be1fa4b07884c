"""Recurring parts of pages: sentences, times, numbers, chips, states."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from django import template
from django.template.context import Context
from django.urls import reverse
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from hadash.accounts import roles
from hadash.bindings.model import BindingState
from hadash.inventory.models import Access
from hadash.presentation import badges, labels
from hadash.presentation.badges import State
from hadash.presentation.localized import seconds, sentence, stage_name
from hadash.presentation.readiness import Reason
from hadash.radius.scope import Scope, ScopeKind
from hadash.sentences import Sentence

register = template.Library()
register.filter(sentence)
register.filter(stage_name)
register.filter(seconds)

#: Most characters of an audit entry's details on the page; the export has all of them.
SHOWN_DETAILS = 4000

#: Names of many with which a plan's page begins; its table of members and their CSV have all.
FIRST_NAMES = 40

#: Most Topics of a switch that its title names.
SHOWN_TOPICS = 3


@register.filter
def told(event: Any) -> str:
    """Return the sentence of a line of a log, with the actor's full name in place of the user name."""
    said = Sentence.from_json(event.sentence)
    if event.actor is not None and said.values.get("user") == event.actor.get_username():
        said = Sentence(said.text, {**said.values, "user": person(event.actor)})
    return sentence(said)


@register.filter
def number(value: Any) -> str:
    """Return a number with thousands separators; a question mark for an unknown one."""
    if value is None or value == "":
        return "?"
    return f"{value:,.0f}" if isinstance(value, float) else f"{value:,}"


@register.filter
def expected(value: float) -> str:
    return f"{value:g} s"


@register.filter
def double(value: float) -> float:
    """Return twice a window's length: a pause that no window shows may still last almost two windows."""
    return 2 * value


@register.filter
def percent_of(part: int, whole: int) -> str:
    from hadash.percent import whole_percent

    return f"{whole_percent(part, whole)} %" if whole else "?"


@register.filter
def percent(share: float | None) -> str:
    """Return a share from 0 to 1 as a percentage."""
    from hadash.percent import whole_percent

    return "?" if share is None else f"{whole_percent(share, 1.0)} %"


@register.filter
def person(user: Any) -> str:
    from hadash.presentation.selectors import name_of

    return name_of(user)


@register.filter
def purpose(value: Any, kind: str = "planned") -> str:
    return labels.stage_purpose(labels.Stage(value), labels.Kind(kind))


@register.filter
def kind_tag(switch: Any) -> SafeString:
    """Return the tag with the kind of a switch, if it is named."""
    if not switch.the_kind.spec.is_named:
        return SafeString("")
    return format_html(' <span class="tag">{}</span>', switch.get_kind_display())


@register.filter
def does(kind: str) -> str:
    """Return the word for what a client does to a Topic or group, by the kind of use."""
    return str(Access.Kind(kind).label) if kind in set(Access.Kind) else kind


@register.filter
def group_state(state: str) -> str:
    """Return the word for a state of a consumer group."""
    return labels.group_state_word(state)


@register.filter
def cluster_mode(mode: str | None) -> str:
    """Return how a cluster keeps its metadata, as Kafka writes it. :param mode: of a snapshot."""
    return labels.CLUSTER_MODES.get(mode or "", mode or "?")


@register.filter
def lookup(values: dict[str, Any], name: str) -> Any:
    """Return an entry of a mapping; empty when it has none of that name."""
    value = values.get(name, "")
    return f"{value:g}" if isinstance(value, float) else value


@register.filter
def verb(value: str) -> str:
    return labels.verb_word(value)


@register.filter
def denial(value: Any) -> str:
    return labels.denial_word(str(value or ""))


@register.filter
def role_word(role: str) -> str:
    return str(labels.ROLE_WORDS.get(role, role))


@register.filter
def scope_word(scope: str) -> str:
    """Return the word for a token's scope."""
    return str(labels.SCOPE_WORDS[scope][0]) if scope in labels.SCOPE_WORDS else scope


@register.filter
def scope_purpose(scope: str) -> str:
    """Return what a program can do with a token of this scope."""
    return str(labels.SCOPE_WORDS[scope][1])


#: The name of an action in templates → its permission.
_ACTIONS = {
    "request": roles.REQUEST,
    "register": roles.REGISTER,
    "exclude_gateway": roles.EXCLUDE_GATEWAY,
    "read_audit": roles.VIEW_AUDIT,
    "accept": roles.ACCEPT,
    "change_appid": roles.CHANGE_APPID,
    "run_job": roles.RUN_JOB,
    "change_schedule": roles.CHANGE_SCHEDULE,
    "manage_people": roles.MANAGE_PEOPLE,
}


@register.filter
def may(user: Any, action: str) -> bool:
    """Whether the user may do this on at least one pair, so that a button makes sense."""
    return roles.may_somewhere(user, _ACTIONS[action])


@register.simple_tag(takes_context=True)
def may_on(context: Context, action: str, pair: Any) -> bool:
    """Whether the user may do this on this pair."""
    return roles.may(context["user"], _ACTIONS[action], pair)


@register.filter
def epoch_ms(value: datetime | None) -> str:
    """Return a time in milliseconds since 1970, for scripts that count from it."""
    return str(int(value.timestamp() * 1000)) if value else ""


@register.simple_tag
def when(value: datetime | float | None, mode: str = "relative") -> SafeString:
    """Render a time: the script makes it relative (``relative``) or local (``clock``, ``full``); exact on hover."""
    if value is None:
        return format_html('<span class="muted">{}</span>', gettext("never"))
    moment = value if isinstance(value, datetime) else datetime.fromtimestamp(value, UTC)
    exact = f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    # (Nothing in it has to be escaped, and a table may have hundreds.)
    return SafeString(
        f'<time datetime="{moment.isoformat()}" data-mode="{escape(mode)}" title="{exact}">{exact}</time>'
    )


@register.simple_tag
def icon(name: str) -> SafeString:
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false"><use href="#i-{}"/></svg>', name
    )


@register.filter
def is_now(row: Any, names: str) -> bool:
    """Whether a row's state is one of these (``{% if switch|is_now:"declined expired" %}``).

    :raises ValueError: there is no such state; a mistyped name must not silently hide a part of a page.
    """
    current: StrEnum = row.current
    return current in {type(current)(name) for name in names.split()}


@register.filter
def badge(row: Any) -> State:
    """Return the badge of a row's status, or of the result of an attempt at a stage."""
    from hadash.presentation import badges
    from hadash.switching.models.switches import StageRecord

    return badges.of_result(row.result) if isinstance(row, StageRecord) else badges.of_row(row)


@register.simple_tag
def state(value: State) -> SafeString:
    """Render a state as icon and word, never as colour alone."""
    return format_html(
        '<span class="state {}"><svg class="icon" aria-hidden="true" focusable="false"><use href="#i-{}"/></svg>'
        "{}</span>",
        value.look,
        value.icon,
        value.word,
    )


def _hue(context: Context, name: str) -> str:
    hues = context.get("hues")
    return str(hues.get(name, "none")) if hues else "none"


@register.simple_tag(takes_context=True)
def cluster(context: Context, value: Any) -> SafeString:
    """Render a cluster as a chip: hue, shape and name."""
    name = str(value or "")
    hue = _hue(context, name)
    return format_html(
        '<span class="cluster {}"><svg class="icon" aria-hidden="true" focusable="false">'
        '<use href="#i-{}"/></svg>{}</span>',
        hue,
        hue,
        name,
    )


@register.simple_tag(takes_context=True)
def identity(context: Context, appid: str, instance: str = "", on: Any = "") -> SafeString:
    """Render ``AppID › InstanceID`` with the hue of its cluster."""
    hue = _hue(context, str(on)) if on else "none"
    if instance:
        return format_html(
            '<span class="identity {}"><b>{}</b><i aria-hidden="true">›</i><span>{}</span></span>',
            hue,
            appid,
            instance,
        )
    return format_html('<span class="identity {}"><b>{}</b></span>', hue, appid)


@register.simple_tag(takes_context=True)
def scope(context: Context, asked: Scope, on: Any = "") -> SafeString:
    """Render what a switch was asked for: an identity, Topics, or everything."""
    if asked.appid:
        return identity(context, asked.appid, asked.instance_id, on)
    if asked.roots:
        return format_html('<span class="identity none"><b>{}</b></span>', str(asked))
    what = (
        gettext("everything")
        if asked.kind is ScopeKind.PAIR
        else f"Topic {gettext(', ').join(asked.topics[:SHOWN_TOPICS])}"
    )
    more = f" +{len(asked.topics) - SHOWN_TOPICS}" if len(asked.topics) > SHOWN_TOPICS else ""
    return format_html('<span class="identity none"><b>{}{}</b></span>', what, more)


@register.simple_tag
def listed(values: Iterable[Any]) -> str:
    """Join names with the separator of the viewer's language."""
    return gettext(", ").join(str(value) for value in values)


@register.simple_tag
def people(names: list[str]) -> str:
    """Join the names of people to ask; "nobody" when there are none."""
    return gettext(", ").join(names) if names else gettext("nobody")


@register.simple_tag
def sparkline(history: list[tuple[datetime, int | None]]) -> SafeString:
    """Draw mirror lag over the last minutes; unknown values are gaps."""
    from hadash.dashboard.figures import sparkline_svg

    return sparkline_svg(history)


@register.simple_tag
def trend(values: Sequence[float | None], word: Any) -> SafeString:
    """Draw a figure over the last days; nothing while fewer than two values are known."""
    from hadash.dashboard.figures import trend_svg

    return trend_svg(
        values, gettext("%(what)s over the last %(days)s days") % {"what": word, "days": len(values)}
    )


@register.filter
def address_of_reason(reason: Reason) -> str:
    """Return the address of the page that shows more about a reason."""
    return reverse(reason.page, args=reason.arguments) + reason.query


@register.simple_tag
def binding_state(value: BindingState) -> SafeString:
    return state(badges.of_binding(value))


@register.simple_tag
def elapsed(start: datetime, end: datetime) -> str:
    return seconds((end - start).total_seconds())


@register.filter
def malformed_word(reason: Any) -> str:
    return str(labels.MALFORMED_WORDS.get(str(reason), reason))


@register.filter
def run_word(name: Any) -> str:
    """Return the word for a step of a run, or for a thing that it counts."""
    return labels.run_word(str(name))


@register.filter
def column_word(name: str) -> str:
    """Return the word for a column of a published table."""
    from hadash.presentation.tables import column_words

    return column_words().get(name, name)


@register.filter
def moment(value: str) -> datetime | None:
    """Parse a time that was kept as text (ISO 8601); ``None`` for anything else."""
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None


#: Most names of a cell that are shown; the others are counted.
SHOWN_NAMES = 4


@register.simple_tag
def first_names(values: Sequence[Any], most: int = FIRST_NAMES) -> SafeString:
    """Render the first of many names as code, and how many more there are."""
    shown = format_html_join(" ", "<code>{}</code>", ((str(value) or "—",) for value in values[:most]))
    beyond = len(values) - most
    if beyond <= 0:
        return shown
    more = ngettext("%(count)s more", "%(count)s more", beyond) % {"count": f"{beyond:,}"}
    return format_html('{} <span class="quiet">… {}</span>', shown, more)


@register.simple_tag
def few_names(values: Any) -> SafeString:
    """Render the first names of many; a click on them, or Enter, shows the others."""
    names = [str(value) for value in values or ()]
    shown = gettext(", ").join(names[:SHOWN_NAMES])
    if len(names) <= SHOWN_NAMES:
        return format_html("{}", shown)
    return format_html(
        '<details class="few" data-all="{}"><summary>{} <span class="quiet">+{}</span></summary>{}</details>',
        gettext(", ").join(names),
        shown,
        len(names) - SHOWN_NAMES,
        gettext(", ").join(names[SHOWN_NAMES:]),
    )


@register.simple_tag
def severity(value: Any) -> SafeString:
    """Render the severity of a finding."""
    return state(badges.of_severity(value))


@register.simple_tag
def right_mark(has: bool, known: bool) -> SafeString:
    """Render whether a cluster has a rule, as word and icon."""
    if not known:
        return state(State("unknown", "unknown", gettext("not known")))
    return state(State("fine", "fine", gettext("yes")) if has else State("bad", "bad", gettext("missing")))


@register.simple_tag
def task_state(value: str) -> SafeString:
    """Render the state of a connector's task."""
    return state(badges.of_task(value))


@register.simple_tag
def when_text(value: str) -> SafeString:
    """Render a time that is kept as text (ISO 8601)."""
    return when(datetime.fromisoformat(value)) if value else SafeString("")


@register.simple_tag
def key_cell(value: Any) -> SafeString:
    """Render a value of a table, of any type."""
    if value is None or value == "":
        return format_html('<span class="quiet">–</span>')
    if isinstance(value, list | tuple):
        return few_names(value)
    if isinstance(value, float):
        return format_html("{}", f"{value:.1f}")
    return format_html("{}", f"{value:,}" if isinstance(value, int) else value)


@register.simple_tag
def appid_link(pages: dict[str, int], cells: list[tuple[Any, Any]], name: str) -> SafeString:
    """Render an AppID with a link to its page, if it has one.

    :param pages: ``"<pair> <name>"`` → the number of the AppID's page.
    :param cells: the cells of its row.
    """
    pair = next((value for column, value in cells if column.name == "pair"), "")
    page = pages.get(f"{pair} {name}")
    if page is None:
        return format_html("{}", name)
    return format_html('<a class="row" href="{}">{}</a>', reverse("appid", args=[page]), name)


@register.filter
def day(value: Any) -> str:
    """Return a day as 2026-11-30; empty for none."""
    return f"{value:%Y-%m-%d}" if value else ""


@register.filter
def pretty(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return text if len(text) <= SHOWN_DETAILS else f"{text[:SHOWN_DETAILS]}\n…"
