"""A real broker that archives, and seals often."""

from pathlib import Path
from typing import Final

from gossamer.net.local.ports import free_ports
from gossamer_lab.torture.process import BrokerProcess

NAME: Final = "tortured"

_CONFIGURATION: Final = """\
[[listener]]
port = {port}

[store]
folder = "data"

[archive]
name = "{name}"
replay_port = {replay}
segment_size = "64 KiB"
"""


class ArchivingBroker(BrokerProcess):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "full")
        port = free_ports(1)[0]
        file = folder / "gossamer.toml"
        file.write_text(_CONFIGURATION.format(port=self.port, name=NAME, replay=port))
        self._arguments = ["--config", str(file)]
        self.replay_port = port
