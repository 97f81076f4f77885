"""A followed message: one span a broker, in the publisher's trace; nothing for all others."""

from importlib.util import find_spec

import pytest

from gossamer.net.config import Config
from gossamer.net.config.listeners import Listener
from gossamer.net.config.root import Trace
from gossamer.net.tracing import Spans
from tests.support.collector import running_collector
from tests.support.running_broker import running_listeners

pytestmark = pytest.mark.skipif(
    find_spec("opentelemetry.sdk") is None, reason="needs the extra trace"
)
TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
TRACE = f"00-{TRACE_ID}-{PARENT}-01"


def publish(port: int, properties: list[tuple[str, str]]) -> None:
    import paho.mqtt.client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    client = mqtt.Client(CallbackAPIVersion.VERSION2, "van7", protocol=mqtt.MQTTv5)
    client.connect("127.0.0.1", port)
    client.loop_start()
    said = Properties(PacketTypes.PUBLISH)
    if properties:
        said.UserProperty = properties
    client.publish("a/b", b"12345", qos=1, properties=said).wait_for_publish(30)
    client.disconnect()
    client.loop_stop()


def test_a_followed_publication_is_told_in_its_trace() -> None:
    with running_collector() as collector:
        config = Config(
            listener=(Listener(port=0),), trace=Trace(endpoint=collector.endpoint, service="hall")
        )
        with running_listeners(config) as ports:
            publish(ports[0], [])
            publish(ports[0], [("traceparent", "nonsense")])
            publish(ports[0], [("traceparent", TRACE)])
        spans = collector.await_spans(1)
    assert len(spans) == 1
    service, span = spans[0]
    assert service == "hall"
    assert span.name == "publish"
    assert span.trace_id.hex() == TRACE_ID
    assert span.parent_span_id.hex() == PARENT
    about = {each.key: each.value for each in span.attributes}
    assert about["messaging.destination.name"].string_value == "a/b"
    assert about["messaging.client.id"].string_value == "van7"
    assert about["messaging.message.body.size"].int_value == 5
    assert span.end_time_unix_nano >= span.start_time_unix_nano


def test_a_collector_that_is_away_holds_nobody_up() -> None:
    config = Config(listener=(Listener(port=0),), trace=Trace(endpoint="http://127.0.0.1:9"))
    with running_listeners(config) as ports:
        publish(ports[0], [("traceparent", TRACE)])


def test_spans_of_no_trace_are_not_sent() -> None:
    with running_collector() as collector:
        spans = Spans(collector.endpoint, "x")
        spans.tell("row", "", 0.0, {})
        spans.tell("row", TRACE, 0.0, {})
        spans.close()
        assert [span.name for _, span in collector.await_spans(1)] == ["row"]
