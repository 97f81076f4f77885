"""Each way to log in: what it accepts, what it refuses, and what it leaves to the next."""

import datetime
import textwrap
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from gossamer.broker.policy import Verdict
from gossamer.net.auth import from_config
from gossamer.net.auth.backend import Attempt, Backend, CertificateBackend, Chain
from gossamer.net.auth.passwords import (
    HASHER,
    PasswordBackend,
    check_user_name,
    load_passwords,
    write_entries,
)
from gossamer.net.auth.tokens import TokenBackend, load_key
from gossamer.net.config import ConfigError
from gossamer.net.config.auth import Jwt
from gossamer.wire import reasons

HASH = HASHER.hash("right")
SECRET = b"0123456789abcdef0123456789abcdef"


# Passwords ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("user", "password", "expected"),
    [
        ("ann", b"right", reasons.SUCCESS),
        ("ann", b"wrong", reasons.BAD_USER_NAME_OR_PASSWORD),
        ("ann", b"", reasons.BAD_USER_NAME_OR_PASSWORD),
        ("ann", b"x" * 5000, reasons.BAD_USER_NAME_OR_PASSWORD),
        ("ann", None, None),
        ("eve", b"right", None),
        (None, b"right", None),
        ("", b"", None),
    ],
)
def test_passwords(user: str | None, password: bytes | None, expected: int | None) -> None:
    verdict = PasswordBackend({"ann": HASH}).check(Attempt("c", user, password))
    assert (None if verdict is None else verdict.reason) == expected


def test_a_blank_line_in_the_password_file_is_nobody(tmp_path: Path) -> None:
    file = tmp_path / "passwords"
    file.write_text(f"\n  \nann:{HASH}\n\n")
    hashes = load_passwords(file)
    assert list(hashes) == ["ann"]
    assert PasswordBackend(hashes).check(Attempt("c", "", b"")) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ann", "line 1: must be user:$argon2id$"),
        ("\nann:", "line 2: must be"),
        (":" + HASH, "line 1: must be"),
        ("ann:secret", "line 1: must be"),
        (f"ann:{HASH}\nann:{HASH}", "line 2: ann is there twice"),
        ("ann:$argon2id$v=19$broken", "the hash of ann is damaged"),
    ],
)
def test_a_broken_password_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "passwords"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_passwords(file)
    assert said in str(caught.value)


def test_the_password_file_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "passwords"
    file.write_text("old")
    file.chmod(0o644)
    write_entries(file, {"ann": HASH, "bob": HASH})
    assert file.stat().st_mode & 0o777 == 0o600
    assert load_passwords(file) == {"ann": HASH, "bob": HASH}
    assert [path.name for path in tmp_path.iterdir()] == ["passwords"]


def test_a_group_that_may_read_the_password_file_may_read_the_next(tmp_path: Path) -> None:
    file = tmp_path / "passwords"
    write_entries(file, {"ann": HASH})
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o640)
    write_entries(file, {"ann": HASH, "bob": HASH})
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["", "a:b", " a", "a\n", "a\0b"])
def test_names_that_a_line_cannot_hold(name: str) -> None:
    with pytest.raises(ValueError, match="printable"):
        check_user_name(name)


# Certificates -------------------------------------------------------------------------------------


def test_certificates() -> None:
    backend = CertificateBackend()
    assert backend.check(Attempt("c", "ann", b"x")) is None
    for name, reason in [(None, 0), ("ann", 0), ("bob", reasons.BAD_USER_NAME_OR_PASSWORD)]:
        verdict = backend.check(Attempt("c", name, certificate_user="ann"))
        assert verdict is not None
        assert verdict.reason == reason


# Tokens -------------------------------------------------------------------------------------------


def claims(**changes: Any) -> dict[str, Any]:
    now = datetime.datetime.now(datetime.UTC)
    made = {"sub": "ann", "exp": now + datetime.timedelta(hours=1), "groups": ["operators"]}
    made.update(changes)
    return {key: value for key, value in made.items() if value is not None}


def settings(path: Path, algorithm: Any = "HS256", **more: Any) -> Jwt:
    return Jwt(key=path, algorithm=algorithm, **more)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_bytes(SECRET + b"\n")
    return file


def backend(options: Jwt) -> TokenBackend:
    return TokenBackend(options, load_key(options))


