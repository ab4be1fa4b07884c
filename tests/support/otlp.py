"""A collector of traces for tests: OpenTelemetry's protocol over HTTP, as its exporter speaks it."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Span:
    """``parent`` is empty for the first of a trace."""

    trace: str
    id: str
    parent: str
    service: str
    name: str
    #: Texts among them.
    attributes: dict[str, str] = field(default_factory=dict, hash=False)


@dataclass
class Collector:
    """What has come in."""

    spans: list[Span] = field(default_factory=list)
    url: str = ""

    def trace(self, id: str) -> list[Span]:
        return [span for span in self.spans if span.trace == id]

    def way(self, span: Span) -> list[Span]:
        """From the first of its trace to ``span``; shorter when not all have come in yet."""
        of = {each.id: each for each in self.trace(span.trace)}
        found = [span]
        while found[0].parent in of:
            found.insert(0, of[found[0].parent])
        return found

    def take(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            names = {each.key: each.value.string_value for each in resource.resource.attributes}
            for scope in resource.scope_spans:
                self.spans += [
                    Span(
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        names["service.name"],
                        span.name,
                        {each.key: each.value.string_value for each in span.attributes},
                    )
                    for span in scope.spans
                ]


@contextmanager
def collector() -> Iterator[Collector]:
    """Runs inside; ``url`` is what ``OTEL_EXPORTER_OTLP_ENDPOINT`` is set to."""
    found = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.take(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
