"""Signing in and out with a local account, and the language."""

from __future__ import annotations

import math
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.views.i18n import set_language as django_set_language

from hadash.accounts import limits, oidc
from hadash.dashboard.views.provider import offer

#: People who are not signed in may choose a language, too.
set_language = login_not_required(django_set_language)


class SignIn(LoginView):
    template_name = "session/sign-in.html"
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"provider": SimpleLazyObject(offer)}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        # The page itself is rendered outside the lock: it may have to wait for the provider.
        with limits.one_at_a_time(request, request.POST.get("username", "")):
            return super().post(request, *args, **kwargs)


class SignOut(LogoutView):
    """Sign out, by POST only. It redirects to ``LOGOUT_REDIRECT_URL``, through the provider for a session that was
    begun there.
    """

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        elsewhere = oidc.end_session_address(request, request.build_absolute_uri(reverse("sign-in")))
        response = super().post(request, *args, **kwargs)
        return HttpResponseRedirect(elsewhere) if elsewhere else response


def locked(request: limits.Attempt, *details: Any) -> HttpResponse:
    """Answer 429 with the time to wait. django-axes' middleware calls this and replaces the view's answer."""
    username = (request.axes_credentials or {}).get("username")
    seconds = math.ceil(limits.waiting(request, username).total_seconds())
    everybody = limits.wait_for_address(request).total_seconds() > 0
    context = {"minutes": max(1, math.ceil(seconds / 60)), "username": username, "everybody": everybody}
    response = render(request, "session/locked.html", context, status=429)
    response["Retry-After"] = str(max(1, seconds))
    return response
