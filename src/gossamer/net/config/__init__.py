"""The configuration: TOML in, checked models out; a file for sections that belong together.

`load(path)` gives a `Config` or raises `ConfigError`, whose lines name the key, the value and what
is allowed. `Config()` is the configuration of a broker that was given none.
"""

from gossamer.net.config.loading import load, parse
from gossamer.net.config.root import Config
from gossamer.net.config.value_types import ConfigError

__all__ = ["Config", "ConfigError", "load", "parse"]
