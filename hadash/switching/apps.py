from django.apps import AppConfig


class SwitchingConfig(AppConfig):
    name = "hadash.switching"
