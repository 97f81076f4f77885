"""A pipeline on the terminal: one line that moves, or one line a batch where none can."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.status import Status

if TYPE_CHECKING:
    from gossamer.spark.pipelines.running import Step


class Progress:
    def __init__(self, console: Console, name: str) -> None:
        self._console = console
        self._name = name
        self._total = 0
        self._status: Status | None = None

    def __enter__(self) -> "Progress":
        if self._console.is_terminal:
            self._status = self._console.status(f"{self._name}: starting Spark")
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, step: "Step") -> None:
        self._total += step.rows
        speed = step.rows / max(step.seconds, 0.001)
        self.note(
            f"batch {step.batch}: {step.rows:,} rows in {step.seconds:.1f} s ({speed:,.0f}/s), "
            f"{step.behind:,} behind; {self._total:,} in this run"
        )

    def note(self, text: str) -> None:
        line = f"{self._name}: {text}"
        if self._status is not None:
            self._status.update(line)
        else:
            self._console.print(line, highlight=False, soft_wrap=True)


@contextmanager
def stopping_on_signals(stop: Callable[[], None], note: Callable[[str], None]) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM ends after the batch, the second at once.

    Set once Spark has started, which installs a handler of its own.
    """

    def end(number: int, frame: FrameType | None) -> None:
        note("finishing the batch; again to stop at once")
        stop()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
