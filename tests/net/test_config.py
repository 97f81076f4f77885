"""The configuration: defaults, and errors that name the key, the value and what is allowed."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.broker.settings import Settings
from gossamer.net.config import Config, ConfigError, load, parse
from gossamer.net.config.limits import Limits
from gossamer.net.config.reporting import in_force, reference, warnings
from gossamer.net.config.section import Section
from gossamer.net.resolved_config import LIMIT_KEYS

TLS = '[listener.tls]\ncertificate = "c.pem"\nkey = "k.pem"\n'

WRONG = [
    ("[limits]\npacket_size = 1", "limits.packet_size = 1: must be a number of bytes"),
    ("[limits]\npacket_size = 1", "at least 128 and at most 268435460"),
    (
        "[limits]\nqueue_mesages = 1",
        "limits.queue_mesages: unknown key; did you mean queue_messages?",
    ),
    ("[limits]\nzzz = 1", "limits.zzz: unknown key; known keys: connections, "),
    ("[limit]\nsubscriptions = 1", "limit: unknown key; did you mean limits?"),
    ("[limits]\nsubscriptions = 0", "limits.subscriptions = 0: must be a whole number, at least 1"),
    ('[limits]\nconnect_timeout = "3 parsecs"', 'connect_timeout = "3 parsecs": must be a number'),
    ("[limits]\nconnect_timeout = 0", "more than 0"),
    ('[store]\nsync = "maybe"', 'store.sync = "maybe": must be one of "full", "normal", "off"'),
    ("[admin]\nport = 65536", "admin.port = 65536: must be 0 (any free port) to 65535"),
    ("[admin]\nenabled = 3", "admin.enabled = 3: must be true or false"),
    ('[auth.jwt]\nkey = "k"', 'auth.jwt.algorithm: missing; it must be one of "HS256"'),
    ('[auth.jwt]\nkey = "k"\nalgorithm = "none"', 'auth.jwt.algorithm = "none": must be one of'),
    ('[[listener]]\nkind = "tsl"', 'listener[1].kind = "tsl": must be one of "tcp", "tls"'),
    ("[[listener]]\n[[listener]]\nport = -1", "listener[2].port = -1: must be"),
    ('[[listener]]\nkind = "tls"', "listener[1]: a listener of kind tls needs [listener.tls]"),
    ("[[listener]]\n" + TLS, "listener[1]: a listener of kind tcp has no [listener.tls]"),
    ('[[listener]]\nkind = "unix"', "needs the key socket"),
    ('[[listener]]\nsocket = "s"', "has no key socket"),
    (
        '[[listener]]\nkind = "tls"\n' + TLS + 'client_certificate = "required"',
        "needs tls.client_ca",
    ),
    (
        '[[listener]]\nproxies = ["near"]',
        'listener[1].proxies[1] = "near": must be a list, each an address',
    ),
    ('[[listener]]\npath = "mqtt"', 'must be a path such as "/mqtt"'),
    ("[[listener]]\n[listener.limits]\nsubscriptions = 0", "listener[1].limits.subscriptions = 0"),
    ('[[listener]]\nauth = ["certificate"]', "auth names certificate, which needs"),
    ("[listener]\nport = 1883", "listener: there may be several of it: write [[listener]]"),
    ('[mesh]\nname = "a b"', 'mesh.name = "a b": must be 1 to 64 letters, digits, dots'),
    ('[archive]\nname = ""', 'archive.name = "": must be 1 to 64 letters'),
    ('[mesh]\nname = "a"\nseeds = ["b"]', "must be a list, each a host and a port such as"),
    ('[mesh]\nname = "a"\n[mesh.peer]\nhost = "b"', "mesh.peer: there may be several of it"),
    ("[[admin]]\nport = 1", "admin: there is one of it: write [admin], with one bracket"),
    ("[persistence]\nx = 1", "persistence: unknown key; known keys: listener, "),
    ("listener = []", "listener: must have at least one entry"),
    ("listener", "not TOML"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_what_is_wrong_is_named(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "broker.toml")
    assert all(line.startswith("broker.toml: ") for line in caught.value.problems)
    assert said in str(caught.value)


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        parse("[limits]\nsubscriptions = 0\n[admin]\nport = 70000\n[[listener]]\nport = 70000")
    assert len(caught.value.problems) == 3


def test_nothing_configured_is_local_and_anonymous() -> None:
    config = Config()
    (listener,) = config.listener
    assert listener.name == "tcp://127.0.0.1:1883"
    assert config.anonymous_on(listener) == "local"
    assert not config.admin.enabled
    assert parse("") == config
    assert warnings(config) == []


def test_authentication_ends_anonymous_access() -> None:
    config = parse('[auth]\npassword_file = "p"')
    assert config.anonymous_on(config.listener[0]) == "never"
    assert config.methods_of(config.listener[0]) == ("password",)
    config = parse('[auth]\npassword_file = "p"\n[[listener]]\nanonymous = "local"')
    assert config.anonymous_on(config.listener[0]) == "local"


def test_units() -> None:
    limits = parse('[limits]\npacket_size = "2 MiB"\nconnect_timeout = "1.5 min"').limits
    assert limits.packet_size == 2 << 20
    assert limits.connect_timeout == 90.0


def test_a_listener_overrides_only_the_limits_it_names() -> None:
    config = parse(
        "[limits]\nsubscriptions = 5\ninflight = 7\n[[listener]]\n[listener.limits]\ninflight = 9"
    )
    limits = config.limits_of(config.listener[0])
    assert (limits.subscriptions, limits.inflight) == (5, 9)


def test_paths_start_at_the_folder_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text('[auth]\npassword_file = "users"\n[[listener]]\nkind = "tls"\n' + TLS)
    config = load(file)
    assert config.auth.password_file == tmp_path / "users"
    assert config.listener[0].tls is not None
    assert config.listener[0].tls.key == tmp_path / "k.pem"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.toml: cannot be read"):
        load(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        load(tmp_path / "latin.toml")


def test_what_is_in_force_reads_back_as_the_same_configuration() -> None:
    text = '[limits]\nsubscriptions = 5\n[store]\nkind = "memory"\n[auth]\nplugins = ["x"]'
    text += '\n[auth.plugin_options.x]\nurl = "u"\nports = [1, 2]\n'
    config = parse(text)
    printed = "\n".join(in_force(config))
    assert tomllib.loads(printed)["limits"]["subscriptions"] == 5
    assert parse(printed) == config


def test_what_is_seldom_meant_is_warned_of() -> None:
    config = parse('[[listener]]\nhost = "0.0.0.0"\nanonymous = "always"\nauth = ["jwt"]')
    assert len(warnings(config)) == 2
    config = parse('[[listener]]\nhost = "0.0.0.0"')
    assert ["clients of other machines are refused" in line for line in warnings(config)] == [True]


def test_a_tree_of_links_is_read_and_is_a_graph() -> None:
    text = '[mesh]\nname = "a"\ntrust_certificates = ["b"]\n'
    assert warnings(parse(text + 'topology = "graph"')) == []
    (warning,) = warnings(parse(text + 'topology = "tree"'))
    assert warning.startswith('mesh.topology = "tree": not needed any more')


def test_the_reference_in_the_documentation_is_current() -> None:
    page = Path(__file__).parents[2] / "docs" / "configuration.md"
    assert reference() in page.read_text(encoding="utf-8")


def test_every_path_of_every_section_starts_at_the_folder_of_the_file() -> None:
    config = parse(EVERY_PATH).at(Path("/etc/here"))
    found = [value for value in _values(config) if isinstance(value, Path)]
    assert len(found) == EVERY_PATH.count("'file'") + 1
    relative = [path for path in found if path != Path("/elsewhere/revoked")]
    assert set(relative) == {Path("/etc/here/file")}
    own = config.listener[0].limits
    assert own is not None
    assert own.stated == {"inflight"}  # what it does not state is still inherited


EVERY_PATH = """
[[listener]]
kind = 'tls'
limits = {inflight = 3}
tls = {certificate = 'file', key = 'file', client_ca = 'file', revoked = '/elsewhere/revoked'}
[[listener]]
kind = 'unix'
socket = 'file'
[auth]
password_file = 'file'
scram_file = 'file'
jwt = {key = 'file', algorithm = 'HS256'}
[permissions]
file = 'file'
[store]
folder = 'file'
[admin]
token_file = 'file'
[archive]
folder = 'file'
tls = {certificate = 'file', key = 'file'}
[geo]
places = 'file'
[vision]
models = 'file'
detector = {file = 'file', labels = 'file'}
[mesh]
name = 'here'
key_file = 'file'
peer = [{host = 'there', tls = {ca = 'file', certificate = 'file', key = 'file'}}]
stock = [{name = 'other', host = 'there', password_file = 'file', tls = {key = 'file'}}]
"""


def _values(tree: object) -> Iterator[object]:
    if isinstance(tree, Section):
        tree = tuple(getattr(tree, key) for key in tree.keys)
    if isinstance(tree, dict):
        tree = tuple(tree.values())
    if not isinstance(tree, tuple | list):
        yield tree
        return
    for one in tree:
        yield from _values(one)


def test_the_core_has_the_defaults_of_the_configuration() -> None:
    core, limits = Settings(), Limits()
    for name, key in LIMIT_KEYS.items():
        assert getattr(core, name) == getattr(limits, key), name
