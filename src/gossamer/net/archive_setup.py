"""The archive of a broker, opened as the configuration says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from gossamer.archive.errors import MissingPyarrow
from gossamer.archive.settings import FOLDER_NAME, ArchiveSettings
from gossamer.net.config import Config, ConfigError
from gossamer.storage.files import default_folder
from gossamer.storage.sqlite_store import SqliteStore

if TYPE_CHECKING:
    from gossamer.archive.archive import Archive, ArchiveOnlyStore

# Of a broker without a mesh.
DEFAULT_NAME: Final = "broker"


def archive_settings(config: Config) -> ArchiveSettings | None:
    """None without an archive; ConfigError if it has no place."""
    section = config.archive
    if section is None:
        return None
    store = config.store
    folder = section.folder
    if folder is None:
        if store.kind == "memory":
            raise ConfigError(["archive.folder: needed by a broker that keeps nothing else"])
        folder = (store.folder or default_folder()) / FOLDER_NAME
    name = section.name or (config.mesh.name if config.mesh is not None else DEFAULT_NAME)
    return ArchiveSettings(
        folder=Path(folder),
        broker=name,
        sealed_uri=section.uri or "",
        segment_bytes=section.segment_size,
        segment_seconds=section.segment_age,
        retention_seconds=section.retention_age,
        retention_bytes=section.retention_size,
        on_full=section.on_full,
        syncs=store.sync == "full",
    )


def open_archive(
    config: Config, store: SqliteStore | None
) -> tuple[Archive | None, SqliteStore | ArchiveOnlyStore | None]:
    """The archive, and what stands for the store from now on. ArchiveError or ConfigError if it
    cannot be used."""
    settings = archive_settings(config)
    if settings is None:
        return None, store
    try:
        from gossamer.archive.archive import ArchiveOnlyStore, open_beside
    except ImportError as error:
        raise MissingPyarrow from error
    if store is not None:
        return open_beside(store, settings), store
    only = ArchiveOnlyStore(settings, is_durable=config.store.sync != "off")
    return only.archive, only
