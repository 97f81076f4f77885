"""The protocol in bytes, over real sockets."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from gossamer.net.config.limits import Limits
from gossamer.wire.codec import encode
from gossamer.wire.packets import (
    V5,
    V311,
    Acknowledgement,
    Connect,
    Disconnect,
    Pingreq,
    Pingresp,
    Publish,
    Will,
)
from tests.support.live import RawClient
from tests.support.packet_bytes import properties, spelled
from tests.support.running_broker import running_gossamer

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with running_gossamer(Limits(packet_size=100_000)) as port:
        yield port


# Conversations: what a 3.1.1 client says, and the bytes it hears, in turn. `{n}` is a name that no
# other conversation has.
TALKS = {
    "MQTT-3.1.4-4 accepted": [("10 10 0004 'MQTT' 04 02 000a 0004 '{n}'", "20 02 00 00")],
    "MQTT-3.1.2-2 unacceptable level": [("10 10 0004 'MQTT' 09 02 000a 0004 '{n}'", "20 02 00 01")],
    "MQTT-3.1.3-8 no name to resume": [("10 0c 0004 'MQTT' 04 00 000a 0000", "20 02 00 02")],
    "MQTT-3.12.4-1 ping": [
        ("10 10 0004 'MQTT' 04 02 000a 0004 '{n}'", "20 02 00 00"),
        ("c0 00", "d0 00"),
    ],
    "MQTT-3.8.4-2 subscribe, MQTT-3.10.4-4 unsubscribe": [
        ("10 10 0004 'MQTT' 04 02 000a 0004 '{n}'", "20 02 00 00"),
        ("82 09 1234 0004 '{n}' 02", "90 03 1234 02"),
        ("82 0b 1235 0001 '+' 00 0002 'a#' 01", "90 04 1235 00 80"),
        ("a2 08 1236 0004 '{n}'", "b0 02 1236"),
        ("a2 08 1237 0004 '{n}'", "b0 02 1237"),
    ],
    "MQTT-4.3.1-1 QoS 0": [
        ("10 10 0004 'MQTT' 04 02 000a 0004 '{n}'", "20 02 00 00"),
        ("82 09 0001 0004 '{n}' 00", "90 03 0001 00"),
        ("30 09 0004 '{n}' 'abc'", "30 09 0004 '{n}' 'abc'"),
    ],
    "MQTT-4.3.2-2 QoS 1": [
        ("10 10 0004 'MQTT' 04 02 000a 0004 '{n}'", "20 02 00 00"),
        ("32 0b 0004 '{n}' 0102 'abc'", "40 02 0102"),
        ("3a 0b 0004 '{n}' 0102 'abc'", "40 02 0102"),
    ],
    "MQTT-4.3.3-2 QoS 2": [
        ("10 10 0004 'MQTT' 04 02 000a 0004 '{n}'", "20 02 00 00"),
        ("34 0b 0004 '{n}' 0102 'abc'", "50 02 0102"),
        ("3c 0b 0004 '{n}' 0102 'abc'", "50 02 0102"),
        ("62 02 0102", "70 02 0102"),
        ("62 02 0102", "70 02 0102"),
    ],
    "MQTT-3.3.1-8 retained": [
        ("10 10 0004 'MQTT' 04 02 000a 0004 '{n}'", "20 02 00 00"),
        ("33 0b 0004 '{n}' 0102 'abc'", "40 02 0102"),
        ("82 09 0001 0004 '{n}' 00", "90 03 0001 00 31 09 0004 '{n}' 'abc'"),
        ("31 06 0004 '{n}'", "30 06 0004 '{n}'"),
        ("82 09 0002 0004 '{n}' 00", "90 03 0002 00"),
    ],
    "MQTT 3.1 as 3.1.1": [("10 12 0006 'MQIsdp' 03 02 000a 0004 '{n}'", "20 02 00 00")],
}


def heard(raw: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = raw.recv(size - len(data))
        if not chunk:
            break
        data += chunk
    return data


@pytest.mark.parametrize("name", TALKS)
def test_conversations_to_the_byte(port: int, name: str) -> None:
    unique = f"{list(TALKS).index(name):04}"
    client = RawClient.to(port, V311)
    for says, hears in TALKS[name]:
        client.send(spelled(says.replace("{n}", unique)))
        expected = spelled(hears.replace("{n}", unique))
        assert heard(client.socket, len(expected)) == expected
    client.close()


def member(port: int, name: str, version: int = V5, **more: Any) -> RawClient:
    client = RawClient.to(port, version)
    assert client.login(client_id=name, **more).reason == 0
    return client


@pytest.mark.parametrize("version", [V311, V5])
def test_a_socket_that_closes_leaves_its_will(port: int, version: int) -> None:
    """[MQTT-3.1.2-8]"""
    watcher = member(port, f"watcher{version}")
    watcher.subscribe(f"will/{version}")
    member(port, f"leaver{version}", version, will=Will(f"will/{version}", b"gone")).close()
    assert watcher.expect(Publish).payload == b"gone"
    watcher.close()


@pytest.mark.parametrize("version", [V311, V5])
def test_the_broker_ends_a_silent_connection(port: int, version: int) -> None:
    """[MQTT-3.1.2-22], in 3.1.1 [MQTT-3.1.2-24]; a packet that never becomes whole is silence."""
    client = member(port, f"silent{version}", version, keep_alive=1)
    client.send(b"\x30\x50\x00\x01t")
    packet = client.read()
    if version == V5:
        assert isinstance(packet, Disconnect)
        assert packet.reason == 0x8D
        packet = client.read()
    assert packet is None


@pytest.mark.parametrize("version", [V311, V5])
def test_the_broker_closes_after_disconnect(port: int, version: int) -> None:
    """[MQTT-3.14.4-3]"""
    client = member(port, f"leaves{version}", version)
    client.send(Disconnect())
    assert client.read() is None


def test_a_client_that_sends_no_more_has_said_everything(port: int) -> None:
    client = member(port, "half")
    client.send(Publish("half", b"kept", 1, True, packet_id=1))
    client.socket.shutdown(socket.SHUT_WR)
    assert client.is_closed()
    reader = member(port, "half reader")
    reader.subscribe("half")
    assert reader.expect(Publish).payload == b"kept"
    reader.close()


def test_a_packet_over_the_maximum_is_answered_with_the_reason(port: int) -> None:
    """[MQTT-3.2.2-15]"""
    client = RawClient.to(port)
    answer = client.login(client_id="large")
    assert answer.properties is not None
    assert answer.properties.maximum_packet_size == 100_000
    client.send(Publish("t", b"x" * 99_000))
    client.send(Pingreq())
    client.expect(Pingresp)
    client.send(encode(Publish("t", b"x" * 100_000), V5)[:1000])
    assert client.expect(Disconnect).reason == 0x95
    assert client.read() is None


def test_a_takeover_is_told(port: int) -> None:
    """[MQTT-3.1.4-3]"""
    first = member(port, "same")
    second = member(port, "same")
    assert first.expect(Disconnect).reason == 0x8E
    assert first.read() is None
    second.send(Pingreq())
    second.expect(Pingresp)
    second.close()


def test_a_session_with_its_messages_is_resumed(port: int) -> None:
    """[MQTT-4.4.0-1]"""
    lasting = properties(session_expiry=600, receive_maximum=2)
    reader = member(port, "resumed", properties=lasting)
    reader.subscribe("resumed/#", qos=2)
    writer = member(port, "resumed writer")
    for number in range(4):
        qos = 1 + number % 2
        writer.publish("resumed/t", b"%d" % number, qos=qos, packet_id=number + 1)
        writer.expect(Acknowledgement)
    sent = [reader.expect(Publish) for _ in range(2)]
    reader.close()
    back = RawClient.to(port)
    answer = back.login(Connect("resumed", clean_start=False, properties=lasting))
    assert answer.session_present
    again = [back.expect(Publish) for _ in range(2)]
    assert [(m.packet_id, m.dup) for m in again] == [(m.packet_id, True) for m in sent]
    back.send(Acknowledgement(4, again[0].packet_id))
    third = back.expect(Publish)
    assert (third.payload, third.dup) == (b"2", False)
    back.close()
    writer.close()