def test_a_token_names_the_user_and_the_groups(secret: Path) -> None:
    token = jwt.encode(claims(), SECRET, "HS256").encode()
    verdict = backend(settings(secret)).check(Attempt("c", None, token))
    assert verdict is not None
    assert (verdict.reason, verdict.user, verdict.groups) == (0, "ann", ["operators"])


LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
REFUSED_CLAIMS = [
    {"exp": LONG_AGO},
    {"exp": None},
    {"sub": None},
    {"sub": ""},
    {"sub": "bob"},
    {"groups": "operators"},
    {"nbf": datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC)},
]


@pytest.mark.parametrize("changes", REFUSED_CLAIMS)
def test_refused_tokens(secret: Path, changes: dict[str, Any]) -> None:
    token = jwt.encode(claims(**changes), SECRET, "HS256").encode()
    verdict = backend(settings(secret)).check(Attempt("c", "ann", token))
    assert verdict is not None
    assert verdict.reason == reasons.BAD_USER_NAME_OR_PASSWORD


def test_a_token_that_names_nobody_who_can_be_written_down_is_refused(secret: Path) -> None:
    """Half of a letter, which JSON can spell and UTF-8 cannot."""
    token = jwt.encode(claims(sub="a\ud800"), SECRET, "HS256").encode()
    verdict = backend(settings(secret)).check(Attempt("c", None, token))
    assert verdict is not None
    assert verdict.reason == reasons.BAD_USER_NAME_OR_PASSWORD


def test_a_token_never_chooses_its_algorithm(secret: Path) -> None:
    for token in (
        jwt.encode(claims(), "", "none"),
        jwt.encode(claims(), SECRET * 2, "HS512"),
        jwt.encode(claims(), SECRET[::-1], "HS256"),
    ):
        verdict = backend(settings(secret)).check(Attempt("c", None, token.encode()))
        assert verdict is not None
        assert verdict.reason == reasons.BAD_USER_NAME_OR_PASSWORD


def test_what_is_no_token_is_left_to_the_next(secret: Path) -> None:
    for password in (None, b"", b"password", b"a.b.c"):
        assert backend(settings(secret)).check(Attempt("c", "ann", password)) is None


def test_issuer_and_audience(secret: Path) -> None:
    options = settings(secret, issuer="us", audience="broker")
    for given, reason in [
        ({"iss": "us", "aud": "broker"}, 0),
        ({"iss": "us"}, reasons.BAD_USER_NAME_OR_PASSWORD),
        ({"iss": "them", "aud": "broker"}, reasons.BAD_USER_NAME_OR_PASSWORD),
    ]:
        token = jwt.encode(claims(**given), SECRET, "HS256").encode()
        verdict = backend(options).check(Attempt("c", None, token))
        assert verdict is not None
        assert verdict.reason == reason


def pem(key: Any) -> tuple[bytes, bytes]:
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private, public


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_public_keys(tmp_path: Path, algorithm: str) -> None:
    key = rsa.generate_private_key(65537, 2048) if algorithm == "RS256" else None
    private, public = pem(key or ec.generate_private_key(ec.SECP256R1()))
    file = tmp_path / "key.pem"
    file.write_bytes(public)
    checker = backend(settings(file, algorithm))
    token = jwt.encode(claims(), private, algorithm).encode()
    verdict = checker.check(Attempt("c", None, token))
    assert verdict is not None
    assert verdict.reason == 0
    # The public key, which everyone knows, used as the secret of another algorithm.
    forged = jwt.encode(claims(), b"x" * 32, "HS256").encode()
    verdict = checker.check(Attempt("c", None, forged))
    assert verdict is not None
    assert verdict.reason != 0
    file.write_bytes(private)
    with pytest.raises(ConfigError, match="private key"):
        backend(settings(file, algorithm))


