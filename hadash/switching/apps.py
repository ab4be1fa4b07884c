from django.apps import AppConfig


class SwitchingConfig(AppConfig):
    name = "hadash.switching"

    def ready(self) -> None:
        from hadash.switching.retirement import receivers  # noqa: F401 (the import connects them)
