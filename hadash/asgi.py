"""The ASGI application: ``uvicorn hadash.asgi:application``."""

import gc
import os

from django.core.asgi import get_asgi_application

from hadash.monitoring import told
from hadash.telemetry import tracing

#: Objects more than were freed before a collection of the young, young ones before one of the middle-aged,
#: and these before one of all.
GC_THRESHOLDS = (50_000, 20, 50)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
os.environ.setdefault("HADASH_DATABASE_POOL", "30")
if tracing.begin(tracing.WEB):
    tracing.trace_requests(told.in_span)
    tracing.trace_tasks()  # those that a request hands over
application = get_asgi_application()

from hadash.starting import check_settings  # noqa: E402 (the checks need Django)

check_settings()

# What has been imported stays for as long as the process lives: no collection has to look at it again. And
# pages make tens of thousands of objects that are gone when they are sent: with Python's own thresholds each
# of them pays for several collections of all there is.
gc.collect()
gc.freeze()
gc.set_threshold(*GC_THRESHOLDS)
