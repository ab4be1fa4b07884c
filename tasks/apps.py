from django.apps import AppConfig


class TasksConfig(AppConfig):
    """Makes Django import the package, and with it the Celery application, at startup: before any code can use
    Celery's default one.
    """

    name = "tasks"
