from django.apps import AppConfig


class AuditorsConfig(AppConfig):
    name = "hadash.auditors"
