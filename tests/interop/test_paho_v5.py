"""What only MQTT 5.0 has, seen by paho-mqtt."""

import itertools
from typing import Any

import pytest
from paho.mqtt.packettypes import PacketTypes

from tests.support.paho_client import V5, Paho, connected, paho_properties

numbers = itertools.count()


@pytest.fixture
def root() -> str:
    return f"paho5/{next(numbers)}"


def test_properties_of_a_message_travel(port: int, root: str) -> None:
    pairs = [("a", "1"), ("b", "ü"), ("a", "2")]
    with connected(port) as client:
        client.subscribe(root, 1)
        client.publish(
            root,
            b"x",
            1,
            UserProperty=pairs,
            ContentType="text/plain",
            ResponseTopic="reply/here",
            CorrelationData=b"\0\1",
            PayloadFormatIndicator=1,
            MessageExpiryInterval=600,
        )
        properties: Any = client.take(1)[0].properties
        assert properties.UserProperty == pairs
        assert properties.ContentType == "text/plain"
        assert properties.ResponseTopic == "reply/here"
        assert properties.CorrelationData == b"\0\1"
        assert properties.PayloadFormatIndicator == 1
        assert 590 <= properties.MessageExpiryInterval <= 600


def test_retained_messages_keep_their_properties(port: int, root: str) -> None:
    with connected(port) as client:
        client.publish(root, b"x", 1, retain=True, UserProperty=[("k", "v")])
        client.subscribe(root)
        properties: Any = client.take(1)[0].properties
        assert properties.UserProperty == [("k", "v")]


def test_topic_aliases_towards_the_broker(port: int, root: str) -> None:
    with connected(port) as client:
        client.subscribe(f"{root}/#", 1)
        client.publish(f"{root}/a", b"1", 1, TopicAlias=1)
        client.publish("", b"2", 1, TopicAlias=1)
        client.publish(f"{root}/b", b"3", 1, TopicAlias=1)
        client.publish("", b"4", 0, TopicAlias=1)
        seen = [(message.topic[-1], message.payload) for message in client.take(4)]
        assert seen == [("a", b"1"), ("a", b"2"), ("b", b"3"), ("b", b"4")]


def test_subscription_identifiers_tell_why_a_message_came(port: int, root: str) -> None:
    with connected(port) as client:
        client.subscribe(f"{root}/a", identifier=5)
        client.subscribe(f"{root}/b", identifier=300)
        client.publish(f"{root}/a", b"")
        client.publish(f"{root}/b", b"")
        each: list[Any] = [message.properties for message in client.take(2)]
        found = [properties.SubscriptionIdentifier for properties in each]
        assert found == [[5], [300]]


def test_no_local_and_retain_as_published(port: int, root: str) -> None:
    with connected(port) as one, connected(port) as two:
        one.subscribe(f"{root}/quiet", noLocal=True)
        one.subscribe(f"{root}/kept", retainAsPublished=True)
        one.publish(f"{root}/quiet", b"own", 1)
        two.publish(f"{root}/quiet", b"other", 1)
        one.publish(f"{root}/kept", b"kept", 1, retain=True)
        messages = one.take(2)
        assert [(message.payload, message.retain) for message in messages] == [
            (b"other", False),
            (b"kept", True),
        ]


def test_retain_handling(port: int, root: str) -> None:
    with connected(port) as client:
        client.publish(root, b"kept", 1, retain=True)
        client.subscribe(root, retainHandling=2)
        client.publish(root, b"live", 1)
        assert client.take(1)[0].payload == b"live"
        client.subscribe(root, retainHandling=1)
        client.publish(root, b"live again", 1)
        assert client.take(1)[0].payload == b"live again"
        client.subscribe(root, retainHandling=0)
        assert client.take(1)[0].payload == b"kept"


def test_receive_maximum_holds_messages_back_without_loss(port: int, root: str) -> None:
    with connected(port, ReceiveMaximum=2) as slow, connected(port) as writer:
        slow.subscribe(root, 2)
        for number in range(100):
            writer.publish(root, b"%d" % number, 2)
        assert [message.payload for message in slow.take(100)] == [b"%d" % n for n in range(100)]


def test_a_delayed_will_is_not_sent_if_the_client_comes_back(port: int, root: str) -> None:
    name = f"delayed-{root.replace('/', '-')}"
    with connected(port) as watcher:
        watcher.subscribe(root, 1)
        client = Paho(port, name, clean=False, expiry=300)
        delay = paho_properties(PacketTypes.WILLMESSAGE, WillDelayInterval=300)
        client.client.will_set(root, b"never", 1, False, delay)
        client.connect()
        client.crash()
        with connected(port, name, clean=False, expiry=300) as back:
            assert back.session_present
        watcher.publish(root, b"end", 1)
        assert watcher.take(1)[0].payload == b"end"


def test_a_second_connection_takes_over(port: int, root: str) -> None:
    name = f"twice-{root.replace('/', '-')}"
    first = Paho(port, name)
    first.connect()
    with connected(port, name):
        assert first.wait_for("disconnected").value == 0x8E
    first.close()


def test_reason_codes_tell_what_happened(port: int, root: str) -> None:
    with connected(port) as client:
        assert client.unsubscribe(root) == [0x11]
        client.subscribe(root)
        assert client.unsubscribe(root) == [0]


def test_the_broker_names_a_client_that_has_no_name(port: int) -> None:
    with connected(port, version=V5) as one, connected(port, version=V5) as two:
        assert one.connack.AssignedClientIdentifier
        assert one.connack.AssignedClientIdentifier != two.connack.AssignedClientIdentifier
