from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "hadash.accounts"

    def ready(self) -> None:
        from hadash.accounts import checks, journal  # noqa: F401
