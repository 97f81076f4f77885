"""What the rooms around the broker say of themselves: operators, places, images, the store."""

from collections.abc import Callable
from typing import Final

from gossamer.broker.core import Core

Reading = Callable[[Core], float]

# The metric's name, what it says, and where it is read; asked for when Prometheus asks.
ROOM_TOTALS: Final[tuple[tuple[str, str, Reading], ...]] = (
    (
        "store_commits",
        "Transactions committed by the store.",
        lambda core: core.journal.written.commits,
    ),
    (
        "store_rows",
        "Rows written or deleted by them.",
        lambda core: core.journal.written.rows,
    ),
    (
        "store_commit_seconds",
        "Seconds spent in them.",
        lambda core: core.journal.written.microseconds / 1e6,
    ),
    (
        "images_processed",
        "Publications handled by a processor.",
        lambda core: core.operators.workshop.answered,
    ),
    (
        "images_failed",
        "Publications that no processor handled: busy, too slow, or crashed.",
        lambda core: core.operators.workshop.failed,
    ),
)
ROOM_GAUGES: Final[tuple[tuple[str, str, Reading], ...]] = (
    ("operators", "Different operator subscriptions.", lambda core: core.counters.operators),
    (
        "images_waiting",
        "Publications queued for a processor.",
        lambda core: core.operators.workshop.waiting,
    ),
    (
        "images_weaknesses",
        "Confinement measures that image workers lack.",
        lambda core: core.operators.workshop.weaknesses,
    ),
    ("positions", "Clients whose position is known.", lambda core: core.locations.counts()[0]),
    ("areas", "Areas that located subscriptions watch.", lambda core: core.locations.counts()[1]),
    (
        "queues_full",
        "Clients whose queue is full, or was until a moment ago.",
        lambda core: len(core.hub.full),
    ),
    (
        "queues_spilled_bytes",
        "Bytes of queues that are in the store only.",
        lambda core: core.journal.spilled_bytes,
    ),
    (
        "store_accepts",
        "Whether the store can be written.",
        lambda core: int(core.journal.accepts),
    ),
)
