"""The Celery tasks: they only call the apps."""

from tasks.app import app

__all__ = ["app"]
