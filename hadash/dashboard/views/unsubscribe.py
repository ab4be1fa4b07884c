"""The page behind the link at the end of a mail. It needs no sign-in: a person with the link has received the mail."""

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


# Mailbox providers POST to it by themselves (RFC 8058) without a CSRF token; the link itself is the secret.
@csrf_exempt
@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """Unsubscribe an address. GET only asks, as mail scanners open links; POST unsubscribes, or with ``again``
    subscribes again. Idempotent.
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
