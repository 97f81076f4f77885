"""Rates and limits on real sockets: slowed down, refused, and nobody else harmed."""

import threading

from gossamer.wire import reasons
from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Pingreq, Pingresp, Publish
from tests.support.live import RawClient, live
from tests.support.polling import PATIENCE, eventually


def test_connects_per_address() -> None:
    text = "[[listener]]\nport = 0\n[rates]\nconnects_per_address = 0.001\nburst = 2000"
    with live(text) as broker:
        for _ in range(2):
            assert RawClient.to(broker.port()).login().reason == reasons.SUCCESS
        third = RawClient.to(broker.port())
        assert third.read() is None


def test_connections_per_address_are_given_back() -> None:
    text = "[[listener]]\nport = 0\n[limits]\nconnections_per_address = 1"
    with live(text) as broker:
        first = RawClient.to(broker.port())
        first.login()
        assert RawClient.to(broker.port()).read() is None
        first.close()

        def is_free() -> bool:
            client = RawClient.to(broker.port())
            try:
                client.send(b"\x10\x0d\x00\x04MQTT\x05\x02\x00\x00\x00\x00\x00")
                return client.read() is not None
            except ConnectionError:
                return False
            finally:
                client.close()

        eventually(is_free)


def test_no_room_is_told() -> None:
    with live("[[listener]]\nport = 0\n[limits]\nconnections = 1") as broker:
        first = RawClient.to(broker.port())
        assert first.login().reason == reasons.SUCCESS
        assert RawClient.to(broker.port()).login().reason == reasons.QUOTA_EXCEEDED


def test_a_publisher_over_its_rate_is_read_slower_and_loses_nothing() -> None:
    text = "[[listener]]\nport = 0\n[rates]\npublishes_per_client = 100\nburst = 0.1"
    with live(text) as broker:
        reader = RawClient.to(broker.port())
        reader.login(client_id="reader")
        reader.subscribe("t")
        flood = RawClient.to(broker.port())
        flood.login(client_id="flood")
        for number in range(40):
            flood.publish("t", str(number).encode())
        received = [reader.expect(Publish).payload for _ in range(40)]
        assert received == [str(number).encode() for number in range(40)]
        assert broker.ask(lambda: broker.broker.core.counters.dropped_slow) == 0


def test_a_flood_leaves_the_others_their_turns() -> None:
    with live() as broker:
        other = RawClient.to(broker.port())
        other.login(client_id="other")
        flood = RawClient.to(broker.port())
        flood.login(client_id="flood")
        chunk = encode(Publish("t", b"x" * 1000), V5) * 500  # more than a turn's work
        stop = threading.Event()

        def pour() -> None:
            while not stop.is_set():
                flood.send(chunk)

        pouring = threading.Thread(target=pour)
        pouring.start()
        for _ in range(20):
            other.send(Pingreq())
            other.expect(Pingresp)
        stop.set()
        pouring.join(PATIENCE)
        assert not pouring.is_alive()
