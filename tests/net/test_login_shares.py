"""Logins under a flood: no more are checked than may fail, and every address has its turn."""

import os
import sys
import threading
from collections import Counter, deque
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.broker.policy import Verdict
from gossamer.net.auth.backend import Attempt, Backend, Chain, refusal
from gossamer.net.auth.logins import LOWER_PRIORITY, FairQueue
from gossamer.net.auth.passwords import HASHER, write_entries
from gossamer.net.auth.scram import ScramClient, Verifier
from gossamer.wire import reasons
from gossamer.wire.packets import Auth, Connack, Connect
from gossamer.wire.properties import Properties
from tests.support.live import LiveBroker, RawClient, live
from tests.support.polling import PATIENCE, eventually

ATTACKER = "127.0.0.66"
FLOOD = 300
ALLOWED = 30


# The queue ------------------------------------------------------------------------------------


def test_addresses_take_turns_and_each_is_in_order() -> None:
    turns: FairQueue[str] = FairQueue(100)
    for item in ("a1", "a2", "a3", "b1", "c1", "c2"):
        assert turns.put(f"10.0.0.{ord(item[0])}", item) is None
    assert [turns.take() for _ in range(7)] == ["a1", "b1", "c1", "a2", "c2", "a3", None]


def test_the_longest_queue_gives_way_from_its_end() -> None:
    turns: FairQueue[str] = FairQueue(3)
    for item in ("a1", "a2", "a3"):
        assert turns.put("10.0.0.1", item) is None
    assert turns.put("10.0.0.1", "a4") == "a4"
    assert turns.put("10.0.0.2", "b1") == "a3"
    assert turns.put("10.0.0.2", "b2") == "b2"  # both would have as much as the other
    assert turns.put("10.0.0.3", "c1") == "a2"
    assert turns.put("10.0.0.4", "d1") == "d1"  # everybody has one
    assert [turns.take() for _ in range(4)] == ["a1", "b1", "c1", None]


def test_the_networks_of_ipv6_are_addresses() -> None:
    turns: FairQueue[int] = FairQueue(2)
    assert turns.put("2001:db8::1", 1) is None
    assert turns.put("2001:db8::2", 2) is None
    assert turns.put("2001:db9::1", 3) == 2


steps = st.lists(st.one_of(st.integers(0, 5), st.none()), max_size=200)


@given(steps, st.integers(0, 12))
def test_the_queue_against_a_model(steps: list[int | None], most: int) -> None:
    turns: FairQueue[tuple[int, int]] = FairQueue(most)
    model: dict[int, deque[tuple[int, int]]] = {}
    for number, address in enumerate(steps):
        if address is None:
            got = turns.take()
            if got is None:
                assert not any(model.values())
                continue
            assert model[got[0]].popleft() == got
            continue
        item = (address, number)
        gone = turns.put(f"10.0.0.{address}", item)
        model.setdefault(address, deque()).append(item)
        if gone is not None:
            assert len(model[gone[0]]) == max(len(queue) for queue in model.values())
            assert model[gone[0]].pop() == gone
        assert len(turns) == sum(len(queue) for queue in model.values()) <= most


# On sockets -----------------------------------------------------------------------------------


class Checking(Backend):
    """Lets one check through for each permit, and remembers what it was asked."""

    name = "checking"

    def __init__(self, permits: int) -> None:
        self.asked: list[str] = []
        self.permits = threading.Semaphore(permits)

    def check(self, attempt: Attempt) -> Verdict | None:
        self.asked.append(attempt.client_id)
        assert self.permits.acquire(timeout=PATIENCE)
        return Verdict(reasons.SUCCESS, "ann") if attempt.password == b"right" else refusal()


def install(broker: LiveBroker, backend: Backend) -> None:
    """In place of what is configured, and no time passes that earns new allowances."""
    logins = broker.listeners.logins
    for name in logins.rules.chains:
        logins.rules.chains[name] = Chain([backend], "never", proves_names=True)
    logins._clock = lambda: 0.0


def configured(**auth: int) -> str:
    lines = "".join(f"{key} = {value}\n" for key, value in auth.items())
    return (
        f"[[listener]]\nport = 0\n[limits]\nconnect_timeout = '2 min'\n[auth]\n{lines}"
        f"[rates]\nfailed_logins_per_minute = {ALLOWED}\n"
    )


