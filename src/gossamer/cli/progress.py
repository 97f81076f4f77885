"""How far a long command has come: a bar on a terminal, a line now and then elsewhere.

Both go to stderr, so that what a command prints as its result can be kept in a file.
"""

import time
from types import TracebackType
from typing import Final, Self

import typer
from rich.console import Console
from rich.progress import Progress

# Often enough to see that it lives, seldom enough that the log of an hour is read in a minute.
LINE_SECONDS: Final = 30.0


class Advance:
    """`show` may be called as often as one likes."""

    def __init__(self, what: str, total: float, line_seconds: float = LINE_SECONDS) -> None:
        console = Console(stderr=True)
        self._total = total
        self._what = what
        self._line_seconds = line_seconds
        self._next_line = time.monotonic() + line_seconds
        self._progress = Progress(console=console) if console.is_terminal else None
        self._bar = self._progress.add_task(what, total=total) if self._progress else None

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, done: float, words: str = "") -> None:
        what = f"{self._what}: {words}" if words else self._what
        if self._progress is not None and self._bar is not None:
            self._progress.update(self._bar, completed=done, description=what)
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + self._line_seconds
            typer.echo(f"{what} ({done:.0f} of {self._total:.0f})", err=True)
