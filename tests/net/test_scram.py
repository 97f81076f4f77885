"""SCRAM-SHA-256: the vectors of RFC 7677, both sides against each other, and every forgery."""

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.broker.policy import AuthStep
from gossamer.net.auth.scram import ScramClient, ScramExchange, Verifier, load_verifiers, saslprep
from gossamer.net.config import ConfigError
from gossamer.wire import reasons

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
NONCE = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
CHALLENGE = f"r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
PROOF = f"c=biws,r={NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="

VERIFIERS = {"user": Verifier.of("pencil", SALT, 4096)}


def server() -> ScramExchange:
    return ScramExchange(VERIFIERS, nonce="%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")


def reason(step: AuthStep) -> int | None:
    return None if step.verdict is None else step.verdict.reason


def test_the_vectors_of_the_standard() -> None:
    exchange = server()
    challenge = exchange.step(FIRST)
    assert (challenge.data, challenge.verdict) == (CHALLENGE, None)
    final = exchange.step(PROOF)
    assert final.data == FINAL
    assert final.verdict is not None
    assert (final.verdict.reason, final.verdict.user) == (reasons.SUCCESS, "user")
    client = ScramClient("user", "pencil", nonce="rOprNGfwEbeRWgbNEkqO")
    assert client.first() == FIRST
    assert client.respond(CHALLENGE) == PROOF
    client.verify(FINAL)


FIRST_REFUSED = [
    b"",
    b"n,,",
    b"n,,n=user",
    b"n,,r=abc,n=user",
    b"n,,n=user,r=",
    b"p=tls-unique,,n=user,r=abc",
    b"n,a=admin,n=user,r=abc",
    b"n,,m=ext,n=user,r=abc",
    b"n,,n=us=er,r=abc",
    b"n,,n=us\x07er,r=abc",
    b"\xff\xfe",
    b"n,,n=user,r=" + b"x" * 5000,
]


@pytest.mark.parametrize("message", FIRST_REFUSED)
def test_refused_first_messages(message: bytes) -> None:
    assert reason(server().step(message)) == reasons.NOT_AUTHORIZED


PROOF_REFUSED = [
    (b"c=biws", b"c=eSws"),
    (NONCE.encode(), b"other"),
    (b"p=dHz", b"p=dHy"),
    (b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", b""),
    (b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", b"p=AAAA"),
    (b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", b"p=!"),
]


@pytest.mark.parametrize("change", PROOF_REFUSED)
def test_refused_proofs(change: tuple[bytes, bytes]) -> None:
    exchange = server()
    exchange.step(FIRST)
    step = exchange.step(PROOF.replace(*change))
    assert reason(step) == reasons.NOT_AUTHORIZED
    assert step.data == b""


def run(user: str, password: str, verifiers: dict[str, Verifier]) -> int | None:
    exchange, client = ScramExchange(verifiers), ScramClient(user, password)
    challenge = exchange.step(client.first())
    if challenge.verdict is not None:
        return challenge.verdict.reason
    final = exchange.step(client.respond(challenge.data))
    if reason(final) == reasons.SUCCESS:
        client.verify(final.data)
    return reason(final)


@pytest.mark.parametrize("user", ["ann", "a,b=c", "Zoë", "I\u00adX"])
def test_both_sides(user: str) -> None:
    verifiers = {saslprep(user): Verifier.of("p\u00e4ss", iterations=4096)}
    assert run(user, "pa\u0308ss", verifiers) == reasons.SUCCESS
    assert run(user, "pass", verifiers) == reasons.NOT_AUTHORIZED


def test_a_user_who_is_not_there_looks_like_one_who_is() -> None:
    first = server().step(b"n,,n=nobody,r=abc").data
    again = server().step(b"n,,n=nobody,r=abc").data
    assert first == again
    assert first.startswith(b"r=abc%hv")
    assert run("nobody", "x", VERIFIERS) == reasons.NOT_AUTHORIZED


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_no_bytes_break_the_machine(first: bytes, second: bytes) -> None:
    exchange = server()
    for data in (b"n,,n=user,r=" + first, second, PROOF):
        if reason(exchange.step(data)) is not None:
            break


def test_a_client_does_not_trust_a_stranger() -> None:
    client = ScramClient("user", "pencil")
    client.first()
    for challenge in (b"r=other,s=AAAA,i=4096", b"nonsense", b"e=other-error"):
        with pytest.raises(ValueError, match="."):
            client.respond(challenge)
    first = client.first().decode()
    nonce = first.partition("r=")[2]
    for ending in ("", "x,s=AAAA,i=99999999", "x,s=AAAA,i=0"):
        with pytest.raises(ValueError, match="."):
            client.respond(f"r={nonce}{ending}".encode())
    with pytest.raises(ValueError, match="does not know"):
        client.verify(b"v=")


def test_the_verifier_file(tmp_path: Path) -> None:
    file = tmp_path / "verifiers"
    file.write_text(f"\nuser:{VERIFIERS['user']}\n")
    assert str(load_verifiers(file)["user"]) == str(VERIFIERS["user"])
    for broken in ("user:SCRAM-SHA-256$1:AAAA$AAAA:AAAA", "user:SCRAM-SHA-256$x", "user:pencil"):
        file.write_text(broken)
        with pytest.raises(ConfigError):
            load_verifiers(file)


@pytest.mark.parametrize(
    ("text", "prepared"),
    [("I\u00adX", "IX"), ("user", "user"), ("\u00aa", "a"), ("\u2168", "IX"), ("a\u00a0b", "a b")],
)
def test_saslprep_of_the_standard(text: str, prepared: str) -> None:
    assert saslprep(text) == prepared


@pytest.mark.parametrize("text", ["\u0007", "\u0627\u0031", "a\u0627"])
def test_what_saslprep_prohibits(text: str) -> None:
    with pytest.raises(ValueError, match="."):
        saslprep(text)
