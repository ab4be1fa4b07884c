from django.apps import AppConfig


class GovernanceConfig(AppConfig):
    name = "hadash.governance"
