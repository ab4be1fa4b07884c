from __future__ import annotations

from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "hadash.reports"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from hadash.reports import on_change

        on_change.connect()
