"""Addresses."""

from django.urls import include, path

urlpatterns = [path("", include("hadash.dashboard.urls"))]
