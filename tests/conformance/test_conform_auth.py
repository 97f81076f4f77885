"""Enhanced authentication: sections 3.15 and 4.12."""

import pytest

from gossamer.broker.policy import Authenticator, AuthStep, Exchange, Origin, Verdict
from gossamer.wire.packets import V5, V311, Auth, Connack, Connect, Disconnect, Pingreq, Publish
from tests.support.conformance import GONE, clauses, ending, is_alive
from tests.support.memory import MemoryClient, World, properties
from tests.support.packet_bytes import spelled

METHOD = "counting"


class Counting(Exchange):
    """Asks for 1, 2 and 3 in turn; the user is `ann`."""

    def __init__(self) -> None:
        self._next = 1

    def step(self, data: bytes) -> AuthStep:
        if data != b"%d" % self._next:
            return AuthStep(b"", Verdict(0x87, text="wrong"))
        self._next += 1
        if self._next > 3:
            return AuthStep(b"done", Verdict(user="ann"))
        return AuthStep(b"%d?" % self._next)


class Logins(Authenticator):
    def begin_exchange(self, method: str, origin: Origin) -> Exchange | None:
        return Counting() if method == METHOD else None


@pytest.fixture(autouse=True)
def logins(world: World) -> None:
    world.broker.core.authenticator = Logins()


def auth(data: bytes, reason: int = 0x18, method: str | None = METHOD) -> Auth:
    return Auth(reason, properties(authentication_method=method, authentication_data=data))


def connect(data: bytes, method: str = METHOD, **more: object) -> Connect:
    return Connect(
        "c",
        properties=properties(authentication_method=method, authentication_data=data, **more),
    )


def logged_in(world: World) -> MemoryClient:
    client = world.visitor()
    client.send(connect(b"1"))
    client.send(auth(b"2"))
    client.take()
    client.send(auth(b"3"))
    (answer,) = client.take()
    assert isinstance(answer, Connack)
    assert answer.reason == 0
    assert answer.properties is not None
    assert answer.properties.authentication_method == METHOD
    assert answer.properties.authentication_data == b"done"
    return client


@clauses("4.12.0-2 4.12.0-5 3.15.2-1 3.2.0-1")
def test_a_login_in_steps(world: World, version: int) -> None:
    client = world.visitor(version)
    client.send(connect(b"1"))
    for data in (b"2", b"3"):
        (question,) = client.take()
        assert isinstance(question, Auth)
        assert question.reason == 0x18
        assert question.properties is not None
        assert question.properties.authentication_method == METHOD
        assert question.properties.authentication_data == data + b"?"
        client.send(auth(data))
    assert isinstance(client.take()[0], Connack)
    assert is_alive(client)


@clauses("4.12.0-1")
def test_a_method_that_is_not_there(world: World, version: int) -> None:
    client = world.visitor(version)
    client.send(connect(b"1", "magic"))
    (answer,) = client.take()
    assert isinstance(answer, Connack)
    assert answer.reason == 0x8C
    assert client.is_closed


@clauses("4.12.0-4")
@pytest.mark.parametrize("wrong_at", [1, 2, 3])
def test_a_login_may_fail_at_any_step(world: World, version: int, wrong_at: int) -> None:
    client = world.visitor(version)
    client.send(connect(b"1" if wrong_at != 1 else b"0"))
    for step in range(2, wrong_at + 1):
        client.send(auth(b"%d" % (step if step != wrong_at else 0)))
    answer = client.take()[-1]
    assert isinstance(answer, Connack)
    assert answer.reason == 0x87
    assert client.is_closed


