"""The wall clock is set while a broker runs, or is wrong when it starts: nobody is hurt."""

import random

import pytest

from gossamer.archive.collector import Collector
from gossamer.broker.restore import CLOCK_KEY, CLOCK_ROOM, LONGEST_PAUSE, resumed
from gossamer.session.message import Message
from gossamer.storage.memory_journal import MemoryJournal
from gossamer.wire.packets import V5, V311, Will
from tests.support.memory import World

DAY = 86_400.0
STEPS = [DAY, -DAY, 30 * 365 * DAY, -30 * 365 * DAY, 3.0, -3.0]


def step(world: World, seconds: float) -> None:
    """Somebody sets the wall clock; the time that the core is told goes on."""
    world.broker.clock_set(world.broker.core.wall_offset + seconds, world.now)


@pytest.mark.parametrize("seconds", STEPS)
@pytest.mark.parametrize("version", [V311, V5])
def test_keep_alive_takes_as_long_as_it_takes(version: int, seconds: float) -> None:
    world = World()
    client = world.client("c", version, keep_alive=10)
    step(world, seconds)
    world.wait(14.0)
    assert not client.is_closed
    world.wait(2.0)
    assert client.is_closed


@pytest.mark.parametrize("seconds", STEPS)
def test_sessions_wills_and_messages_end_when_they_should(seconds: float) -> None:
    world = World()
    reader = world.client("r")
    reader.subscribe("will")
    away = world.client("away", expiry=100, will=Will("will", b"gone", 0, False, None))
    away.connection.session.record.will_delay = 50  # type: ignore[union-attr]
    away.subscribe("t", qos=1)
    away.lose()
    world.client("w").publish("t", "x", qos=1, message_expiry=80)
    world.wait(10.0)
    step(world, seconds)
    world.wait(39.0)
    assert reader.payloads() == []
    world.wait(2.0)
    assert reader.payloads() == ["gone"]
    back = world.client("away", clean=False, expiry=100)
    assert back.connack.session_present
    [message] = back.messages()
    assert message.properties is not None
    assert message.properties.message_expiry == 29
    back.lose()
    world.wait(99.0)
    assert "away" in world.broker.core.sessions
    world.wait(2.0)
    assert "away" not in world.broker.core.sessions


@pytest.mark.parametrize("seconds", STEPS)
def test_a_step_is_survived_by_what_is_stored(seconds: float) -> None:
    """It is set while the broker runs; the next start goes on from the time that it had."""
    journal = MemoryJournal()
    journal.durable = False
    world = World(journal)
    world.client("c", expiry=1000).lose()
    world.client("w").publish("t", "kept", retain=True, message_expiry=1000)
    world.wait(100.0)
    step(world, seconds)
    wall = world.now + seconds
    world.broker.stop(world.now)
    journal.commit()
    again = journal.restarted()
    again.durable = False
    wall += 50.0
    found = resumed(again.snapshot.rooms[CLOCK_ROOM][CLOCK_KEY], 0.0, wall)
    assert found.complaint == ""
    assert found.now == pytest.approx(world.now + 50.0)
    later = World(again)
    later.now = found.now
    later.broker.restore(again.snapshot, later.now)
    assert "c" in later.broker.core.sessions
    later.wait(848.0)
    assert "c" in later.broker.core.sessions
    assert later.broker.core.retained.has("t")
    later.wait(62.0)
    assert "c" not in later.broker.core.sessions
    assert not later.broker.core.retained.has("t")


NOW = 1_700_000_000.0
KEPT = f"1;{NOW!r};{NOW + 5.0!r}".encode()


@pytest.mark.parametrize(
    ("kept", "written_at", "wall", "now", "complains"),
    [
        (None, 0.0, NOW, NOW, False),  # a new store
        (None, 0.0, 10.0, 10.0, False),
        (KEPT, 0.0, NOW + 105.0, NOW + 100.0, False),
        (KEPT, 0.0, NOW + LONGEST_PAUSE, NOW + LONGEST_PAUSE - 5.0, False),
        (KEPT, 0.0, NOW + 2.0, NOW, False),  # set back a little
        (KEPT, 0.0, NOW - 3600.0, NOW, True),
        (KEPT, 0.0, 0.0, NOW, True),  # 1970
        (KEPT, 0.0, 4_102_444_800.0, NOW, True),  # 2100
        (None, NOW, NOW + 60.0, NOW + 60.0, False),  # of a version that wrote no clock
        (None, NOW, 0.0, NOW, True),
        (None, NOW, 4_102_444_800.0, NOW, True),
        (b"9;what;ever", NOW, NOW + 60.0, NOW + 60.0, False),
        (b"\xff", NOW, NOW + 60.0, NOW + 60.0, False),
    ],
)
def test_what_time_it_is_after_a_restart(
    kept: bytes | None, written_at: float, wall: float, now: float, complains: bool
) -> None:
    found = resumed(kept, written_at, wall)
    assert found.now == now
    assert bool(found.complaint) == complains


# Windows ----------------------------------------------------------------------------------------

HOUR = 3600.0


