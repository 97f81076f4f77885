"""Logins on real sockets: passwords off the event loop, SCRAM, failures, takeover, time-outs."""

import asyncio
import threading
from pathlib import Path

from gossamer.broker.policy import Verdict
from gossamer.net.auth.backend import Attempt, Backend, Chain
from gossamer.net.auth.passwords import HASHER, write_entries
from gossamer.net.auth.scram import ScramClient, Verifier
from gossamer.net.client import Client
from gossamer.wire import reasons
from gossamer.wire.packets import V311, Auth, Connack, Connect, Pingreq, Pingresp
from gossamer.wire.properties import Properties
from tests.support.live import LiveBroker, RawClient, live
from tests.support.logs import log_of
from tests.support.polling import PATIENCE, eventually


def with_passwords(tmp_path: Path, **passwords: str) -> str:
    file = tmp_path / "passwords"
    write_entries(file, {user: HASHER.hash(word) for user, word in passwords.items()})
    return f'[[listener]]\nport = 0\n[auth]\npassword_file = "{file}"\n'


def test_passwords(tmp_path: Path) -> None:
    with live(with_passwords(tmp_path, ann="right")) as broker:
        for user, password, expected in [
            ("ann", b"right", reasons.SUCCESS),
            ("ann", b"wrong", reasons.BAD_USER_NAME_OR_PASSWORD),
            ("bob", b"right", reasons.BAD_USER_NAME_OR_PASSWORD),
            (None, None, reasons.NOT_AUTHORIZED),
        ]:
            client = RawClient.to(broker.port())
            answer = client.login(client_id="c", username=user, password=password)
            assert answer.reason == expected
        old = RawClient.to(broker.port(), V311)
        assert (
            old.login(client_id="c", username="ann", password=b"wrong").reason
            == reasons.BAD_USER_NAME_OR_PASSWORD
        )


class Waiting(Backend):
    """Answers when it is told to."""

    name = "waiting"

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.go_on = threading.Event()

    def check(self, attempt: Attempt) -> Verdict | None:
        self.asked.set()
        assert self.go_on.wait(PATIENCE)
        return Verdict(reasons.SUCCESS, attempt.user or "")


def install(broker: LiveBroker, backend: Backend) -> None:
    chains = broker.listeners.logins.rules.chains
    for name in chains:
        chains[name] = Chain([backend], "always", proves_names=True)


def test_a_slow_back_end_stops_nobody_else(tmp_path: Path) -> None:
    with live("[[listener]]\nport = 0\n[[listener]]\nport = 0\nhost = '127.0.0.2'") as broker:
        quick = RawClient.to(broker.port())
        quick.login(client_id="quick")
        backend = Waiting()
        broker.ask(lambda: install(broker, backend))
        slow = RawClient.to(broker.port())
        # What a client sends before it knows the answer is handled after it.
        slow.send(Connect("slow", username="ann"))
        slow.send(Pingreq())
        assert backend.asked.wait(PATIENCE)
        quick.send(Pingreq())
        quick.expect(Pingresp)
        backend.go_on.set()
        assert slow.expect(Connack).reason == reasons.SUCCESS
        slow.expect(Pingresp)


def test_a_client_that_leaves_before_the_verdict(tmp_path: Path) -> None:
    with live() as broker:
        backend = Waiting()
        broker.ask(lambda: install(broker, backend))
        client = RawClient.to(broker.port())
        client.send(Connect("gone", username="ann"))
        assert backend.asked.wait(PATIENCE)
        client.socket.shutdown(2)
        client.close()
        backend.go_on.set()
        other = RawClient.to(broker.port())
        assert other.login(client_id="here", username="bob").reason == reasons.SUCCESS
        eventually(lambda: broker.ask(lambda: len(broker.broker.core.connections)) == 1)


def test_too_many_waiting_logins_are_told_so() -> None:
    with live("[[listener]]\nport = 0\n[auth]\nwaiting = 1\nworkers = 1") as broker:
        backend = Waiting()
        broker.ask(lambda: install(broker, backend))
        first = RawClient.to(broker.port())
        first.send(Connect("1", username="ann"))
        assert backend.asked.wait(PATIENCE)
        second = RawClient.to(broker.port())
        assert second.login(client_id="2", username="ann").reason == reasons.SERVER_BUSY
        backend.go_on.set()
        assert first.expect(Connack).reason == reasons.SUCCESS


