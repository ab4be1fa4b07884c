"""Traces (OpenTelemetry): from a request over its task to each command of a stage. Off unless ``HADASH_TRACES``
is on.

OpenTelemetry's own variables set the destination and the sampling (``OTEL_EXPORTER_OTLP_ENDPOINT``,
``OTEL_EXPORTER_OTLP_HEADERS``, ``OTEL_TRACES_SAMPLER``, ``OTEL_RESOURCE_ATTRIBUTES``, …):
https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. When the collector is down
only spans are lost: a separate thread sends them, and drops them when too many wait.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hadash import VERSION

#: The names of the processes (``service.name``), unless ``OTEL_SERVICE_NAME`` is set.
WEB, WORKER, BEAT, GATEWAY = "hadash-web", "hadash-worker", "hadash-beat", "hadash-gateway"

_tracer: Any = None


def is_on() -> bool:
    """Return whether ``HADASH_TRACES`` turns traces on."""
    return os.environ.get("HADASH_TRACES", "").strip().lower() in ("1", "true", "yes", "on")


def begin(service: str) -> bool:
    """Start tracing in this process, if the setting says so; return whether it is on. Called once, before it
    serves.
    """
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
    """Trace each request of Django as a child of the caller's span (W3C ``traceparent``).

    :param told: called with (span, request) to change the span's attributes.
    """
    if _tracer is not None:
        from opentelemetry.instrumentation.django import DjangoInstrumentor

        # (After the middleware of the health pages, which are requested with host names outside ALLOWED_HOSTS.)
        DjangoInstrumentor().instrument(
            middleware_position=1,
            excluded_urls="healthz,readyz,metrics,static/.*",
            request_hook=told,
        )


def trace_tasks() -> None:
    """Trace the sending and the execution of each task, as children of the sender's span."""
    if _tracer is not None:
        from opentelemetry.instrumentation.celery import CeleryInstrumentor

        CeleryInstrumentor().instrument()


@contextmanager
def span(name: str, **attributes: str) -> Iterator[None]:
    """Trace a block as a span; does nothing when traces are off.

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
    """Return the ids ``trace`` and ``span`` for log lines; empty when traces are off."""
    if _tracer is None:
        return {}
    from opentelemetry import trace

    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace": f"{context.trace_id:032x}", "span": f"{context.span_id:016x}"}
