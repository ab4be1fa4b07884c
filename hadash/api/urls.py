"""The addresses under ``/api/v1/``."""

from __future__ import annotations

from django.urls import path, re_path
from drf_spectacular.views import SpectacularJSONAPIView

from hadash.api.views import (
    appids,
    audits,
    batches,
    bindings,
    declarations,
    drafts,
    gateways,
    governance,
    handovers,
    pairs,
    people,
    pipeline,
    pools,
    switches,
)
from hadash.api.views.common import NoSuchAddress

app_name = "api"

urlpatterns = [
    path("openapi.json", SpectacularJSONAPIView.as_view(), name="openapi"),
    path("me/", people.Me.as_view(), name="me"),
    path("tokens/", people.Tokens.as_view(), name="tokens"),
    path("tokens/<int:pk>/", people.OneToken.as_view(), name="token"),
    path("people/", people.People.as_view(), name="people"),
    path("people/<str:username>/", people.OnePerson.as_view(), name="person"),
    path("people/<str:username>/roles/", people.Roles.as_view(), name="roles"),
    path("pairs/", pairs.Pairs.as_view(), name="pairs"),
    path("pairs/<slug:pair>/mirrors/", pairs.Mirrors.as_view(), name="mirrors"),
    path("pairs/<slug:pair>/mirrors/<slug:mirror>/audit/", audits.MirrorAudit.as_view(), name="mirror-audit"),
    path(
        "pairs/<slug:pair>/mirrors/<slug:mirror>/differences/",
        audits.Differences.as_view(),
        name="differences",
    ),
    path(
        "pairs/<slug:pair>/mirrors/<slug:mirror>/differences/accept/",
        audits.AcceptDifferences.as_view(),
        name="accept-differences",
    ),
    path(
        "pairs/<slug:pair>/mirrors/<slug:mirror>/full-audits/",
        audits.FullAudits.as_view(),
        name="full-audits",
    ),
    path(
        "pairs/<slug:pair>/mirrors/<slug:mirror>/full-audits/<int:number>/",
        audits.OneFullAudit.as_view(),
        name="full-audit",
    ),
    path(
        "pairs/<slug:pair>/mirrors/<slug:mirror>/full-audits/<int:number>/cancel/",
        audits.CancelFullAudit.as_view(),
        name="cancel-full-audit",
    ),
    path("pairs/<slug:pair>/rules/", pairs.Rules.as_view(), name="rules"),
    path("pairs/<slug:pair>/blackouts/", pairs.Blackouts.as_view(), name="blackouts"),
    path("pairs/<slug:pair>/blackouts/<int:pk>/", pairs.OneBlackout.as_view(), name="blackout"),
    path("pairs/<slug:pair>/declarations/", declarations.Declarations.as_view(), name="declarations"),
    path("pairs/<slug:pair>/declarations/import/", declarations.ImportFile.as_view(), name="import"),
    path("pairs/<slug:pair>/declarations/export/", declarations.ExportFile.as_view(), name="export"),
    path("appids/", appids.AppIDs.as_view(), name="appids"),
    path("appids/<int:pk>/", appids.OneAppID.as_view(), name="appid"),
    path("appids/<int:pk>/instances/", appids.Instances.as_view(), name="instances"),
    path("appids/<int:pk>/declarations/", declarations.Declare.as_view(), name="declare"),
    path("appids/<int:pk>/declarations/adopt/", declarations.Adopt.as_view(), name="adopt"),
    path(
        "appids/<int:pk>/declarations/<int:row>/", declarations.OneDeclaration.as_view(), name="declaration"
    ),
    path("appids/<int:pk>/instances/generate/", appids.Generate.as_view(), name="generate"),
    path("appids/<int:pk>/bindings/", appids.Bindings.as_view(), name="bindings"),
    path("appids/<int:pk>/access/", appids.Accesses.as_view(), name="access"),
    path("gateways/", gateways.Gateways.as_view(), name="gateways"),
    path("gateways/<str:gateway>/exclude/", gateways.Exclude.as_view(), name="exclude"),
    path("gateways/<str:gateway>/include/", gateways.Include.as_view(), name="include"),
    path("handovers/", handovers.Handovers.as_view(), name="handovers"),
    path("plans/", switches.Plans.as_view(), name="plans"),
    path("switches/", switches.Switches.as_view(), name="switches"),
    path("switches/<slug:key>/", switches.OneSwitch.as_view(), name="switch"),
    path("switches/<slug:key>/log/", switches.SwitchLog.as_view(), name="log"),
    *(
        path(f"switches/<slug:key>/{name}/", view.as_view(), name=name)
        for name, view in switches.ACTIONS.items()
    ),
    path("drafts/", drafts.Drafts.as_view(), name="drafts"),
    path("drafts/<int:pk>/", drafts.OneDraft.as_view(), name="draft"),
    path("binding-changes/", bindings.Changes.as_view(), name="binding-changes"),
    path("binding-changes/preview/", bindings.Preview.as_view(), name="binding-preview"),
    path("binding-changes/<slug:key>/", bindings.OneChange.as_view(), name="binding-change"),
    *(
        path(f"binding-changes/<slug:key>/{name}/", view.as_view(), name=f"{name}-change")
        for name, view in bindings.ACTIONS.items()
    ),
    path("pools/", pools.Pools.as_view(), name="pools"),
    path("pools/<str:pool>/", pools.OnePool.as_view(), name="pool"),
    path("pools/<str:pool>/steps/", pools.PoolSteps.as_view(), name="pool-steps"),
    path("pools/<str:pool>/changes/", pools.ChangePool.as_view(), name="change-pool"),
    path("pool-changes/", pools.PoolChanges.as_view(), name="pool-changes"),
    path("pool-changes/<slug:key>/", pools.OnePoolChange.as_view(), name="pool-change"),
    *(
        path(f"pool-changes/<slug:key>/{name}/", view.as_view(), name=f"{name}-pool-change")
        for name, view in pools.ACTIONS.items()
    ),
    path("batch-plans/", batches.BatchPlans.as_view(), name="batch-plans"),
    path("batches/", batches.Batches.as_view(), name="batches"),
    path("batches/<slug:key>/", batches.OneBatch.as_view(), name="batch"),
    path("batches/<slug:key>/items/", batches.BatchItems.as_view(), name="batch-items"),
    path("batches/<slug:key>/log/", batches.BatchLog.as_view(), name="batch-log"),
    *(
        path(f"batches/<slug:key>/{name}/", view.as_view(), name=f"batch-{name}")
        for name, view in batches.ACTIONS.items()
    ),
    path("findings/", governance.Findings.as_view(), name="findings"),
    path("findings/<int:pk>/", governance.OneFinding.as_view(), name="finding"),
    path("findings/<int:pk>/accept/", governance.Accept.as_view(), name="accept-finding"),
    path("findings/<int:pk>/withdraw/", governance.Withdraw.as_view(), name="withdraw-acceptance"),
    path("governance-rules/", governance.GovernanceRules.as_view(), name="governance-rules"),
    path("scores/", governance.Scores.as_view(), name="scores"),
    path("tables/coverage/over-time/", governance.CoverageOverTime.as_view(), name="coverage-over-time"),
    path("tables/<slug:name>/", governance.PublishedTable.as_view(), name="table"),
    path("jobs/", pipeline.Jobs.as_view(), name="jobs"),
    path("jobs/<slug:job>/", pipeline.OneJob.as_view(), name="job"),
    path("jobs/<slug:job>/run/", pipeline.RunNow.as_view(), name="run-job"),
    path("runs/", pipeline.Runs.as_view(), name="runs"),
    path("runs/<int:pk>/", pipeline.OneRun.as_view(), name="run"),
    path("runs/<int:pk>/changes/", pipeline.Changes.as_view(), name="compare-runs"),
    path("audit/", people.Audit.as_view(), name="audit"),
    re_path("", NoSuchAddress.as_view()),
]
