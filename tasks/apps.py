from django.apps import AppConfig


class TasksConfig(AppConfig):
    """Django's start imports the package, and with it the Celery application: before anything else can ask Celery for
    one."""

    name = "tasks"
