from django.apps import AppConfig


class MirroringConfig(AppConfig):
    name = "hadash.mirroring"
