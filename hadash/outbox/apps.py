from __future__ import annotations

from django.apps import AppConfig


class OutboxConfig(AppConfig):
    name = "hadash.outbox"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from hadash.outbox import checks  # noqa: F401 (registers the checks of the settings)
