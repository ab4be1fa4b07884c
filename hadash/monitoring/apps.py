"""The Django app."""

from __future__ import annotations

from django.apps import AppConfig


class MonitoringConfig(AppConfig):
    name = "hadash.monitoring"

    def ready(self) -> None:
        from hadash.monitoring import checks, on_change  # noqa: F401 (its checks)

        on_change.connect()
