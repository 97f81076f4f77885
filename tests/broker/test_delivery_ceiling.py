"""What memory holds for all clients together has a ceiling, and who is behind it loses nothing.

With a store what is too much waits there; without one the policy of full queues decides.
"""

from pathlib import Path
from typing import Any

import pytest

from gossamer.session.queue_policy import DROP_NEWEST, DROP_OLDEST, REFUSE
from gossamer.wire import reasons
from gossamer.wire.packets import PUBACK, V5, V311, Acknowledgement, Publish
from tests.support.disk_world import DiskWorld
from tests.support.memory import MemoryClient, World

BUDGET = 1 << 20
LARGE = "x" * 20_000
CLIENTS = 12
EACH = 20  # messages: together several times the budget


def small(**settings: Any) -> dict[str, Any]:
    budgets = dict(World().settings.budgets)
    budgets["deliveries"] = BUDGET
    return {"budgets": budgets, **settings}


def held(world: World) -> int:
    return world.broker.core.ledger.deliveries.held


def subscribers(world: World, version: int, qos: int = 1) -> list[MemoryClient]:
    options: dict[str, Any] = {"clean": False}
    if version == V5:
        options["expiry"] = 100_000
    found = [world.client(f"s{number}", version, **options) for number in range(CLIENTS)]
    for number, client in enumerate(found):
        client.subscribe(f"t/{number}", qos=qos)
    return found


def flood(world: World, writer: MemoryClient, qos: int = 1) -> None:
    for message in range(EACH):
        for number in range(CLIENTS):
            writer.publish(f"t/{number}", f"{message} {LARGE}", qos, packet_id=message + 1)
            assert held(world) <= BUDGET


def numbers(client: MemoryClient) -> list[int]:
    return [int(payload.split()[0]) for payload in client.payloads()]


@pytest.mark.parametrize("version", [V311, V5])
@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("is_away", [False, True])
def test_what_is_too_much_waits_in_the_store_and_comes_in_order(
    tmp_path: Path, version: int, qos: int, is_away: bool
) -> None:
    world = DiskWorld(tmp_path, **small())
    clients = subscribers(world, version, qos)
    if is_away:
        for client in clients:
            client.lose()
    flood(world, world.client("w"), qos)
    assert world.broker.core.counters.dropped_full == 0
    if is_away:
        clients = subscribers(world, version, qos)
    for client in clients:
        found = numbers(client)
        for _ in range(100):
            if len(found) == EACH:
                break
            world.wait(1.0)
            found += numbers(client)
        assert found == list(range(EACH))
        assert held(world) <= BUDGET
    world.wait(1.0)
    assert held(world) == 0
    world.close()


def test_nothing_of_it_is_lost_by_a_kill(tmp_path: Path) -> None:
    world = DiskWorld(tmp_path, **small())
    subscribers(world, V5)
    flood(world, world.client("w"))
    world.kill()
    found: dict[int, set[int]] = {}
    for number in range(CLIENTS):
        client = world.client(f"s{number}", clean=False, expiry=100_000)
        found[number] = set(numbers(client))
        for _ in range(100):
            if len(found[number]) == EACH:
                break
            world.wait(1.0)
            found[number] |= set(numbers(client))
    assert found == {number: set(range(EACH)) for number in range(CLIENTS)}
    assert held(world) == 0
    world.close()


@pytest.mark.parametrize("policy", [DROP_NEWEST, DROP_OLDEST])
def test_without_a_store_the_policy_decides(policy: int) -> None:
    world = World(**small(queue_policy=policy))
    clients = subscribers(world, V5)
    writer = world.client("w")
    flood(world, writer)
    core = world.broker.core
    assert core.counters.dropped_full > 0
    assert core.ledger.deliveries.refused > 0
    for client in clients:
        got = numbers(client)
        assert got == sorted(got)
    assert held(world) == 0
    writer.publish("t/0", f"{EACH} {LARGE}", 1, packet_id=EACH + 1)
    assert numbers(clients[0]) == [EACH]


def test_a_publisher_is_refused_where_that_is_the_policy() -> None:
    world = World(**small(queue_policy=REFUSE))
    subscribers(world, V5)
    writer = world.client("w")
    flood(world, writer)
    answers = [one.reason for one in writer.take() if isinstance(one, Acknowledgement)]
    assert len(answers) == EACH * CLIENTS
    assert set(answers) == {reasons.SUCCESS, reasons.QUOTA_EXCEEDED}
    assert held(world) <= BUDGET


def test_a_publisher_of_3_1_1_waits_until_there_is_room() -> None:
    world = World(**small(queue_policy=REFUSE))
    clients = subscribers(world, V5)
    flood(world, world.client("w"))
    writer = world.client("old", V311)
    writer.publish("t/0", f"{EACH} {LARGE}", 1, packet_id=1)
    assert not [one for one in writer.take() if isinstance(one, Acknowledgement)]
    for client in clients:
        client.payloads()
    world.wait(1.0)
    [answer] = [one for one in writer.take() if isinstance(one, Acknowledgement)]
    assert answer.kind == PUBACK


def test_a_message_for_all_counts_once() -> None:
    world = World(**small())
    clients = subscribers(world, V5)
    for client in clients:
        client.subscribe("all", qos=1)
    world.client("w").publish("all", "x" * 400_000, 1)
    assert world.broker.core.counters.dropped_full == 0
    assert held(world) < BUDGET
    for client in clients:
        [message] = client.messages()
        assert len(message.payload) == 400_000
    assert held(world) == 0


def test_who_acknowledges_is_served_however_full_it_is() -> None:
    world = World(**small())
    subscribers(world, V5)
    reader = world.client("r", clean=False, expiry=1000)
    reader.subscribe("news", qos=1)
    writer = world.client("w")
    flood(world, writer)
    for number in range(50):
        writer.publish("news", f"{number} " + "x" * 5_000, 1, packet_id=number + 1)
        assert numbers(reader) == [number]


def test_sessions_that_end_with_their_connection_are_sent_theirs_all_the_same() -> None:
    world = World(**small())
    subscribers(world, V5)
    reader = world.client("r")
    reader.subscribe("news", qos=1)
    writer = world.client("w")
    flood(world, writer)
    for number in range(50):
        writer.publish("news", f"{number} {LARGE}", 1, packet_id=number + 1)
    assert numbers(reader) == list(range(50))


def test_books_balance_when_sessions_are_discarded() -> None:
    world = World(**small())
    clients = subscribers(world, V5, 2)
    flood(world, world.client("w"), 2)
    for client in clients:
        for packet in client.take()[:3]:
            if isinstance(packet, Publish):
                client.send(Acknowledgement(5, packet.packet_id))  # PUBREC, and no more
    for number in range(CLIENTS):
        world.broker.disconnect(f"s{number}", world.now, discard=True)
    assert held(world) == 0
