"""The command ``gossamer``: one file a command or group of commands, all named in `commands.py`.

Exit codes: 0 it worked, 1 it failed, 2 something wrong was asked for. Errors are one line.
"""

import sys
from collections.abc import Sequence

from gossamer.cli.errors import FAILED, CommandError
from gossamer.cli.output import not_written, watched, written
from gossamer.cli.serve_options import plain_options


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code."""
    try:
        options = plain_options(arguments)
        if options is None:
            from gossamer.cli.application import invoke  # for all that needs typer

            return invoke(arguments)
        from gossamer.cli.broker_process import serve_broker

        serve_broker(options)
        return 0
    except CommandError as problem:
        print(f"gossamer: {problem}", file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:
        return FAILED


def main() -> None:
    output = watched()
    try:
        code = run(sys.argv[1:])
    except (OSError, SystemExit):  # typer and rich end the process where nobody reads any more
        if output is None or output.error is None:
            raise
        code = not_written(output.error)
    sys.exit(written(code))
