"""What waits for one client is bounded, in messages and in bytes."""

from tests.support.memory import World


def test_a_queue_is_bounded_in_bytes_too() -> None:
    world = World(max_queued_bytes=10_000)
    away = world.client("away", clean=False, expiry=1000)
    away.subscribe("t", qos=1)
    away.lose()
    writer = world.client("writer")
    for number in range(1, 21):
        writer.publish("t", "x" * 3000, qos=1, packet_id=number)
    assert world.broker.core.counters.dropped_full == 17
    back = world.client("away", clean=False, expiry=1000)
    assert len(back.messages()) == 3
    writer.publish("t", "x" * 9000, qos=1)
    assert len(back.messages()) == 1