def send_login(broker: LiveBroker, name: str, password: bytes, source: str) -> RawClient:
    client = RawClient.to(broker.port(), source=source)
    client.send(Connect(name, username="ann", password=password))
    return client


def test_of_a_flood_no_more_are_checked_than_may_fail() -> None:
    with live(configured()) as broker:
        backend = Checking(FLOOD)
        broker.ask(lambda: install(broker, backend))
        flood = [send_login(broker, str(number), b"wrong", ATTACKER) for number in range(FLOOD)]
        answers = Counter(client.expect(Connack).reason for client in flood)
        assert len(backend.asked) == ALLOWED
        assert answers == {
            reasons.BAD_USER_NAME_OR_PASSWORD: ALLOWED,
            reasons.CONNECTION_RATE_EXCEEDED: FLOOD - ALLOWED,
        }
        other = send_login(broker, "other", b"right", "127.0.0.7")
        assert other.expect(Connack).reason == reasons.SUCCESS


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priority of their own here")
def test_the_threads_that_check_give_way_to_the_loop() -> None:
    class Seen(Backend):
        name = "seen"

        def __init__(self) -> None:
            self.niceness: list[int] = []

        def check(self, attempt: Attempt) -> Verdict | None:
            self.niceness.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
            return Verdict()

    with live(configured()) as broker:
        seen = Seen()
        broker.ask(lambda: install(broker, seen))
        client = send_login(broker, "c", b"right", ATTACKER)
        assert client.expect(Connack).reason == reasons.SUCCESS
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert seen.niceness == [min(own + LOWER_PRIORITY, 19)]


def test_right_logins_at_once_cost_no_allowance() -> None:
    with live(configured()) as broker:
        backend = Checking(0)
        broker.ask(lambda: install(broker, backend))
        clients = [send_login(broker, str(n), b"right", "127.0.0.7") for n in range(3 * ALLOWED)]
        eventually(lambda: broker.ask(lambda: broker.listeners.logins.waiting) == 3 * ALLOWED - 2)
        backend.permits.release(3 * ALLOWED)
        for client in clients:
            assert client.expect(Connack).reason == reasons.SUCCESS


def test_a_login_from_another_address_does_not_wait_behind_a_flood() -> None:
    with live(configured(workers=1)) as broker:
        backend = Checking(0)
        broker.ask(lambda: install(broker, backend))
        flood = [send_login(broker, f"flood{n}", b"wrong", ATTACKER) for n in range(FLOOD)]
        eventually(lambda: broker.ask(lambda: broker.listeners.logins.waiting) == FLOOD - 1)
        other = send_login(broker, "other", b"right", "127.0.0.7")
        eventually(lambda: broker.ask(lambda: broker.listeners.logins.waiting) == FLOOD)
        backend.permits.release(3)
        assert other.expect(Connack).reason == reasons.SUCCESS
        assert backend.asked.index("other") <= 2
        backend.permits.release(FLOOD)
        for client in flood:
            client.expect(Connack)


def test_a_flood_that_fills_the_queue_pushes_out_itself() -> None:
    with live(configured(workers=1, waiting=11)) as broker:
        backend = Checking(0)
        broker.ask(lambda: install(broker, backend))
        flood = [send_login(broker, f"flood{n}", b"wrong", ATTACKER) for n in range(11)]
        eventually(lambda: broker.ask(lambda: broker.listeners.logins.waiting) == 10)
        late = send_login(broker, "late", b"wrong", ATTACKER)
        assert late.expect(Connack).reason == reasons.SERVER_BUSY
        other = send_login(broker, "other", b"right", "127.0.0.7")
        assert flood[-1].expect(Connack).reason == reasons.SERVER_BUSY
        backend.permits.release(12)
        assert other.expect(Connack).reason == reasons.SUCCESS
        for client in flood[:-1]:
            assert client.expect(Connack).reason == reasons.BAD_USER_NAME_OR_PASSWORD


