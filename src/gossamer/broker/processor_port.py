"""The seam to processors: the core hands a job over, the answer comes later."""

from mypy_extensions import mypyc_attr

from gossamer.plus.jobs import Job


@mypyc_attr(allow_interpreted_subclasses=True)
class ProcessorPort:
    """A broker without processors, whose vocabulary has none; so nothing is ever started."""

    def __init__(self) -> None:
        self.answered = 0  # publications that a worker looked at
        self.failed = 0  # those that none could: busy, too slow, or the worker died
        self.waiting = 0  # now
        self.weaknesses = 0  # ways in which workers are less confined than they should be

    def start(self, job: Job) -> None:
        """Answered once, by `Broker.processed`, with None if it failed. Must not block."""
