"""The root URL configuration."""

from django.conf import settings
from django.urls import include, path

urlpatterns = [
    path("api/v1/", include("hadash.api.urls")),
    path("", include("hadash.dashboard.urls")),
]

if settings.DEMO_MAIL:
    urlpatterns.append(path("demo/mail/", include("hadash_sandbox.mailbox.urls")))
