"""Time and roads: order, latency, bandwidth, loss, and times on a grid."""

from random import Random

from gossamer.sim.network import End, Party, Road, join
from gossamer.sim.timeline import Event, Timeline


class Note(Event):
    def __init__(self, name: str, log: list[tuple[float, str]]) -> None:
        self.name = name
        self.log = log

    def fire(self, now: float) -> None:
        self.log.append((now, self.name))


class Listener(Party):
    def __init__(self, timeline: Timeline) -> None:
        super().__init__(timeline)
        self.heard: list[tuple[float, bytes]] = []

    def arrive(self, at: float, end: End, data: bytes, publications: int, interests: int) -> None:
        self.heard.append((round(at, 6), data))


def joined(road: Road) -> tuple[End, Listener]:
    """An end to write to, and who hears it."""
    timeline = Timeline()
    listener = Listener(timeline)
    near, far = End(Party(timeline), road), End(listener, Road(0.0))
    join(near, far)
    return near, listener


def test_events_fire_by_time_and_then_in_the_order_they_were_added() -> None:
    timeline = Timeline()
    log: list[tuple[float, str]] = []
    for at, name in ((2.0, "late"), (1.0, "first"), (1.0, "second"), (3.0, "never")):
        timeline.add(at, Note(name, log))
    timeline.run(2.5)
    assert log == [(1.0, "first"), (1.0, "second"), (2.0, "late")]
    assert timeline.now == 2.5


def test_latency_and_bandwidth_add_up() -> None:
    near, listener = joined(Road(0.1, bandwidth=1000.0))
    near.write(bytes(500))
    near.write(bytes(100))
    near.owner.timeline.run(2.0)
    near.write(b"x")
    # The half second of the first trickles in, so that nobody takes a busy road for a dead one.
    assert [at for at, _ in listener.heard] == [0.35, 0.6, 0.7, 2.101]


def test_a_stalled_road_delivers_later_and_in_order() -> None:
    road = Road(0.1)
    near, listener = joined(road)
    near.write(b"1")
    road.stalled_until = 5.0
    near.write(b"2")
    road.stalled_until = 0.0
    near.write(b"3")
    assert listener.heard == [(0.1, b"1"), (5.0, b"2"), (5.0, b"3")]


def test_lost_segments_come_late_and_never_out_of_order() -> None:
    road = Road(0.1)
    road.loss = 0.3
    road.random = Random(1)
    near, listener = joined(road)
    for number in range(100):
        near.write(bytes([number]))
    times = [at for at, _ in listener.heard]
    assert [data[0] for _, data in listener.heard] == list(range(100))
    assert times == sorted(times)
    assert 0.3 <= times[-1] < 30.0


def test_times_on_a_grid_are_the_same_numbers() -> None:
    near, listener = joined(Road(0.0121, step=0.005))
    for number in range(50):
        near.owner.timeline.run(number * 0.005)
        near.write(b"x")
    assert [at for at, _ in listener.heard] == [
        round((number + 3) * 0.005, 6) for number in range(50)
    ]


def test_what_is_written_after_the_end_is_gone() -> None:
    near, listener = joined(Road(0.0))
    near.write(b"last")
    near.close()
    near.write(b"too late")
    assert [data for _, data in listener.heard] == [b"last", b""]
