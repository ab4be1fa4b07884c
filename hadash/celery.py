"""For Celery's own command, ``celery -A hadash worker`` and ``celery -A hadash beat``: the application of
:mod:`tasks.app`.
"""

from hadash import toplevel

toplevel.make_importable()

from tasks.app import app  # noqa: E402 (it can be imported from here on)

__all__ = ["app"]
