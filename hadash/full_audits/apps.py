from django.apps import AppConfig


class FullAuditsConfig(AppConfig):
    name = "hadash.full_audits"
