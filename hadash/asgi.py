"""The ASGI application: ``uvicorn hadash.asgi:application``."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
application = get_asgi_application()

from hadash.starting import check_settings  # noqa: E402 (the checks need Django)

check_settings()