def windowed(function: str = "COUNT") -> tuple[World, list[tuple[float, str]]]:
    """A world at the beginning of an hour, with a reader of hourly windows of topic `t`."""
    world = World()
    world.now = 1_000_000.0 * HOUR
    reader = world.client("r")
    reader.subscribe(f"$HOURLY{function}/t")
    fired: list[tuple[float, str]] = []
    advance = world.wait

    def wait(seconds: float) -> None:
        advance(seconds)
        for payload in reader.payloads():
            fired.append((world.now + world.broker.core.wall_offset, payload))

    world.wait = wait  # type: ignore[method-assign]
    return world, fired


def test_a_window_that_the_clock_jumps_over_ends_once() -> None:
    world, fired = windowed()
    writer = world.client("w")
    writer.publish("t", "1")
    world.wait(60.0)
    step(world, DAY)
    world.wait(1.0)
    assert [payload for _, payload in fired] == ["1"]
    writer.publish("t", "1")
    writer.publish("t", "1")
    world.wait(HOUR)
    assert [payload for _, payload in fired] == ["1", "2"]
    world.wait(2 * DAY)
    assert len(fired) == 2


def test_a_window_that_has_fired_is_not_opened_again() -> None:
    world, fired = windowed()
    writer = world.client("w")
    writer.publish("t", "1")
    world.wait(HOUR + 1.0)
    step(world, -10.0)
    writer.publish("t", "1")
    world.wait(30.0)
    assert len(fired) == 1
    writer.publish("t", "1")
    world.wait(HOUR)
    assert [payload for _, payload in fired] == ["1", "2"]


def test_a_clock_set_far_back_takes_the_open_window_along() -> None:
    world, fired = windowed()
    writer = world.client("w")
    writer.publish("t", "1")
    world.wait(60.0)
    step(world, -30 * DAY)
    writer.publish("t", "1")
    world.wait(HOUR)
    assert [payload for _, payload in fired] == ["2"]


@pytest.mark.parametrize("seed", range(20))
def test_every_value_is_counted_once_however_the_clock_is_set(seed: int) -> None:
    chance = random.Random(seed)
    world, fired = windowed()
    writer = world.client("w")
    published = 0
    for _ in range(300):
        what = chance.random()
        if what < 0.6:
            writer.publish("t", "1")
            published += 1
        elif what < 0.95:
            world.wait(chance.choice((1.0, 60.0, 1800.0, HOUR)))
        else:
            step(world, chance.choice((1.0, -1.0, 600.0, -600.0, DAY, -DAY, 3 * HOUR)))
    world.wait(3 * HOUR)
    assert sum(int(payload) for _, payload in fired) == published, f"seed {seed}"


@pytest.mark.parametrize("seed", range(10))
def test_no_window_fires_twice_when_the_clock_is_set_by_less_than_one(seed: int) -> None:
    """Told by the end at which it fires."""
    chance = random.Random(seed)
    world, fired = windowed()
    writer = world.client("w")
    for _ in range(400):
        what = chance.random()
        if what < 0.5:
            writer.publish("t", "1")
        elif what < 0.9:
            world.wait(chance.choice((1.0, 7.0, 60.0)))
        else:
            step(world, chance.choice((1.0, -1.0, 30.0, -30.0)))
            world.wait(0.0)
    ends = [round(at / HOUR) for at, _ in fired]
    assert len(set(ends)) == len(ends), f"seed {seed}"


def test_a_time_to_live_is_by_the_wall_clock() -> None:
    world = World()
    world.now = 1_000_000.0
    step(world, DAY)
    reader = world.client("r")
    reader.subscribe("$AVG/t/+")
    writer = world.client("w")
    # The wall clock shows 1,086,400: the 13th of January, 13:46:40.
    writer.publish("t/a", "1", user=[("plus_ttl", "1970-01-13T13:47:40Z")])
    writer.publish("t/b", "3", user=[("plus_ttl", "1970-01-13T13:46:00Z")])  # over already
    assert reader.payloads()[-1] == "1.0"
    world.wait(61.0)
    writer.publish("t/c", "5")
    assert reader.payloads() == ["5.0"]


def test_brokers_compare_times_that_no_wrong_clock_spoils() -> None:
    world = World()
    core = world.broker.core
    step(world, 70 * 365 * DAY)
    assert core.common_time(world.now) == world.now
    step(world, -70 * 365 * DAY - 100.0)
    assert core.common_time(world.now) == pytest.approx(world.now - 100.0)


def test_the_archive_has_the_time_of_the_world() -> None:
    world = World()
    step(world, DAY)
    archive = Collector()
    world.broker.begin_archiving(archive, ["#"])
    archive.append(b"t", b"x", 0, "c", "", world.now)
    [block] = archive.take()
    assert list(block.run_times) == [int((world.now + DAY) * 1e6)]


def test_messages_in_queues_expire_by_duration() -> None:
    world = World()
    message = Message("t", b"x", 1, False, None, world.now + 10.0, "", "")
    step(world, DAY)
    assert not message.is_expired(world.now + 9.0)
    assert message.is_expired(world.now + 10.0)
