"""`[store]` and `[archive]`: what survives a restart, and what is kept of the messages."""

from typing import Annotated, Literal

from gossamer.net.config.listeners import Tls
from gossamer.net.config.section import After, Section, setting
from gossamer.net.config.value_types import Allowed, Duration, FilePath, Name, Port, Size
from gossamer.topics.names import check_filter


class StoreSection(Section):
    """`--data` and `--memory` on the command line override this."""

    kind: Literal["disk", "memory"] = "disk"
    """`memory` keeps nothing when the broker stops."""
    folder: FilePath | None = None
    """Folder of the database; by default in the user's data directory."""
    queue_share: float = setting(default=0.5, gt=0, le=1)
    """Part of the free disk space that all queues together may use."""
    sync: Literal["full", "normal", "off"] = "full"
    """What an acknowledged message survives: `full` a power cut, `normal` a crash of the broker,
    `off` a clean stop."""


SMALLEST_SEGMENT = 64 * 1024


def _checked(filter: str) -> str:
    check_filter(filter)
    if filter.startswith("$share/"):
        raise ValueError("a shared subscription names no topics")
    return filter


TopicFilter = Annotated[str, After(_checked), Allowed("a topic filter")]


class ArchiveTls(Tls):
    """TLS for the replay service."""


class ArchiveSection(Section):
    """`docs/archive.md` describes what is archived and how it is read."""

    filters: tuple[TopicFilter, ...] = setting(default=("#",), min_length=1)
    """Topic filters of the publications to archive."""
    name: Name | None = None
    """The broker's name in the archive; by default its name in the mesh, or "broker"."""
    folder: FilePath | None = None
    """Folder for the logs; by default beside the store's database."""
    uri: str | None = None
    """Where sealed segments go, if not to `folder`: `s3://bucket/path`, `hdfs://…` or another
    filesystem that pyarrow knows."""
    segment_size: Size = setting(default=128 * 1024 * 1024, ge=SMALLEST_SEGMENT)
    """Size at which a log is sealed into a Parquet file."""
    segment_age: Duration = 3600.0
    """Age at which a log is sealed; 0 for never."""
    retention_age: Duration = 0.0
    """Age at which segments are removed; 0 keeps them."""
    retention_size: Size = setting(default=0, ge=0)
    """Total size above which the oldest segments are removed; 0 for no limit."""
    on_full: Literal["refuse", "drop"] = "refuse"
    """When the archive cannot be written: `refuse` QoS 1 and 2 publications that should be
    archived, or `drop` them from the archive and continue."""
    publisher: bool = True
    """Whether the publisher's client id and user are kept."""
    replay: bool = True
    """Whether the replay service is enabled."""
    replay_host: str = "127.0.0.1"
    """Address of the replay service."""
    replay_port: Port = 1885
    """Port."""
    replay_readers: int = setting(default=48, ge=1)
    """Maximum number of concurrent readers; one user gets at most three quarters of them."""
    tls: ArchiveTls | None = None
    """TLS for the replay service."""
