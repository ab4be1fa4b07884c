"""The ASGI application: ``uvicorn hadash.asgi:application``."""

import gc
import os

from django.core.asgi import get_asgi_application

from hadash.monitoring import told
from hadash.telemetry import tracing

#: Thresholds of the garbage collector: allocations beyond deallocations before a collection of the youngest
#: generation, collections of that one before one of the middle generation, and those before a full one.
GC_THRESHOLDS = (50_000, 20, 50)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
os.environ.setdefault("HADASH_DATABASE_POOL", "30")
if tracing.begin(tracing.WEB):
    tracing.trace_requests(told.in_span)
    tracing.trace_tasks()  # those that a request hands over
application = get_asgi_application()

from hadash.starting import check_settings  # noqa: E402 (the checks need Django)

check_settings()

# Imported objects live as long as the process: no collection has to look at them again. Pages create tens of
# thousands of objects that are garbage once the page is sent: with Python's default thresholds each page pays
# for several full collections.
gc.collect()
gc.freeze()
gc.set_threshold(*GC_THRESHOLDS)
