"""Addresses of the pages."""

from __future__ import annotations

from django.urls import path

from hadash.dashboard.views import (
    appids,
    audit,
    gateways,
    overview,
    provider,
    requests,
    rules,
    session,
    stream,
    switches,
)

urlpatterns = [
    path("", overview.overview, name="overview"),
    path("sign-in/", session.SignIn.as_view(), name="sign-in"),
    path("sign-in/oidc/", provider.ToProvider.as_view(), name="oidc-start"),
    path("sign-in/oidc/return/", provider.FromProvider.as_view(), name="oidc-return"),
    path("sign-out/", session.SignOut.as_view(), name="sign-out"),
    path("language/", session.set_language, name="set_language"),
    path("appids/", appids.appids, name="appids"),
    path("appids/<int:pk>/", appids.appid, name="appid"),
    path("appids/<int:pk>/instances/", appids.register_instance, name="register-instance"),
    path("switches/", switches.switches, name="switches"),
    path("switches/request/", requests.request_switch, name="request-switch"),
    path("switches/request/preview/", requests.preview, name="request-preview"),
    path("switches/<slug:key>/", switches.switch, name="switch"),
    path("switches/<slug:key>/state.json", switches.state_json, name="switch-state"),
    path("switches/<slug:key>/stream/", stream.stream, name="switch-stream"),
    path("switches/<slug:key>/approve/", switches.approve, name="approve"),
    path("switches/<slug:key>/decline/", switches.decline, name="decline"),
    path("switches/<slug:key>/cancel/", switches.cancel, name="cancel"),
    path("switches/<slug:key>/comment/", switches.comment, name="comment"),
    path("switches/<slug:key>/abort/", switches.abort, name="abort"),
    path("switches/<slug:key>/retry/", switches.retry, name="retry"),
    path("switches/<slug:key>/close/", switches.close, name="close"),
    path("pairs/<int:pk>/rules/", rules.rules, name="rules"),
    path("pairs/<int:pk>/blackouts/", rules.add_blackout, name="add-blackout"),
    path("blackouts/<int:pk>/end/", rules.end_blackout, name="end-blackout"),
    path("gateways/exclude/", gateways.exclude, name="exclude-gateway"),
    path("audit/", audit.audit, name="audit"),
    path("audit/export.jsonl", audit.export, name="audit-export"),
]
