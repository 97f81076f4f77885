"""`[archive]`: what is kept of the messages themselves, for how long, and who may read it back."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gossamer.net.config.section import Section
from gossamer.net.config.tls import Tls
from gossamer.net.config.units import Allowed, Duration, FilePath, Port, Size
from gossamer.topics.names import check_filter

SMALLEST_SEGMENT = 64 * 1024


def _checked(filter: str) -> str:
    check_filter(filter)
    if filter.startswith("$share/"):
        raise ValueError("a shared subscription names no topics")
    return filter


TopicFilter = Annotated[str, AfterValidator(_checked), Allowed("a topic filter")]


class ArchiveTls(Tls):
    """Then the replay service speaks TLS."""


class Archive(Section):
    """`docs/archive.md` says what is archived and how it is read."""

    filters: tuple[TopicFilter, ...] = Field(
        default=("#",), min_length=1, description="What is archived of what clients publish here."
    )
    name: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9._-]+$",
        max_length=64,
        description="The broker's name in the archive; by default its name in the mesh, "
        'or "broker".',
    )
    folder: FilePath | None = Field(
        default=None, description="Where the logs are; by default beside the store's database."
    )
    uri: str | None = Field(
        default=None,
        description="Where sealed segments go, if not to `folder`: `s3://bucket/path`, "
        "`hdfs://…` or another filesystem that pyarrow knows.",
    )
    segment_size: Size = Field(
        default=128 * 1024 * 1024,
        ge=SMALLEST_SEGMENT,
        description="A log of this size is sealed into a Parquet file.",
    )
    segment_age: Duration = Field(
        default=3600.0, description="So is a log of this age; 0 for never."
    )
    retention_age: Duration = Field(
        default=0.0, description="Segments with nothing newer are removed; 0 keeps them."
    )
    retention_size: Size = Field(
        default=0, ge=0, description="The oldest segments go when all are larger; 0 for no limit."
    )
    on_full: Literal["refuse", "drop"] = Field(
        default="refuse",
        description="When the disk takes nothing: `refuse` QoS 1 and 2 publications that should "
        "be archived, or `drop` them from the archive and go on.",
    )
    publisher: bool = Field(
        default=True, description="Whether the publisher's client id and user are kept."
    )
    replay: bool = Field(default=True, description="Whether the replay service listens.")
    replay_host: str = Field(default="127.0.0.1", description="Address of the replay service.")
    replay_port: Port = Field(default=1885, description="Its port.")
    replay_readers: int = Field(
        default=48,
        ge=1,
        description="Readers that it serves at the same time; one user has at most three quarters.",
    )
    tls: ArchiveTls | None = Field(default=None, description="The replay service speaks TLS.")

    def at(self, folder: Path) -> "Archive":
        """With every path taken relative to `folder`."""
        changed: dict[str, object] = {}
        if self.folder is not None:
            changed["folder"] = folder / self.folder
        if self.tls is not None:
            changed["tls"] = self.tls.at(folder)
        return self.model_copy(update=changed)