BAD_STEPS = [
    pytest.param(auth(b"2", method="other"), 0x82, id="MQTT-4.12.0-5 another method"),
    pytest.param(Auth(0x18), 0x82, id="MQTT-4.12.0-5 no method"),
    pytest.param(auth(b"2", 0x19), 0x82, id="MQTT-4.12.0-3 re-authenticate"),
    pytest.param(auth(b"2", 0x00), 0x82, id="MQTT-4.12.0-3 success"),
    pytest.param(Pingreq(), 0x82, id="MQTT-3.1.2-30 PINGREQ"),
    pytest.param(Publish("t", b""), 0x82, id="MQTT-3.1.2-30 PUBLISH"),
    pytest.param(connect(b"1"), 0x82, id="MQTT-3.1.0-2 a second CONNECT"),
]


@pytest.mark.parametrize(("packet", "reason"), BAD_STEPS)
def test_what_does_not_belong_into_a_login(
    world: World, packet: Auth | Publish | Pingreq | Connect, reason: int
) -> None:
    client = world.visitor()
    client.send(connect(b"1"))
    client.take()
    client.send(packet)
    (answer,) = client.take()
    assert isinstance(answer, Connack)
    assert answer.reason == reason
    assert client.is_closed
    assert not world.broker.core.sessions


@clauses("3.1.2-30")
def test_a_client_may_give_up_its_login(world: World, version: int) -> None:
    client = world.visitor(version)
    client.send(connect(b"1"))
    client.take()
    client.send(Disconnect())
    assert ending(client) == GONE


@clauses("4.12.0-6")
def test_without_a_method_there_is_none(world: World, version: int) -> None:
    client = world.client("c", version)
    assert client.connack.properties is not None
    assert client.connack.properties.authentication_method is None


@clauses("4.12.0-7", v311="4.8.0-1")
@pytest.mark.parametrize("data", ["f0 00", "f0 02 18 00", "f0 02 19 00"])
def test_nor_may_the_client_begin_one(world: World, version: int, data: str) -> None:
    client = world.client("c", version)
    client.send_bytes(spelled(data))
    assert ending(client) == (0x82 if version == V5 else GONE)


@clauses("3.15.1-1")
@pytest.mark.parametrize("flags", [1, 2, 4, 8])
def test_auth_has_no_flags(world: World, version: int, flags: int) -> None:
    client = logged_in(world)
    client.send_bytes(bytes((0xF0 | flags, 0)))
    assert ending(client) == 0x81


@clauses("3.15.2-1")
@pytest.mark.parametrize("reason", [0x01, 0x17, 0x1A, 0x80])
def test_reasons_that_auth_has_not(world: World, version: int, reason: int) -> None:
    client = logged_in(world)
    client.send(auth(b"1", reason))
    assert ending(client) == 0x82


@clauses("4.12.1-1")
def test_authenticating_again(world: World, version: int) -> None:
    client = logged_in(world)
    client.send(auth(b"1", 0x19))
    assert is_alive(client)  # the connection goes on meanwhile
    client.send(auth(b"2"))
    client.take()
    client.send(auth(b"3"))
    (answer,) = client.take()
    assert isinstance(answer, Auth)
    assert answer.reason == 0
    assert answer.properties is not None
    assert answer.properties.authentication_method == METHOD
    assert is_alive(client)


@clauses("4.12.1-1")
def test_authenticating_again_by_another_method(world: World, version: int) -> None:
    client = logged_in(world)
    client.send(auth(b"1", 0x19, "other"))
    assert ending(client) == 0x82


@clauses("4.12.1-2")
def test_authenticating_again_in_vain(world: World, version: int) -> None:
    client = logged_in(world)
    client.send(auth(b"0", 0x19))
    assert ending(client) == 0x87


@clauses("3.15.2-2 3.15.2-3 3.1.2-24")
def test_auth_within_the_clients_maximum(world: World, version: int) -> None:
    client = world.visitor(version)
    client.send(connect(b"1", maximum_packet_size=12))
    (answer,) = client.take()
    assert isinstance(answer, Connack)
    assert answer.reason == 0x95


def test_311_has_no_auth(world: World) -> None:
    visitor = world.visitor(V311)
    visitor.send_bytes(spelled("f0 00"))
    assert ending(visitor) == GONE
