"""`gossamer archive`: what a broker has archived, read from its files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import CommandError
from gossamer.storage.archive.errors import ArchiveError, MissingPyarrow

Folder = Annotated[Path, typer.Argument(help="The archive's folder, or that of one broker in it.")]
Uri = Annotated[
    str,
    typer.Option("--uri", help="Where sealed segments are, if not in the folder."),
]


@contextmanager
def archive_errors() -> Iterator[None]:
    """What is wrong with an archive, in one line."""
    try:
        yield
    except ArchiveError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"cannot read {error.filename}: {error.strerror}") from error
    except ImportError as error:
        raise CommandError(str(MissingPyarrow())) from error
