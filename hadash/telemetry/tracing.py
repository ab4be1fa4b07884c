"""Traces (OpenTelemetry): from a request over its task to each command of a stage. Off unless ``HADASH_TRACES`` is on.

Where they go, and how many, is said in OpenTelemetry's own variables (``OTEL_EXPORTER_OTLP_ENDPOINT``,
``OTEL_EXPORTER_OTLP_HEADERS``, ``OTEL_TRACES_SAMPLER``, ``OTEL_RESOURCE_ATTRIBUTES``, …):
https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. A collector that is away
costs spans, and nothing else: they are sent by a thread of their own, and dropped when too many wait.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hadash import VERSION

#: What a process calls itself (``service.name``), unless ``OTEL_SERVICE_NAME`` says otherwise.
WEB, WORKER, BEAT, GATEWAY = "hadash-web", "hadash-worker", "hadash-beat", "hadash-gateway"

_tracer: Any = None


def is_on() -> bool:
    return os.environ.get("HADASH_TRACES", "").strip().lower() in ("1", "true", "yes", "on")


def begin(service: str) -> bool:
    """Let this process make traces, if the setting says so; whether it does. To be called once, before it serves."""
    global _tracer
    if not is_on() or _tracer is not None:
        return _tracer is not None
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    own = {"service.name": os.environ.get("OTEL_SERVICE_NAME", service), "service.version": VERSION}
    provider = TracerProvider(resource=Resource.create(own))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    _tracer = trace.get_tracer("hadash", VERSION)
    return True


def trace_requests(told: Callable[[Any, Any], None]) -> None:
    """A span for each request of Django, child of the caller's (W3C ``traceparent``).

    :param told: changes what a span tells of its request: (span, request).
    """
    if _tracer is not None:
        from opentelemetry.instrumentation.django import DjangoInstrumentor

        # (After the health pages, which are asked under names that are none of ALLOWED_HOSTS.)
        DjangoInstrumentor().instrument(
            middleware_position=1,
            excluded_urls="healthz,readyz,metrics,static/.*",
            request_hook=told,
        )


def trace_tasks() -> None:
    """A span for each task that is handed over, and one for its execution, as children of whatever handed it over."""
    if _tracer is not None:
        from opentelemetry.instrumentation.celery import CeleryInstrumentor

        CeleryInstrumentor().instrument()


@contextmanager
def span(name: str, **attributes: str) -> Iterator[None]:
    """A part of what is going on; nothing at all where no traces are made.

    >>> with span("stage block", switch="sw-1"):
    ...     current()
    {}
    """
    if _tracer is None:
        yield
        return
    with _tracer.start_as_current_span(
        name, attributes={f"hadash.{key}": value for key, value in attributes.items()}
    ):
        yield


def current() -> dict[str, str]:
    """``trace`` and ``span`` as log lines name them; nothing where no traces are made."""
    if _tracer is None:
        return {}
    from opentelemetry import trace

    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace": f"{context.trace_id:032x}", "span": f"{context.span_id:016x}"}
