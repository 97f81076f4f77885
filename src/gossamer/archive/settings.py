"""How one archive is kept; `net/config/store.py` makes it from the configuration."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

OnFull = Literal["refuse", "drop"]
FOLDER_NAME: Final = "archive"  # in the data folder, where no other is named


@dataclass(frozen=True)
class ArchiveSettings:
    """Times are in seconds, 0 for no limit; sizes in bytes, 0 for no limit."""

    folder: Path
    broker: str
    sealed_uri: str = ""  # "" for the folder itself
    segment_bytes: int = 128 * 1024 * 1024
    segment_seconds: float = 3600.0
    retention_seconds: float = 0.0
    retention_bytes: int = 0
    on_full: OnFull = "refuse"
    syncs: bool = True  # whether an acknowledgement survives a power cut

    @property
    def logs(self) -> Path:
        """Where this broker's log files are."""
        return self.folder / self.broker

    @property
    def sealed(self) -> str:
        """Where its sealed segments are: a local path or a URI."""
        if not self.sealed_uri:
            return str(self.logs)
        place, question, options = self.sealed_uri.partition("?")
        return f"{place.rstrip('/')}/{self.broker}{question}{options}"
