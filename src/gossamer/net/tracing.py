"""Spans for OpenTelemetry: one for each place that a followed message passes.

Needs the extra `trace`. Spans are sent by a thread of the SDK's own; what a collector that is away
cannot take is dropped there, and never waits here.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from gossamer.broker.ports import Tracer
from gossamer.net.clock import Clock
from gossamer.net.config.value_types import ConfigError
from gossamer.session.message import Message

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer as OpenTelemetryTracer

_NANOSECONDS: Final = 1_000_000_000
_WAY_OUT: Final = "traces need more packages: pip install 'gossamer[trace]'"


class Spans:
    """Sends spans that end as they are told of, to one collector."""

    def __init__(self, endpoint: str, service: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise ConfigError(_WAY_OUT) from error
        provider = TracerProvider(resource=Resource({"service.name": service}))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{endpoint}/v1/traces")))
        self._provider: TracerProvider = provider
        self._tracer: OpenTelemetryTracer = provider.get_tracer("gossamer")

    def tell(self, name: str, trace: str, started: float, about: dict[str, str | int]) -> None:
        """A span from `started` until now, below the publisher's; nothing if that is no trace."""
        from opentelemetry.trace.propagation import get_current_span
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        parent = TraceContextTextMapPropagator().extract({"traceparent": trace})
        if not get_current_span(parent).get_span_context().is_valid:
            return
        begun = int(started * _NANOSECONDS)
        span = self._tracer.start_span(name, parent, attributes=about, start_time=begun)
        span.end(max(begun, time.time_ns()))

    def close(self) -> None:
        """Sends what is left."""
        self._provider.shutdown()


class BrokerTracer(Tracer):
    """Tells of what a broker passes on."""

    def __init__(self, spans: Spans, clock: Clock) -> None:
        super().__init__()
        self.follows = True
        self._clock = clock
        self._spans = spans

    def published(
        self, trace: str, message: Message, by: str, is_peer: bool, receivers: int, now: float
    ) -> None:
        about: dict[str, str | int] = {
            "messaging.system": "mqtt",
            "messaging.destination.name": message.topic,
            "messaging.message.body.size": len(message.payload),
            "gossamer.qos": message.qos,
            "gossamer.link" if is_peer else "messaging.client.id": by,
            "gossamer.receivers": receivers,
        }
        begun = now + self._clock.offset
        self._spans.tell("link" if is_peer else "publish", trace, begun, about)
