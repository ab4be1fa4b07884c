"""The ASGI application: ``uvicorn hadash.asgi:application``."""

import os

from django.core.asgi import get_asgi_application

from hadash.monitoring import told
from hadash.telemetry import tracing

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
os.environ.setdefault("HADASH_DATABASE_POOL", "30")
if tracing.begin(tracing.WEB):
    tracing.trace_requests(told.in_span)
    tracing.trace_tasks()  # those that a request hands over
application = get_asgi_application()

from hadash.starting import check_settings  # noqa: E402 (the checks need Django)

check_settings()
