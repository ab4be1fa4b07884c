"""The user's own API tokens."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from hadash.accounts import tokens
from hadash.accounts.browser import browser_of
from hadash.accounts.models import ApiToken
from hadash.accounts.roles import SCOPES, pairs_where
from hadash.dashboard.forms import TokenForm
from hadash.dashboard.views.common import address_of, user_of
from hadash.sentences import Sentence


@require_http_methods(["GET", "POST"])
def own_tokens(request: HttpRequest) -> HttpResponse:
    """List the user's tokens. POST: issue one, with the fields of :class:`TokenForm`; the answer shows its secret,
    which is never shown again.
    """
    user = user_of(request)
    form = TokenForm(request.POST or None, pairs=pairs_where(user))
    if request.method == "GET" or not form.is_valid():
        return _page(request, form, status=200 if request.method == "GET" else 409)
    values = form.cleaned_data
    try:
        token, secret = tokens.issue(
            user,
            values["name"],
            values["scopes"],
            values["days"],
            values["pair"],
            address_of(request),
            browser_of(request),
        )
    except tokens.TokenRefused as refusal:
        return _page(request, form, [refusal.sentence], status=409)
    return _page(request, TokenForm(pairs=pairs_where(user)), secret=secret, issued=token)


@require_POST
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    found = ApiToken.objects.filter(user=user_of(request), pk=pk).first()
    if found is None:
        raise Http404(_("You have no such token."))
    tokens.revoke(user_of(request), found, address_of(request))
    messages.success(request, _("The token “%(name)s” does not work any more.") % {"name": found.name})
    return redirect("tokens")


def _page(
    request: HttpRequest,
    form: TokenForm,
    refusals: list[Sentence] | None = None,
    status: int = 200,
    secret: str = "",
    issued: ApiToken | None = None,
) -> HttpResponse:
    own = ApiToken.objects.filter(user=user_of(request)).select_related("pair")
    context = {
        "form": form,
        "tokens": own,
        "scopes": [scope for scope in SCOPES if scope != "read"],
        "refusals": refusals or [],
        "secret": secret,
        "issued": issued,
        "here": request.build_absolute_uri("/"),
    }
    response = render(request, "people/tokens.html", context, status=status)
    response["Cache-Control"] = "no-store"
    return response
