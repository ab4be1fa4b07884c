from django.apps import AppConfig


class AuditorsConfig(AppConfig):
    name = "hadash.auditors"

    def ready(self) -> None:
        from hadash.auditors import cleanup

        cleanup.connect()
