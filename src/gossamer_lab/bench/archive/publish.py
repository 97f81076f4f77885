"""QoS 1 with the archive off and on: the same broker, the same load, in one run."""

import sys
from pathlib import Path
from typing import Final

from gossamer import __version__
from gossamer_lab.bench.brokers.peers import PeerBroker, durable_gossamer
from gossamer_lab.bench.brokers.scenarios import BY_NAME

ARCHIVING: Final = "gossamer, archiving"
SCENARIOS: Final = (BY_NAME["qos1-20"], BY_NAME["durable-online"])

# Sealing takes the other core, which is the generator's here: it is measured by itself.
CONFIGURATION: Final = """\
[[listener]]
port = {port}

[store]
folder = "data"

[archive]
filters = ["#"]
replay = false
segment_size = "64 GiB"
"""


def _command(port: int, folder: Path) -> list[str]:
    file = folder / "gossamer.toml"
    file.write_text(CONFIGURATION.format(port=port))
    return [sys.executable, "-m", "gossamer", "serve", "--config", str(file)]


def peers() -> list[PeerBroker]:
    """Both keep lasting sessions on disk; the second one archives every message too."""
    return [durable_gossamer(), PeerBroker(ARCHIVING, __version__, _command)]
