"""The broker's counters as Prometheus metrics."""

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gossamer import __version__
from gossamer.broker.core import Core

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

# The counter's name in the core, the metric's, and what it says.
TOTALS: Final = (
    ("bytes_received", "bytes_received", "Bytes read from clients."),
    ("bytes_sent", "bytes_sent", "Bytes written to clients."),
    ("messages_received", "messages_received", "PUBLISH packets from clients."),
    ("messages_sent", "messages_sent", "PUBLISH packets to clients."),
    ("connections_accepted", "connections_accepted", "Logins that succeeded."),
    ("connections_refused", "connections_refused", "Logins that were refused."),
    ("dropped_full", "dropped_queue_full", "Messages that a full queue refused."),
    ("dropped_slow", "dropped_slow_subscriber", "QoS 0 messages to clients that did not read."),
    ("dropped_too_large", "dropped_too_large", "Messages over a receiver's maximum size."),
    ("expired", "messages_expired", "Messages whose time ran out."),
    ("protocol_errors", "protocol_errors", "Connections ended for breaking the protocol."),
    ("publications_refused", "publications_refused", "Publications that were not allowed."),
)
GAUGES: Final = (
    ("connections_open", "connections_open", "Connections, logged in or not."),
    ("sessions", "sessions", "Sessions, of clients connected or away."),
    ("subscriptions", "subscriptions", "Subscriptions of all sessions."),
    ("retained", "retained_messages", "Retained messages."),
)


class BrokerCollector(Collector):
    """Reads the counters when it is asked; nothing is counted twice."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def collect(self) -> Iterator[Metric]:
        counters = self._core.counters
        for attribute, name, text in TOTALS:
            yield CounterMetricFamily(f"gossamer_{name}", text, getattr(counters, attribute))
        for attribute, name, text in GAUGES:
            yield GaugeMetricFamily(f"gossamer_{name}", text, getattr(counters, attribute))
        started = self._core.started_at
        yield GaugeMetricFamily("gossamer_start_time_seconds", "When it was started.", started)
        about = GaugeMetricFamily("gossamer_build_info", "Its version.", labels=["version"])
        about.add_metric([__version__], 1)
        yield about


def exposition(core: Core) -> bytes:
    """What `/metrics` answers."""
    registry = CollectorRegistry()
    registry.register(BrokerCollector(core))
    return generate_latest(registry)
