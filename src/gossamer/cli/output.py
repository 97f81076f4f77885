"""The end of every command: what it printed was written, or its exit code says that it was not.

Python writes the last of the output while it shuts down. A reader that has gone, or a full disk,
would show there: as a complaint of the interpreter and exit code 120. So it is written before; and
an error on the way is known to be the output's, whatever a library made of it.
"""

import io
import os
import sys
from typing import Any

from gossamer.cli.errors import FAILED


class Output(io.FileIO):
    """The standard output, which remembers why it took no more."""

    error: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.error = error
            raise


def watched() -> Output | None:
    """Puts a standard output in place that remembers; None where there is none."""
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper):
        return None
    output = Output(stream.fileno(), "wb", closefd=False)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(output),
        stream.encoding,
        stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
    return output


def written(code: int) -> int:
    """The exit code, once everything that was printed has been written."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        return not_written(error)
    return code


def not_written(error: OSError) -> int:
    """Says so in one line, and leaves nothing to write for the interpreter's own end."""
    print(f"gossamer: cannot write to standard output: {error.strerror}", file=sys.stderr)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return FAILED
