"""Addresses."""

from django.urls import include, path

urlpatterns = [
    path("api/v1/", include("hadash.api.urls")),
    path("", include("hadash.dashboard.urls")),
]
