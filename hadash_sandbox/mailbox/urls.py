"""Addresses of the demo's mailbox."""

from __future__ import annotations

from django.urls import path

from hadash_sandbox.mailbox import views

urlpatterns = [
    path("", views.mails, name="demo-mails"),
    path("<str:key>/", views.mails, name="demo-mail"),
    path("<str:key>/html/", views.html, name="demo-mail-html"),
    path("<str:key>/files/<int:number>/", views.attachment, name="demo-mail-file"),
]
