from django.apps import AppConfig


class InventoryConfig(AppConfig):
    name = "hadash.inventory"

    def ready(self) -> None:
        from hadash.inventory import checks, one_of  # noqa: F401 (registers them)