def test_a_client_that_was_cut_off_meanwhile_is_not_checked() -> None:
    with live(configured(workers=1)) as broker:
        backend = Checking(0)
        broker.ask(lambda: install(broker, backend))
        first = send_login(broker, "first", b"right", "127.0.0.7")
        eventually(lambda: backend.asked == ["first"])
        gone = [send_login(broker, f"gone{n}", b"right", "127.0.0.7") for n in range(20)]
        eventually(lambda: broker.ask(lambda: broker.listeners.logins.waiting) == 20)
        connections = broker.broker.core.connections

        def cut() -> None:
            for connection in list(connections.values())[1:]:
                connection.outbox.sink.abort()

        broker.ask(cut)
        eventually(lambda: broker.ask(lambda: len(connections)) == 1)
        last = send_login(broker, "last", b"right", "127.0.0.7")
        backend.permits.release(2)
        for client in (first, last):
            assert client.expect(Connack).reason == reasons.SUCCESS
        assert backend.asked == ["first", "last"]
        assert all(client.is_closed() for client in gone)


def test_proofs_of_scram_that_come_at_once_are_counted_too(tmp_path: Path) -> None:
    file = tmp_path / "verifiers"
    write_entries(file, {"ann": str(Verifier.of("pencil", iterations=4096))})
    text = configured().replace("[auth]\n", f"[auth]\nscram_file = '{file}'\n")
    with live(text) as broker:
        broker.ask(lambda: setattr(broker.listeners.logins, "_clock", lambda: 0.0))
        under_way: list[tuple[RawClient, Auth]] = []
        for _ in range(ALLOWED + 5):
            wrong = ScramClient("ann", "crayon")
            client = RawClient.to(broker.port())
            properties = Properties()
            properties.authentication_method = "SCRAM-SHA-256"
            properties.authentication_data = wrong.first()
            client.send(Connect("c", properties=properties))
            challenge = client.expect(Auth)
            assert challenge.properties is not None
            assert challenge.properties.authentication_data is not None
            proof = Properties()
            proof.authentication_method = "SCRAM-SHA-256"
            proof.authentication_data = wrong.respond(challenge.properties.authentication_data)
            under_way.append((client, Auth(reasons.CONTINUE_AUTHENTICATION, proof)))
        answers: list[int] = []
        for client, answer in under_way:
            client.send(answer)
            answers.append(client.expect(Connack).reason)
        assert answers == [reasons.NOT_AUTHORIZED] * ALLOWED + (
            [reasons.CONNECTION_RATE_EXCEEDED] * 5
        )


def test_real_passwords_in_a_real_flood(tmp_path: Path) -> None:
    file = tmp_path / "passwords"
    write_entries(file, {"ann": HASHER.hash("right")})
    text = configured().replace("[auth]\n", f"[auth]\npassword_file = '{file}'\n")
    with live(text) as broker:
        broker.ask(lambda: setattr(broker.listeners.logins, "_clock", lambda: 0.0))
        flood = [send_login(broker, str(number), b"guess", ATTACKER) for number in range(100)]
        other = send_login(broker, "other", b"right", "127.0.0.7")
        assert other.expect(Connack).reason == reasons.SUCCESS
        answers = Counter(client.expect(Connack).reason for client in flood)
        assert answers[reasons.BAD_USER_NAME_OR_PASSWORD] == ALLOWED


def test_readers_of_the_archive_take_turns_with_everybody(tmp_path: Path) -> None:
    with live(configured(workers=1)) as broker:
        backend = Checking(0)
        broker.ask(lambda: install(broker, backend))
        flood = [send_login(broker, f"flood{n}", b"wrong", ATTACKER) for n in range(50)]
        eventually(lambda: broker.ask(lambda: broker.listeners.logins.waiting) == 49)
        name = broker.listeners.listeners[0].listener.name
        logins = broker.listeners.logins
        right = Attempt("reader", "ann", b"right", "127.0.0.7", name)
        asked = broker.start(logins.verdict(right))
        eventually(lambda: broker.ask(lambda: logins.waiting) == 50)
        backend.permits.release(3)
        assert asked.result(PATIENCE).reason == reasons.SUCCESS
        assert backend.asked.index("reader") <= 2
        unheard = broker.start(logins.verdict(right))
        eventually(lambda: broker.ask(lambda: logins.waiting) >= 40)
        broker.ask(logins.close)
        assert unheard.result(PATIENCE).reason == reasons.SERVER_UNAVAILABLE
        backend.permits.release(50)
        for client in flood:
            client.close()
