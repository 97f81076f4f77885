"""Back ends of others, found by name in the entry point group `gossamer.authenticators`."""

from importlib.metadata import entry_points
from typing import Any, Final

from gossamer.net.auth.backend import Backend
from gossamer.net.config.section import ConfigError

GROUP: Final = "gossamer.authenticators"


def load_plugin(name: str, options: dict[str, Any]) -> Backend:
    """The back end of that name; ConfigError if it cannot be had."""
    found = entry_points(group=GROUP, name=name)
    if not found:
        known = ", ".join(sorted(entry_points(group=GROUP).names)) or "none"
        raise ConfigError([f"auth.plugins: {name} is not installed; installed are: {known}"])
    try:
        backend = next(iter(found)).load()(options)
    except Exception as error:  # It is foreign code: whatever goes wrong, it must be named.
        raise ConfigError([f"auth.plugins: {name} does not start: {error!r}"]) from error
    if not isinstance(backend, Backend):
        raise ConfigError([f"auth.plugins: {name} is not a gossamer.net.auth.backend.Backend"])
    return backend
