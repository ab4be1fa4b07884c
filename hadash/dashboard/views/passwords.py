"""The user's own password."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import authenticate, update_session_auth_hash
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from hadash.accounts import limits, passwords
from hadash.dashboard.forms import PasswordForm
from hadash.dashboard.views.common import address_of, user_of
from hadash.sentences import Sentence


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def own_password(request: HttpRequest) -> HttpResponse:
    """Change the user's own password. POST: the fields of :class:`PasswordForm`. All other sessions of the account
    end.
    """
    user = user_of(request)
    form = PasswordForm(request.POST or None)
    if request.method == "GET" or not form.is_valid() or not passwords.has_own(user):
        return _page(request, form, status=200 if request.method == "GET" else 409)

    # A refusal is caught inside: the transaction that counts a wrong password must not be rolled back.
    with limits.one_at_a_time(request, user.get_username()):
        refusal = _refusal(request, user, form)
    if refusal is not None:
        return _page(request, form, [refusal], 409)
    update_session_auth_hash(request, user)
    request.session.pop(passwords.MUST_CHANGE, None)
    messages.success(request, _("Your password is changed. You are signed out everywhere else."))
    return redirect("overview")


def _refusal(request: HttpRequest, user: User, form: PasswordForm) -> Sentence | None:
    """Change the password; return why it was refused, or ``None``."""

    def is_right(password: str) -> bool:
        return authenticate(request, username=user.get_username(), password=password) is not None

    values = form.cleaned_data
    try:
        passwords.change(user, values["present"], values["wanted"], is_right, address_of(request))
    except passwords.PasswordRefused as refused:
        return refused.sentence
    return None


def _page(
    request: HttpRequest, form: PasswordForm, refusals: list[Sentence] | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "form": form,
        "refusals": refusals or [],
        "has_own": passwords.has_own(user_of(request)),
        "first": bool(request.session.get(passwords.MUST_CHANGE)),
    }
    return render(request, "people/password.html", context, status=status)
