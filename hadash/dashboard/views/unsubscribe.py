"""The page behind the link at the end of a mail. Nobody signs in for it: whoever has the link has got the mail."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from hadash.outbox import services
from hadash.outbox.models import Delivery


# Mailbox providers post to it by themselves (RFC 8058), and know no token of ours; the link itself is the secret.
@csrf_exempt
@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """GET asks (programs that look at links in mail open them); POST does it, and with ``again`` takes it
    back. A second click changes nothing.
    """
    delivery = Delivery.objects.select_related("content").filter(unsubscribe_token=token).first()
    if delivery is None or not delivery.topic:
        raise Http404(
            _("This link belongs to no mail that can be unsubscribed from; maybe that was too long ago.")
        )
    if request.method == "POST":
        if "again" in request.POST:
            services.subscribe_again(delivery.address, delivery.topic)
        else:
            services.unsubscribe(delivery)
    context = {"delivery": delivery, "without": services.is_unsubscribed(delivery)}
    return render(request, "outbox/unsubscribe.html", context)
