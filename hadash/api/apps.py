from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "hadash.api"

    def ready(self) -> None:
        from hadash.api import schema  # noqa: F401
