"""What both versions of MQTT promise, seen by paho-mqtt."""

import itertools

import pytest
from paho.mqtt.enums import MQTTProtocolVersion

from tests.support.paho_client import V5, V311, VERSIONS, Paho, connected

each_version = pytest.mark.parametrize("version", VERSIONS)
numbers = itertools.count()


@pytest.fixture
def root() -> str:
    """A topic that no other test uses."""
    return f"paho/{next(numbers)}"


@each_version
@pytest.mark.parametrize("published", [0, 1, 2])
@pytest.mark.parametrize("granted", [0, 1, 2])
def test_a_message_comes_at_the_lower_quality(
    port: int, root: str, version: MQTTProtocolVersion, published: int, granted: int
) -> None:
    with connected(port, version=version) as client:
        assert client.subscribe(root, granted) == [granted]
        for number in range(5):
            client.publish(root, b"%d" % number, published)
        messages = client.take(5)
        assert [message.payload for message in messages] == [b"%d" % n for n in range(5)]
        assert {message.qos for message in messages} == {min(published, granted)}
        assert not any(message.dup or message.retain for message in messages)


@pytest.mark.parametrize(("sender", "receiver"), [*itertools.product(VERSIONS, VERSIONS)])
def test_the_versions_understand_each_other(
    port: int, root: str, sender: MQTTProtocolVersion, receiver: MQTTProtocolVersion
) -> None:
    with connected(port, version=receiver) as there, connected(port, version=sender) as here:
        there.subscribe(f"{root}/#", 2)
        for qos in (0, 1, 2):
            here.publish(f"{root}/{qos}", b"x", qos)
        assert [message.topic for message in there.take(3)] == [f"{root}/{n}" for n in range(3)]


@each_version
def test_a_retained_message_waits_is_replaced_and_is_removed(
    port: int, root: str, version: MQTTProtocolVersion
) -> None:
    with connected(port, version=version) as writer:
        writer.publish(root, b"old", 1, retain=True)
        writer.publish(root, b"new", 1, retain=True)
        with connected(port, version=version) as reader:
            reader.subscribe(root, 1)
            [message] = reader.take(1)
            assert (message.payload, message.retain) == (b"new", True)
        writer.publish(root, b"", 1, retain=True)
        with connected(port, version=version) as reader:
            reader.subscribe(root, 1)
            writer.publish(root, b"live", 1)
            [message] = reader.take(1)
            assert (message.payload, message.retain) == (b"live", False)


@each_version
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_will_is_published_after_a_crash_only(
    port: int, root: str, version: MQTTProtocolVersion, qos: int
) -> None:
    with connected(port, version=version) as watcher:
        watcher.subscribe(root, 2)
        polite = Paho(port, version=version, will=(root, b"not this", qos, False))
        polite.connect()
        polite.close()
        crashing = Paho(port, version=version, will=(root, b"gone", qos, True))
        crashing.connect()
        crashing.crash()
        [message] = watcher.take(1)
        assert (message.payload, message.qos) == (b"gone", qos)
    with connected(port, version=version) as late:
        late.subscribe(root)
        assert late.take(1)[0].retain


@each_version
def test_a_session_is_resumed_with_what_it_missed_in_order(
    port: int, root: str, version: MQTTProtocolVersion
) -> None:
    name = f"resume-{root.replace('/', '-')}"
    keep = {"clean": False, "expiry": 300 if version == V5 else 0}
    with connected(port, name, version, **keep) as client:
        assert not client.session_present
        client.subscribe(root, 2)
    with connected(port, version=version) as writer:
        for number in range(50):
            writer.publish(root, b"%d" % number, 1 + number % 2)
    with connected(port, name, version, **keep) as client:
        assert client.session_present
        messages = client.take(50)
        for qos in (1, 2):  # paho shows a QoS 2 message when it is released, so later
            came = [int(message.payload) for message in messages if message.qos == qos]
            assert came == list(range(qos - 1, 50, 2))
    with connected(port, name, version) as client:
        assert not client.session_present


@each_version
@pytest.mark.parametrize("qos", [0, 2])
def test_a_large_payload_arrives_whole(
    port: int, root: str, version: MQTTProtocolVersion, qos: int
) -> None:
    payload = bytes(range(256)) * 4_096
    with connected(port, version=version) as client:
        client.subscribe(root, 2)
        client.publish(root, payload, qos)
        assert client.take(1)[0].payload == payload


@each_version
def test_a_shared_group_gets_each_message_once(
    port: int, root: str, version: MQTTProtocolVersion
) -> None:
    with (
        connected(port, version=version) as one,
        connected(port, version=version) as two,
        connected(port, version=version) as whole,
        connected(port, version=version) as writer,
    ):
        for member in (one, two):
            assert member.subscribe(f"$share/group/{root}/+", 1) == [1]
        whole.subscribe(f"{root}/#", 1)
        sent = [b"%d" % number for number in range(40)]
        for payload in sent:
            writer.publish(f"{root}/x", payload, 1)
        assert [message.payload for message in whole.take(40)] == sent
        writer.publish(f"{root}/x", b"end", 1)
        writer.publish(f"{root}/x", b"end", 1)
        shares = [_until_end(one), _until_end(two)]
        assert sorted(shares[0] + shares[1]) == sorted(sent)
        assert all(shares)


def _until_end(client: Paho) -> list[bytes]:
    """Members take turns, so two ends in a row reach two members."""
    payloads: list[bytes] = []
    while (payload := client.take(1)[0].payload) != b"end":
        payloads.append(bytes(payload))
    return payloads


@each_version
def test_unsubscribing_ends_it(port: int, root: str, version: MQTTProtocolVersion) -> None:
    with connected(port, version=version) as client:
        client.subscribe(f"{root}/a")
        client.subscribe(f"{root}/b")
        client.unsubscribe(f"{root}/a")
        client.publish(f"{root}/a", b"unheard", 1)
        client.publish(f"{root}/b", b"heard", 1)
        assert client.take(1)[0].payload == b"heard"


def test_a_bad_filter_is_refused_and_the_rest_goes_on(port: int, root: str) -> None:
    with connected(port, version=V5) as client:
        assert client.subscribe(f"$share//{root}") == [0x8F]
        assert client.subscribe(root) == [0]
    with connected(port, version=V311) as client:
        assert client.subscribe("$share/g") == [0x80]
