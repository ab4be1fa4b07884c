"""Celery: thin tasks that call the apps."""

from tasks.app import app

__all__ = ["app"]
