from django.apps import AppConfig


class InventoryConfig(AppConfig):
    name = "hadash.inventory"

    def ready(self) -> None:
        from hadash.inventory import checks  # noqa: F401 (registers them)
