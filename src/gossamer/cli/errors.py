"""How a command fails: one line on stderr that says what to do, and an exit code."""

FAILED = 1
WRONG_USE = 2


class CommandError(Exception):
    """It was asked for rightly and failed (exit code 1)."""

    exit_code = FAILED


class WrongUse(CommandError):
    """Something wrong was asked for (exit code 2)."""

    exit_code = WRONG_USE
