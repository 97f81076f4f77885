"""Seals in a process of its own.

Compressing takes the processor for seconds; in the broker's process it would take the interpreter
away from the event loop again and again. A worker whose broker is gone gives its file no name: the
next broker may have sealed the same rows by then, and removed them again.

    python -m gossamer.storage.archive.worker LOG FOLDER
"""

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

import pyarrow as pa

import gossamer
from gossamer.storage.archive.errors import ArchiveError
from gossamer.storage.archive.places import open_folder
from gossamer.storage.archive.sealing import seal

# Below every process that serves somebody.
NICENESS: Final = 10


class SealingWorker:
    """One process at a time; `stop` ends it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._changing = threading.Lock()

    def seal(self, log: Path, folder: str) -> str:
        """The path of the sealed file. ArchiveError says what went wrong."""
        with self._changing:
            if self._stopped:
                raise ArchiveError("sealing has been stopped")
            process = _start(log, folder)
            self._process = process
        out, errors = process.communicate()
        if process.returncode:
            lines = errors.strip().splitlines()
            raise ArchiveError(lines[-1] if lines else f"the worker ended by {process.returncode}")
        return out.strip()

    def stop(self) -> None:
        with self._changing:
            self._stopped = True
            if self._process is not None and self._process.poll() is None:
                self._process.terminate()


def _start(log: Path, folder: str) -> "subprocess.Popen[str]":
    package = str(Path(gossamer.__file__).parent.parent)
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", "gossamer.storage.archive.worker", str(log), folder],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def main(log: str, folder: str) -> None:
    os.nice(NICENESS)
    gc.disable()  # a short life, many small objects, and no cycles among them
    pa.set_cpu_count(1)
    parent = os.getppid()
    files, path = open_folder(folder)
    print(seal(Path(log), files, path, is_wanted=lambda: os.getppid() == parent))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (ArchiveError, OSError, pa.ArrowException) as error:
        sys.exit(str(error))
