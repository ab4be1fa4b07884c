from django.apps import AppConfig


class FullAuditsConfig(AppConfig):
    name = "hadash.full_audits"

    def ready(self) -> None:
        from hadash.full_audits import rebuilt

        rebuilt.connect()
