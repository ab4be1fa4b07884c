"""The Django app of notices."""

from __future__ import annotations

from django.apps import AppConfig


class NoticesConfig(AppConfig):
    name = "hadash.notices"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from hadash.notices import on_change

        on_change.connect()