def test_keys_that_do_not_fit(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_bytes(b"short")
    for algorithm in ("HS256", "RS256", "ES256"):
        with pytest.raises(ConfigError):
            backend(settings(file, algorithm))
    with pytest.raises(ConfigError, match="cannot be read"):
        backend(settings(tmp_path / "none"))


# Plug-ins and the chain ---------------------------------------------------------------------------


class Fixed(Backend):
    """Answers what it was told to; raises if that is an error."""

    name = "fixed"
    is_slow = False

    def __init__(self, answer: Verdict | Exception | None) -> None:
        self.answer = answer

    def check(self, attempt: Attempt) -> Verdict | None:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


YES = Verdict(reasons.SUCCESS, "ann")
NO = Verdict(reasons.BAD_USER_NAME_OR_PASSWORD)
ERROR = OSError("the directory is down")

CHAINS: list[tuple[list[Verdict | Exception | None], int]] = [
    ([YES], reasons.SUCCESS),
    ([None, YES], reasons.SUCCESS),
    ([NO, YES], reasons.BAD_USER_NAME_OR_PASSWORD),
    ([ERROR, YES], reasons.SERVER_UNAVAILABLE),
    ([None, ERROR], reasons.SERVER_UNAVAILABLE),
    ([None, None], reasons.BAD_USER_NAME_OR_PASSWORD),
]


@pytest.mark.parametrize(("answers", "expected"), CHAINS)
def test_the_first_opinion_decides_and_an_error_is_a_no(
    answers: list[Verdict | Exception | None], expected: int
) -> None:
    chain = Chain([Fixed(answer) for answer in answers], "always", proves_names=True)
    attempt = Attempt("c", "ann", b"x", address="127.0.0.1")
    assert chain.check(attempt).reason == expected
    quick = chain.check_quickly(attempt)
    assert quick is not None
    assert quick.reason == expected


@pytest.mark.parametrize(
    ("anonymous", "address", "is_in"),
    [
        ("never", "127.0.0.1", False),
        ("local", "127.0.0.1", True),
        ("local", "127.9.9.9", True),
        ("local", "::1", True),
        ("local", "::ffff:127.0.0.1", True),
        ("local", "", True),
        ("local", "10.0.0.1", False),
        ("local", "::ffff:10.0.0.1", False),
        ("always", "10.0.0.1", True),
    ],
)
def test_who_comes_without_a_name(anonymous: str, address: str, is_in: bool) -> None:
    verdict = Chain([], anonymous, proves_names=False).check(Attempt("c", address=address))
    assert (verdict.reason == reasons.SUCCESS) is is_in
    assert verdict.user == ""


def test_an_unproven_name_is_no_name() -> None:
    verdict = Chain([], "always", proves_names=False).check(Attempt("c", "admin", b"guess"))
    assert (verdict.reason, verdict.user) == (reasons.SUCCESS, "")


def test_a_wrong_password_does_not_become_anonymous() -> None:
    chain = Chain([Fixed(None)], "always", proves_names=True)
    assert chain.check(Attempt("c", "ann", b"wrong")).reason != reasons.SUCCESS
    assert chain.check(Attempt("c")).reason == reasons.SUCCESS


def test_a_slow_back_end_is_never_asked_from_the_event_loop() -> None:
    slow = Fixed(YES)
    slow.is_slow = True
    assert Chain([Fixed(None), slow], "never", True).check_quickly(Attempt("c", "ann")) is None


def make_fixed(options: dict[str, Any]) -> Backend:
    if options.get("fail"):
        raise RuntimeError("no address given")
    return Fixed(YES)


def make_nothing(options: dict[str, Any]) -> object:
    return options


def test_plugins_are_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"fixed": make_fixed, "nothing": make_nothing}

    class Stub(EntryPoint):
        def load(self) -> Any:
            return here[self.name]

    installed = EntryPoints(Stub(name, "x:y", from_config.GROUP) for name in here)
    monkeypatch.setattr(from_config, "entry_points", lambda **query: installed.select(**query))
    assert isinstance(from_config.load_plugin("fixed", {}), Fixed)
    for name, options, said in [
        ("ldap", {}, "ldap is not installed; installed are: fixed, nothing"),
        ("fixed", {"fail": True}, "does not start"),
        ("nothing", {}, "is not a gossamer"),
    ]:
        with pytest.raises(ConfigError) as caught:
            from_config.load_plugin(name, options)
        assert said in str(caught.value)


def test_the_plugin_of_the_guide_works_as_it_stands() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    start = guide.index("    from gossamer.broker.policy import Verdict\n")
    found: dict[str, Any] = {}
    exec(textwrap.dedent(guide[start : guide.index("The package registers it")]), found)
    directory = found["Directory"]({"known": {"ann": "sesame"}})
    right = directory.check(Attempt("c", "ann", b"sesame"))
    assert (right.reason, right.user, right.groups) == (0, "ann", ["operators"])
    assert directory.check(Attempt("c", "ann", b"guess")).reason != 0
    assert directory.check(Attempt("c")) is None
