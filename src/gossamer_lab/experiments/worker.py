"""One cell on one worker: what Spark calls."""

from __future__ import annotations

import resource
import time
import traceback
from datetime import UTC, datetime

import gossamer
from gossamer.wire import frames
from gossamer_lab.experiments.catalogue import find
from gossamer_lab.experiments.experiment import Cell, CellFailed
from gossamer_lab.experiments.results import Finished


def is_compiled() -> bool:
    return not frames.__file__.endswith(".py")


def work(name: str, cell: Cell) -> Finished | str:
    """The measures, or what went wrong: one bad cell does not end the others."""
    began, spent = time.perf_counter(), _processor_seconds()
    try:
        measures = find(name).measure(cell.parameters, cell.seed)
    except CellFailed as problem:
        return str(problem)
    except Exception:
        return traceback.format_exc(limit=-4)
    return Finished(
        cell,
        measures,
        gossamer.__version__,
        is_compiled(),
        time.perf_counter() - began,
        _processor_seconds() - spent,
        datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _processor_seconds() -> float:
    """Of this process and of those of its children that have ended."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
