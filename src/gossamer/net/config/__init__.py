"""The configuration: TOML in, checked models out; one file a section.

`load(path)` gives a `Config` or raises `ConfigError`, whose lines name the key, the value and what
is allowed. `Config()` is the configuration of a broker that was given none.
"""

from gossamer.net.config.errors import ConfigError
from gossamer.net.config.loading import load, parse
from gossamer.net.config.root import Config

__all__ = ["Config", "ConfigError", "load", "parse"]
