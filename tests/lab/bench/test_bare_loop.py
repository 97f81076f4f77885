"""The bare loop does what the scenario that it is the referee of needs of a broker."""

import threading

from gossamer_lab.bench.bare_loop import BareLoop, split
from gossamer_lab.bench.load import packets
from gossamer_lab.bench.load.client import LoadClient, close


def test_packets_of_a_chunk_are_told_apart() -> None:
    long = packets.publish("a", bytes(300))
    chunk = packets.connect("c") + long + packets.subscribe(1, ["a"], 0)
    assert [head for head, _ in split(chunk)] == [0x10, 0x30, 0x82]
    assert [body for _, body in split(long)] == [b"\x00\x01a" + bytes(300)]


def test_each_publisher_reaches_the_subscriber_of_its_topic() -> None:
    loop = BareLoop(0)
    threading.Thread(target=loop.run, daemon=True).start()
    address = ("127.0.0.1", loop.listening.getsockname()[1])
    pairs = []
    for topic in ("a", "b"):
        subscriber, publisher = LoadClient(address, "s"), LoadClient(address, "p")
        subscriber.subscribe([topic], 0)
        pairs.append((topic, subscriber, publisher))
    for number in range(3):
        for topic, subscriber, publisher in pairs:
            packet = packets.publish(topic, f"{topic}{number}".encode())
            publisher.socket.sendall(packet)
            assert subscriber.receive(len(packet)) == packet
    close([one for _, *clients in pairs for one in clients])
