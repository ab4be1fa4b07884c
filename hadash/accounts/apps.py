from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AccountsConfig(AppConfig):
    name = "hadash.accounts"

    def ready(self) -> None:
        from hadash.accounts import checks, journal, passwords  # noqa: F401

        post_migrate.connect(_give_roles_their_permissions)


def _give_roles_their_permissions(sender: AppConfig, **kwargs: Any) -> None:
    """Update the roles after every upgrade. Django creates permissions app by app: after the last app all exist."""
    from django.apps import apps

    from hadash.accounts.roles import ensure_roles

    if sender == [config for config in apps.get_app_configs() if config.models_module is not None][-1]:
        ensure_roles()
