"""A collector of OTLP over HTTP, on a real socket: keeps the spans that it is sent."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.polling import eventually

PATIENCE = 60.0


class Collector(ThreadingHTTPServer):
    """`spans` are those of opentelemetry's own message format, with the service's name."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spans: list[tuple[str, Any]] = []

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def await_spans(self, count: int) -> list[tuple[str, Any]]:
        eventually(lambda: len(self.spans) >= count, lambda: str(self.spans), PATIENCE)
        return self.spans


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceRequest,
        )

        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        assert isinstance(self.server, Collector)
        for told in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = told.resource.attributes[0].value.string_value
            for scope in told.scope_spans:
                self.server.spans += [(service, span) for span in scope.spans]
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing on the tests' output."""


@contextmanager
def running_collector() -> Iterator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        collector.shutdown()
        collector.server_close()
        thread.join(10)
