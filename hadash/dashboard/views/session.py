"""Signing in and out, and the language."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.views.i18n import set_language as django_set_language

#: Who is not signed in chooses a language too.
set_language = login_not_required(django_set_language)


class SignIn(LoginView):
    template_name = "session/sign-in.html"
    redirect_authenticated_user = True


class SignOut(LogoutView):
    """By POST only; goes to ``LOGOUT_REDIRECT_URL``."""
