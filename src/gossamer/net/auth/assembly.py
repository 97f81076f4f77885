"""From the configuration to what decides logins; all files are read here, so errors show here."""

from pathlib import Path
from typing import Final

from gossamer.net.auth.backend import Backend
from gossamer.net.auth.certificates import CertificateBackend
from gossamer.net.auth.chain import Chain
from gossamer.net.auth.logins import LoginRules
from gossamer.net.auth.passwords import PasswordBackend, load_passwords
from gossamer.net.auth.plugins import load_plugin
from gossamer.net.auth.scram import Verifier, load_verifiers
from gossamer.net.auth.tokens import TokenBackend, load_key
from gossamer.net.config.root import Config
from gossamer.net.config.section import ConfigError

# The chain of those who read the archive, among those of the listeners.
REPLAY: Final = "replay"


def login_rules(config: Config) -> LoginRules:
    """ConfigError names what cannot be used."""
    hashes: dict[str, str] = {}
    if config.auth.password_file is not None:
        hashes = load_passwords(_present("password_file", config.auth.password_file))
    backends = _backends(config, hashes)
    verifiers: dict[str, Verifier] = {}
    if config.auth.scram_file is not None:
        verifiers = load_verifiers(_present("scram_file", config.auth.scram_file))
    chains: dict[str, Chain] = {}
    scram: set[str] = set()
    for listener in config.listener:
        methods = config.methods_of(listener)
        for method in methods:
            if method not in backends:
                raise ConfigError(
                    [f"{listener.name}: auth names {method}, which [auth] does not set up"]
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
        raise ConfigError([f"auth.{key} = {path}: there is no such file; {way} makes it"])
    return path


def _backends(config: Config, hashes: dict[str, str]) -> dict[str, list[Backend]]:
    auth = config.auth
    backends: dict[str, list[Backend]] = {}
    if auth.certificate:
        backends["certificate"] = [CertificateBackend()]
    if auth.password_file is not None:
        backends["password"] = [PasswordBackend(hashes)]
    if auth.jwt is not None:
        backends["jwt"] = [TokenBackend(auth.jwt, load_key(auth.jwt))]
    if auth.scram_file is not None:
        backends["scram"] = []  # an exchange of its own, not a password to check
    if auth.plugins:
        backends["plugin"] = [
            load_plugin(name, auth.plugin_options.get(name, {})) for name in auth.plugins
        ]
    return backends
