"""Where sealed segments live: a local folder, or a URI of a filesystem that pyarrow knows."""

from pathlib import Path

import pyarrow as pa
import pyarrow.fs

from gossamer.storage.archive.errors import ArchiveError


def open_folder(uri: str) -> tuple[pa.fs.FileSystem, str]:
    """The filesystem and the folder in it that a URI or a local path names."""
    if "://" not in uri:
        return pa.fs.LocalFileSystem(), str(Path(uri).absolute())
    try:
        files, folder = pa.fs.FileSystem.from_uri(uri)
    except (OSError, pa.ArrowException) as error:
        raise ArchiveError(f"{uri} cannot be used for sealed segments: {error}") from error
    return files, folder.rstrip("/")