def test_failed_logins_make_an_address_wait(tmp_path: Path) -> None:
    text = with_passwords(tmp_path, ann="right") + "[rates]\nfailed_logins_per_minute = 3\n"
    with live(text) as broker:
        answers = []
        for _ in range(4):
            client = RawClient.to(broker.port())
            answers.append(client.login(client_id="c", username="ann", password=b"guess").reason)
        assert answers[:3] == [reasons.BAD_USER_NAME_OR_PASSWORD] * 3
        assert answers[3] == reasons.CONNECTION_RATE_EXCEEDED
        client = RawClient.to(broker.port())
        answer = client.login(client_id="c", username="ann", password=b"right")
        assert answer.reason == reasons.CONNECTION_RATE_EXCEEDED


def scram_listener(tmp_path: Path) -> str:
    file = tmp_path / "verifiers"
    write_entries(file, {"ann": str(Verifier.of("pencil", iterations=4096))})
    return f'[[listener]]\nport = 0\n[auth]\nscram_file = "{file}"\n'


def test_the_log_names_who_was_refused_and_never_the_password(tmp_path: Path) -> None:
    text = with_passwords(tmp_path, ann="right")
    with live(text) as broker, log_of("gossamer.net.auth.logins") as said:
        for user, word in (("ann", b"guess"), ("x" * 1000, b"guess"), ("ann", b"right")):
            client = RawClient.to(broker.port())
            client.login(client_id="c", username=user, password=word)
            client.close()
    where = "from 127.0.0.1 on tcp://127.0.0.1:0 refused: wrong user name or password"
    assert said == [
        f"login of client 'c', user 'ann' {where}",
        f"login of client 'c', user '{'x' * 64}' {where}",
    ]


def test_scram_and_again_on_a_live_connection(tmp_path: Path) -> None:
    async def main(port: int) -> None:
        url = f"mqtt://127.0.0.1:{port}"
        async with Client(url, client_id="c", authenticator=ScramClient("ann", "pencil")) as client:
            await client.reauthenticate()
            await client.publish("t", b"x", qos=1)

    with live(scram_listener(tmp_path)) as broker:
        asyncio.run(main(broker.port()))


def scram_connect(data: bytes, method: str = "SCRAM-SHA-256") -> Connect:
    properties = Properties()
    properties.authentication_method = method
    properties.authentication_data = data
    return Connect("c", properties=properties)


def test_refused_exchanges(tmp_path: Path) -> None:
    with live(scram_listener(tmp_path)) as broker:
        wrong = ScramClient("ann", "crayon")
        client = RawClient.to(broker.port())
        client.send(scram_connect(wrong.first()))
        challenge = client.expect(Auth)
        assert challenge.properties is not None
        assert challenge.properties.authentication_data is not None
        proof = Properties()
        proof.authentication_method = "SCRAM-SHA-256"
        proof.authentication_data = wrong.respond(challenge.properties.authentication_data)
        client.send(Auth(reasons.CONTINUE_AUTHENTICATION, proof))
        assert client.expect(Connack).reason == reasons.NOT_AUTHORIZED
        client = RawClient.to(broker.port())
        assert client.login(scram_connect(b"", "GS2-KRB5")).reason == (
            reasons.BAD_AUTHENTICATION_METHOD
        )
        client = RawClient.to(broker.port())
        assert client.login(client_id="c").reason == reasons.NOT_AUTHORIZED


def test_a_login_that_does_not_come_is_cut_off() -> None:
    text = '[limits]\nconnect_timeout = "200 ms"\n[[listener]]\nport = 0\n'
    text += '[[listener]]\nkind = "ws"\nport = 0'
    with live(text) as broker:
        for index in range(2):
            silent = RawClient.to(broker.port(index))
            assert silent.read() is None
        half = RawClient.to(broker.port())
        half.send(b"\x10\x20\x00")
        assert half.read() is None
        logged_in = RawClient.to(broker.port())
        logged_in.login(client_id="c")
        eventually(lambda: broker.ask(lambda: len(broker.broker.core.connections)) == 1)
        logged_in.send(Pingreq())
        logged_in.expect(Pingresp)
