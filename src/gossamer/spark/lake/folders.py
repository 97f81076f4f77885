"""Where a lake lies: a folder of this machine, or an object store, as pyarrow and deltalake see it.

An object store is named as for the archive: `s3://bucket/lake?region=…&endpoint_override=…`. Keys
come from the environment, so that no secret is in a command line.
"""

from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from pyarrow.fs import FileType

from gossamer.archive.folder import ArchiveError
from gossamer.archive.sealed_segment import open_folder

# What stands in such an address, and what deltalake calls it.
_OPTIONS: Final = {"region": "AWS_REGION", "access_key": "AWS_ACCESS_KEY_ID"}
_SCHEMES: Final = ("s3", "gs", "abfs", "abfss")


class LakeError(Exception):
    """The lake cannot be used; the text says why and what to do."""


def joined(root: str, *parts: str) -> str:
    """Below a folder; the options of an address stay at its end."""
    place, mark, options = root.partition("?")
    return "/".join(part.rstrip("/") for part in (place, *parts)) + mark + options


def is_local(path: str) -> bool:
    return urlsplit(path).scheme in ("", "file")


def check_place(path: str) -> None:
    """Raises LakeError."""
    if not is_local(path) and urlsplit(path).scheme not in _SCHEMES:
        raise LakeError(
            f"a lake cannot be at {path}: it is a folder, or in an object store "
            f"({', '.join(f'{scheme}://' for scheme in _SCHEMES)})"
        )


def opened(path: str) -> tuple[Any, str]:
    """The file system, and the folder in it. Raises LakeError."""
    try:
        return open_folder(path.removeprefix("file://"))
    except ArchiveError as problem:
        raise LakeError(str(problem)) from problem


def delta_place(path: str) -> tuple[str, dict[str, str]]:
    """The address and the storage options for deltalake."""
    if is_local(path):
        return str(Path(path.removeprefix("file://")).absolute()), {}
    place, _, query = path.partition("?")
    stated = dict(parse_qsl(query))
    options = {_OPTIONS[name]: value for name, value in stated.items() if name in _OPTIONS}
    if endpoint := stated.get("endpoint_override"):
        scheme = stated.get("scheme", "https")
        options["AWS_ENDPOINT_URL"] = f"{scheme}://{endpoint}"
        options["AWS_ALLOW_HTTP"] = str(scheme == "http").lower()
    return place, options


def exists(path: str) -> bool:
    """Whether there is a file or a folder."""
    files, place = opened(path)
    return bool(files.get_file_info(place).type != FileType.NotFound)


def read_text(path: str) -> str | None:
    """None if there is no such file."""
    files, place = opened(path)
    try:
        with files.open_input_stream(place) as source:
            return bytes(source.read()).decode()
    except FileNotFoundError:
        return None


def write_text(path: str, text: str) -> None:
    """In place of what was there."""
    files, place = opened(path)
    if is_local(path):
        files.create_dir(str(Path(place).parent), recursive=True)
    with files.open_output_stream(place) as target:
        target.write(text.encode())
