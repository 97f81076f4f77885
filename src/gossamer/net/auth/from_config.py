"""From the configuration to what decides logins; all files are read here, so errors show here.

Each way to log in is imported where it is configured: what it needs (argon2, cryptography) takes
memory that a broker without it does not have to spend. Back ends of others are found by name in the
entry point group `gossamer.authenticators`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gossamer.net.auth.backend import Backend, CertificateBackend, Chain
from gossamer.net.auth.logins import LoginRules
from gossamer.net.config.root import Config
from gossamer.net.config.value_types import ConfigError
from gossamer.plugins import entry_points

if TYPE_CHECKING:
    from gossamer.net.auth.scram import Verifier

# The chain of those who read the archive, among those of the listeners.
REPLAY: Final = "replay"
GROUP: Final = "gossamer.authenticators"


def login_rules(config: Config) -> LoginRules:
    """ConfigError names what cannot be used."""
    hashes: dict[str, str] = {}
    if config.auth.password_file is not None:
        from gossamer.net.auth.passwords import load_passwords

        hashes = load_passwords(_present("password_file", config.auth.password_file))
    backends = _backends(config, hashes)
    verifiers: dict[str, Verifier] = {}
    if config.auth.scram_file is not None:
        from gossamer.net.auth.scram import load_verifiers

        verifiers = load_verifiers(_present("scram_file", config.auth.scram_file))
    chains: dict[str, Chain] = {}
    scram: set[str] = set()
    for listener in config.listener:
        methods = config.methods_of(listener)
        for method in methods:
            if method not in backends:
                raise ConfigError(
                    f"{listener.name}: auth names {method}, which [auth] does not set up"
                )
        chosen = [one for method in methods for one in backends[method]]
        chains[listener.name] = Chain(chosen, config.anonymous_on(listener), bool(methods))
        if "scram" in methods:
            scram.add(listener.name)
    if config.archive is not None:
        everything = [one for method in config.auth.configured for one in backends.get(method, [])]
        anonymous = "never" if config.auth.configured else "local"
        chains[REPLAY] = Chain(everything, anonymous, bool(config.auth.configured))
    names = frozenset(hashes) | frozenset(verifiers)
    return LoginRules(chains, verifiers, frozenset(scram), config.auth.waiting, names)


def _present(key: str, path: Path) -> Path:
    """The file, if it is there."""
    if not path.exists():
        way = "gossamer passwd --scram" if key == "scram_file" else "gossamer passwd"
        raise ConfigError(f"auth.{key} = {path}: there is no such file; {way} makes it")
    return path


def _backends(config: Config, hashes: dict[str, str]) -> dict[str, list[Backend]]:
    auth = config.auth
    backends: dict[str, list[Backend]] = {}
    if auth.certificate:
        backends["certificate"] = [CertificateBackend()]
    if auth.password_file is not None:
        from gossamer.net.auth.passwords import PasswordBackend

        backends["password"] = [PasswordBackend(hashes)]
    if auth.jwt is not None:
        from gossamer.net.auth.tokens import TokenBackend, load_key

        backends["jwt"] = [TokenBackend(auth.jwt, load_key(auth.jwt))]
    if auth.scram_file is not None:
        backends["scram"] = []  # an exchange of its own, not a password to check
    if auth.plugins:
        backends["plugin"] = [
            load_plugin(name, auth.plugin_options.get(name, {})) for name in auth.plugins
        ]
    return backends


def load_plugin(name: str, options: dict[str, Any]) -> Backend:
    """The back end of that name; ConfigError if it cannot be had."""
    found = entry_points(group=GROUP, name=name)
    if not found:
        known = ", ".join(sorted(one.name for one in entry_points(group=GROUP))) or "none"
        raise ConfigError(f"auth.plugins: {name} is not installed; installed are: {known}")
    try:
        backend = next(iter(found)).load()(options)
    except Exception as error:  # It is foreign code: whatever goes wrong, it must be named.
        raise ConfigError(f"auth.plugins: {name} does not start: {error!r}") from error
    if not isinstance(backend, Backend):
        raise ConfigError(f"auth.plugins: {name} is not a gossamer.net.auth.backend.Backend")
    return backend
