"""The application of :mod:`tasks.app` for Celery's own command: ``celery -A hadash worker``, ``celery -A hadash
beat``.
"""

from hadash import toplevel

toplevel.make_importable()

from tasks.app import app  # noqa: E402 (it can be imported from here on)

__all__ = ["app"]
