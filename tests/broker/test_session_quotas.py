"""Sessions by user and by address: nobody uses them up, nobody loses one to a quota."""

import random
from collections import Counter

import pytest

from gossamer.wire import reasons
from gossamer.wire.packets import V5, V311
from tests.support.durable_world import DurableWorld
from tests.support.memory import MemoryClient, World


def attempt(
    world: World,
    name: str,
    user: str | None = None,
    expiry: int | None = None,
    clean: bool = False,
    version: int = V5,
    address: str = "127.0.0.1",
) -> MemoryClient:
    client = world.visitor(version, address)
    client.connect(name, clean=clean, expiry=expiry, user=user)
    return client


def reason(client: MemoryClient) -> int:
    return client.connack.reason


def test_one_user_cannot_use_up_all_sessions() -> None:
    world = World(max_sessions=10)
    for number in range(5):
        attempt(world, f"eve{number}", "eve", 1000).lose()
    full = attempt(world, "eve5", "eve", 1000)
    assert reason(full) == reasons.QUOTA_EXCEEDED
    assert full.connack.properties is not None
    assert full.connack.properties.reason_string is not None
    assert "limits.sessions_per_user" in full.connack.properties.reason_string
    assert reason(attempt(world, "eve5", "eve")) == reasons.QUOTA_EXCEEDED
    for number in range(5):
        assert reason(attempt(world, f"ann{number}", "ann", 1000)) == 0


def test_those_without_a_name_are_counted_by_address() -> None:
    world = World(max_sessions_per_user=3)
    for number in range(3):
        assert reason(attempt(world, f"a{number}", address="10.0.0.1")) == 0
    assert reason(attempt(world, "a3", address="10.0.0.1")) == reasons.QUOTA_EXCEEDED
    assert reason(attempt(world, "b", address="10.0.0.2")) == 0
    for number in range(3):
        assert reason(attempt(world, f"c{number}", address=f"2001:db8::{number}")) == 0
    assert reason(attempt(world, "c3", address="2001:db8::9")) == reasons.QUOTA_EXCEEDED
    assert reason(attempt(world, "named", "10.0.0.1", address="10.0.0.1")) == 0


def test_a_session_that_is_there_can_be_taken_up_again() -> None:
    world = World(max_sessions_per_user=1)
    attempt(world, "a", "ann", 1000).lose()
    back = attempt(world, "a", "ann", 1000)
    assert back.connack.session_present
    taken = attempt(world, "a", "ann", 1000)
    assert taken.connack.session_present
    assert reason(attempt(world, "a", "ann", 1000, clean=True)) == 0
    assert reason(attempt(world, "b", "ann")) == reasons.QUOTA_EXCEEDED


def test_what_ends_is_given_back() -> None:
    world = World(max_sessions_per_user=2, max_lasting_per_user=1)
    first, second = attempt(world, "a", "ann"), attempt(world, "b", "ann", 10)
    assert reason(attempt(world, "c", "ann")) == reasons.QUOTA_EXCEEDED
    first.lose()
    third = attempt(world, "c", "ann")
    assert reason(third) == 0
    third.disconnect()
    assert reason(attempt(world, "d", "ann", 10)) == reasons.QUOTA_EXCEEDED
    second.lose()
    world.wait(11)
    assert reason(attempt(world, "d", "ann", 10)) == 0


@pytest.mark.parametrize("version", [V5, V311])
def test_sessions_that_outlive_connections_have_a_quota_of_their_own(version: int) -> None:
    world = World(max_lasting_per_user=2)
    expiry = 1000 if version == V5 else None
    for number in range(2):
        attempt(world, f"a{number}", "ann", expiry, version=version).lose()
    refused = attempt(world, "a2", "ann", expiry, version=version)
    assert reason(refused) in (reasons.QUOTA_EXCEEDED, reasons.SERVER_UNAVAILABLE)
    passing = attempt(world, "a2", "ann", None, clean=True, version=version)
    assert reason(passing) == 0
    # The one that is there for its connection only cannot become one that lasts.
    again = attempt(world, "a2", "ann", expiry, version=version)
    assert reason(again) in (reasons.QUOTA_EXCEEDED, reasons.SERVER_UNAVAILABLE)
    assert attempt(world, "a0", "ann", expiry, version=version).connack.session_present


def test_a_session_that_stops_to_last_is_given_back() -> None:
    world = World(max_lasting_per_user=1)
    attempt(world, "a", "ann", 1000).lose()
    attempt(world, "a", "ann", 0)
    assert reason(attempt(world, "b", "ann", 1000)) == 0
    assert reason(attempt(world, "a", "ann", 1000)) == reasons.QUOTA_EXCEEDED


def test_the_count_is_the_same_after_a_restart() -> None:
    world = DurableWorld(max_sessions_per_user=2, max_lasting_per_user=2)
    for number in range(2):
        attempt(world, f"a{number}", "ann", 1000).lose()
    world.crash()
    assert reason(attempt(world, "a2", "ann", 1000)) == reasons.QUOTA_EXCEEDED
    assert attempt(world, "a1", "ann", 1000).connack.session_present


@pytest.mark.parametrize("seed", range(20))
def test_counts_against_all_sessions(seed: int) -> None:
    chance = random.Random(seed)
    world = World(max_sessions_per_user=4, max_lasting_per_user=2)
    clients: list[MemoryClient] = []
    for _ in range(400):
        step = chance.randrange(8)
        if step < 5 or not clients:
            name = f"c{chance.randrange(9)}"
            user = chance.choice(["ann", "bob", None])
            expiry = chance.choice([None, 0, 5, 50])
            client = attempt(
                world, name, user, expiry, chance.random() < 0.3, address=f"10.0.0.{step % 2}"
            )
            if reason(client) == 0:
                clients.append(client)
        elif step == 5:
            clients.pop(chance.randrange(len(clients))).lose()
        elif step == 6:
            client = clients.pop(chance.randrange(len(clients)))
            client.disconnect(expiry=chance.choice([None, 0]))
        else:
            world.wait(chance.choice([1, 10, 60]))
        sessions = world.broker.core.sessions.values()
        kept = Counter((one.owner.user, one.owner.user or one.owner.network) for one in sessions)
        lasting = Counter(
            (one.owner.user, one.owner.user or one.owner.network)
            for one in sessions
            if one.persistent
        )
        quotas = world.broker.core.session_quotas
        for one in sessions:
            key = (one.owner.user, one.owner.user or one.owner.network)
            assert quotas.kept(one.owner) == kept[key] <= 4
            assert quotas.lasting(one.owner) == lasting[key] <= 2
    for session in list(world.broker.core.sessions.values()):
        world.broker.disconnect(session.client_id, world.now, True)
    assert not world.broker.core.session_quotas._users
    assert not world.broker.core.session_quotas._addresses
