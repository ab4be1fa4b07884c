"""The page of a switch, and all actions on a switch."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from hadash.accounts.browser import browser_of
from hadash.accounts.roles import DECIDE, FORCE, OPERATE, REQUEST, may, may_steer
from hadash.dashboard import radius_chart
from hadash.dashboard.charts.chart import asked_csv
from hadash.dashboard.charts.of_switch import pauses_of, stages_of
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.js_messages import script_phrases
from hadash.dashboard.views.actions import actions_on, decisions_on
from hadash.dashboard.views.common import address_of, the_switch, typed, user_of
from hadash.inventory.models import AppID
from hadash.presentation import badges, behind, live, radius, rpo, selectors
from hadash.radius.scope import Scope
from hadash.sentences import Sentence
from hadash.switching.approvals import decisions, four_eyes
from hadash.switching.execution import operations
from hadash.switching.execution.usual import usual_seconds
from hadash.switching.handovers import handing_over
from hadash.switching.machines.retirements import Status as RetirementStatus
from hadash.switching.machines.switches import Kind, Stage, Status
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Switch
from hadash.switching.models.unreplicated import Unreplicated
from hadash.switching.planning.proposals import proposal_for
from hadash.switching.policy import blackout_now
from hadash.switching.recovery import lost_target, restoring, unreplicated
from hadash.switching.refusals import EnginesAway
from hadash.switching.retirement import services as retirement
from hadash.switching.retirement import terms

#: The status with which htmx stops polling.
STOP_POLLING = 286


#: The states of a switch in which its plan can be compared with what would move now: nothing has moved yet.
STANDING = (Status.AWAITING_APPROVAL, Status.APPROVED, Status.PAUSED)


def parts_context(user: Any, switch: Switch) -> dict[str, Any]:
    """Return the context for the parts of the page that change with the stages."""
    records = list(switch.stages.all())
    may_request = may(user, REQUEST, switch.pair)
    awaiting = switch.current is Status.AWAITING_APPROVAL
    own = switch.requested_by_id == user.pk
    approvals = four_eyes.shown(switch)
    plan = switch.the_plan()
    missing = Unreplicated.objects.filter(switch=switch).first()
    the_appid = AppID.objects.filter(pair=switch.pair_id, name=switch.appid).first() if switch.appid else None
    return {
        "switch": switch,
        "state": badges.of_row(switch),
        "plan": plan,
        "phases": live.phases(records, switch.the_kind, not switch.open, usual_seconds(switch)),
        "records": records,
        "awaiting": awaiting,
        # (They never change: while the switch runs, they are in a part of the page that is not updated.)
        "members": radius.rows(plan) if awaiting else [],
        "radius_chart": radius_chart.drawn(plan) if awaiting else None,
        "own": own,
        "may_decide": decisions.SWITCHES.may_decide(user, switch, approvals),
        "unreplicated": missing,
        "unreplicated_rows": unreplicated.shown(missing) if missing is not None else [],
        "may_rebuild": unreplicated.may_rebuild(user, missing, switch),
        "approvals": approvals,
        "approvals_missing": four_eyes.missing_of(switch, len(approvals)),
        "may_comment": may_steer(user, switch.pair),
        "starts_later": switch.start_at is not None and switch.start_at > timezone.now(),
        "is_standing": switch.current in STANDING,
        "scheduled": switch.current is Status.APPROVED and switch.start_at is not None,
        "blackout": blackout_now(switch.pair) if awaiting or switch.current is Status.APPROVED else None,
        "may_cancel": decisions.SWITCHES.may_cancel(user, switch),
        "paused": switch.current is Status.PAUSED,
        "paused_until": switch.paused_at + timedelta(seconds=settings.SWITCH_RESUME_SECONDS)
        if switch.paused_at is not None
        else None,
        "may_pause": operations.may_pause(user, switch),
        "will_pause": switch.pause_after_precheck
        and (switch.current is Status.APPROVED or switch.stage == Stage.PRECHECK.value),
        "may_resume": operations.may_resume(user, switch),
        "may_review": decisions.may_review(user, switch),
        "may_abort": operations.may_abort(user, switch),
        "past_return": switch.current is Status.RUNNING and not operations.is_abortable(switch),
        "running": switch.current is Status.RUNNING,
        "returning": switch.stage == Stage.RETURN.value,
        "verifying": switch.stage == Stage.VERIFY.value,
        "may_retry": operations.may_retry(user, switch),
        "may_abandon": lost_target.may_abandon(user, switch),
        "may_switch_back": may_request and restoring.may_go_back(switch),
        "gone_back": list(switch.restored_by.order_by("pk")),
        "may_request_it": may_request
        and switch.the_kind.spec.changes_nothing
        and switch.current is Status.SUCCEEDED,
        "read_split": switch.the_kind.spec.readers_only,
        "from_mirror": radius.reads_from_mirrors(plan),
        "again": _query_of(switch, switch.target.name, the_appid),
        "deciders": selectors.people_who(
            DECIDE, switch.pair, switch.requested_by, *(a.user for a in approvals)
        )
        if awaiting
        else [],
        "back": _query_back(switch, the_appid),
        "the_appid": the_appid,
        "removed_on": terms.expected(switch.retire_after_days, switch.start_at)
        if awaiting and switch.retire_after_days is not None
        else None,
        **_retirement(user, switch),
        "ended": not switch.open,
        "refused_seconds": live.refused_seconds(records),
        "proved_equal": live.proved_equal(records),
        "longest_pause": live.longest_pause(switch.traffic, reading=switch.the_kind.spec.readers_only)
        if not switch.open
        else None,
        "sample_seconds": live.SAMPLE_SECONDS,
        "forwarded": live.forwarded(records),
        "lost": rpo.lost_by(switch, records, missing) if not switch.open else None,
        "stages_chart": stages_of(switch, records),
        "pauses_chart": pauses_of(switch, records),
    }


def _retirement(user: Any, switch: Switch) -> dict[str, Any]:
    """Return the context for the part about the old Topics."""
    held = Retirement.objects.filter(switch=switch).first()
    return {
        "retirement": held,
        "retirement_state": badges.of_row(held) if held is not None else None,
        "retirement_running": held is not None and held.current is RetirementStatus.RUNNING,
        "may_retire": retirement.may_retire(user, switch, held),
        "least_term": settings.RETIREMENT_MIN_DAYS,
        "most_term": settings.RETIREMENT_MAX_DAYS,
    }


def _query_of(switch: Switch, target: str, appid: AppID | None) -> str:
    """Return the query for a request of the same scope to ``target``."""
    return urlencode(_fields_of(switch, switch.scope, target, appid))


def _query_back(switch: Switch, appid: AppID | None) -> str:
    """Return the query for a request that goes back from a switch: readers come home by a read split, all other clients
    by a restore.
    """
    if switch.the_kind.spec.readers_only:
        return _query_of(switch, switch.source.name, appid)
    values = _fields_of(switch, restoring.scope_back(switch), switch.source.name, appid)
    return urlencode(values | {"kind_of_switch": Kind.RESTORE.value, "restores": switch.key})


def _fields_of(switch: Switch, scope: Scope, target: str, appid: AppID | None) -> dict[str, str]:
    values = {"target": target}
    values |= {"appid": str(appid.pk)} if appid is not None else {"pair": str(switch.pair_id)}
    values["scope"] = scope.kind.value
    if scope.instance_id:
        values["instance"] = scope.instance_id
    if scope.topics:
        values["topics"] = ", ".join(scope.topics)
    if scope.roots:
        values["roots"] = "\n".join(scope.roots)
    values["dimension"] = scope.dimension.value
    if scope.widen:
        values["widen"] = "on"
    if switch.the_kind.spec.readers_only:
        values["kind_of_switch"] = switch.kind
    return values


def _page(
    request: HttpRequest,
    switch: Switch,
    refusals: list[Sentence] | None = None,
    status: int = 200,
    reason: str = "",
    comment: str = "",
) -> HttpResponse:
    context = parts_context(user_of(request), switch)
    records = context["records"]
    log = live.log_lines(switch)
    context |= {
        "members": radius.rows(context["plan"]),
        "radius_chart": radius_chart.drawn(context["plan"]),
        "title": live.title(switch),
        "refusals": refusals or [],
        "typed_reason": reason,
        "typed_comment": comment,
        "log": log,
        "behind": behind.of_switch(switch) if switch.open else None,
        "data": {
            "state": live.state(switch, records),
            "clients": live.clients(switch),
            "mirrors": live.mirrors(switch),
            "traffic": switch.traffic if not switch.open else [],
            "sample_seconds": live.SAMPLE_SECONDS,
            "last_event": log[-1]["id"] if log else 0,
            "hues": _hues(switch),
            "phrases": script_phrases(switch.the_kind),
        },
    }
    return render(request, "switches/page.html", context, status=status)


def _hues(switch: Switch) -> dict[str, str]:
    """Return the hues of the pair's clusters only: users with a role on one pair must not see other clusters' names."""
    own = {cluster.name for cluster in switch.pair.clusters}
    return {name: hue for name, hue in selectors.hues().items() if name in own}


@require_GET
def switch(request: HttpRequest, key: str) -> HttpResponseBase:
    """Render the page of a switch, or with htmx only the part about the old Topics: the stream updates the rest.
    ``?csv=`` names a chart or table.
    """
    found = the_switch(user_of(request), key)
    if request.GET.get("csv") == "behind":
        return csv_response(f"behind-{key}", behind.COLUMNS, behind.csv_rows(found))
    if request.GET.get("csv") == "traffic":
        samples = live.traffic_since(found, 0) if found.open else found.traffic
        return csv_response(f"traffic-{key}", live.TRAFFIC_COLUMNS, live.traffic_rows(samples))
    if "csv" in request.GET:
        charts = [
            stages_of(found, list(found.stages.all())),
            pauses_of(found, list(found.stages.all())),
            radius_chart.drawn(found.the_plan(), everything=True),
        ]
        if (asked := asked_csv(request, [chart for chart in charts if chart])) is not None:
            return asked
    if request.headers.get("HX-Request"):
        return render(request, "switches/retirement.html", parts_context(user_of(request), found))
    return _page(request, found)


@require_GET
def state_json(request: HttpRequest, key: str) -> HttpResponse:
    return JsonResponse(live.snapshot(the_switch(user_of(request), key)))


@require_GET
def standing(request: HttpRequest, key: str) -> HttpResponseBase:
    """Render a part of the page of a switch that has not begun to move anything: what has changed since the request,
    and the blockers now; ``?csv=radius-changes`` returns the changes as a table.
    """
    found = the_switch(user_of(request), key)
    if found.current not in STANDING:
        return HttpResponse(status=STOP_POLLING)
    try:
        draft = proposal_for(found.pair, found.scope, found.target, found.the_kind)
    except EnginesAway as away:
        return render(request, "switches/standing.html", {"away": away.reasons})
    asked, address = found.the_plan(), reverse("switch-standing", args=[key])
    # (An incomplete plan cannot be compared; its blockers say why it is incomplete.)
    changed = radius.changed(asked, draft.plan) if draft.whole else []
    chart = radius_chart.drawn(draft.plan, address, asked, "csv" in request.GET) if changed else None
    if chart is not None and (csv := asked_csv(request, [chart])) is not None:
        return csv
    context = {
        "changed": changed,
        "blockers": draft.blockers,
        "radius_chart": chart,
        "awaiting": found.current is Status.AWAITING_APPROVAL,
    }
    return render(request, "switches/standing.html", context)


# -- actions -----------------------------------------------------------------------------------------------------


def _refused(request: HttpRequest, switch: Switch, reasons: list[Sentence]) -> HttpResponse:
    return _page(request, switch, reasons, 409, typed(request, "reason"), typed(request, "text"))


action = actions_on(the_switch, "switch", _refused)


def _approved(switch: Switch) -> str:
    if switch.current is Status.APPROVED:
        return _("Approved. The switch starts when its window comes.")
    return _("Approved. The switch is running.")


approve, decline, cancel = decisions_on(
    action, decisions.SWITCHES, lambda switch: handing_over.start_switch(switch), _approved, "plan_digest"
)


@action(REQUEST)
def comment(request: HttpRequest, switch: Switch) -> str:
    """Field ``text``."""
    decisions.comment(user_of(request), switch, typed(request, "text"), address_of(request))
    return _("Your comment is in the log.")


@action(REQUEST)
def pause(request: HttpRequest, switch: Switch) -> str:
    operations.pause(user_of(request), switch, address_of(request))
    return _("It pauses when its checks hold, before any client waits.")


@action(REQUEST)
def resume(request: HttpRequest, switch: Switch) -> str:
    operations.resume(user_of(request), switch, handing_over.start_switch, address_of(request))
    return _("It resumes, with its checks first.")


@action(DECIDE)
def review(request: HttpRequest, switch: Switch) -> str:
    """Field ``reason``: what was found."""
    decisions.review(
        user_of(request), switch, typed(request, "reason"), address_of(request), browser_of(request)
    )
    return _("Your review is in the log.")


@action(REQUEST)
def abort(request: HttpRequest, switch: Switch) -> str:
    operations.abort(user_of(request), switch, address_of(request))
    return _("The switch returns to the start.")


@action(OPERATE)
def retry(request: HttpRequest, switch: Switch) -> str:
    operations.retry(user_of(request), switch, handing_over.start_switch, address_of(request))
    return _("The stage runs again.")


@action(FORCE)
def abandon(request: HttpRequest, switch: Switch) -> str:
    """Fields ``confirmed`` (the target's name) and ``reason``."""
    words = typed(request, "confirmed"), typed(request, "reason")
    lost_target.abandon(user_of(request), switch, *words, address_of(request))
    return _("It has ended. Ask for a forced switch now.")


@action(FORCE)
def rebuild(request: HttpRequest, switch: Switch) -> str:
    """Fields ``confirmed`` (the lost cluster's name) and ``reason``: what became of its unreplicated records."""
    words = typed(request, "confirmed"), typed(request, "reason")
    unreplicated.ask_to_rebuild(user_of(request), switch, *words, handing_over.rebuild, address_of(request))
    return _("The lost side is being rebuilt. You can watch the log.")


@action(OPERATE)
def postpone(request: HttpRequest, switch: Switch) -> str:
    """Fields ``days`` and ``reason``."""
    wanted = typed(request, "days")
    days = int(wanted) if wanted.isdecimal() and len(wanted) < 5 else 0
    reason = typed(request, "reason")
    retirement.postpone(user_of(request), switch, days, reason, address_of(request))
    return _("The removal of the old Topics is postponed.")


@action(OPERATE)
def keep(request: HttpRequest, switch: Switch) -> str:
    """Field ``reason``."""
    retirement.keep(user_of(request), switch, typed(request, "reason"), address_of(request))
    return _("The old Topics stay.")


@action(OPERATE)
def retire(request: HttpRequest, switch: Switch) -> str:
    """Field ``confirmed``: the old cluster's name."""
    confirmed = typed(request, "confirmed")
    retirement.retire_now(
        user_of(request), switch, confirmed, handing_over.start_removal, address_of(request)
    )
    return _("The old Topics are being removed.")


@action(OPERATE)
def close(request: HttpRequest, switch: Switch) -> str:
    """Field ``reason``."""
    operations.close_as_it_is(user_of(request), switch, typed(request, "reason"), address_of(request))
    return _("Closed. Everything stays as it is.")
