"""Figure 10: T_SF / T_PF over the interested brokers and the size of subscriptions."""

from collections.abc import Callable
from dataclasses import dataclass

from gossamer.experiments.testbed.bed import running_bed
from gossamer.experiments.testbed.workload import (
    BROKERS,
    equation_5,
    payload_for,
    spr_of,
    topics,
)

LINKS = BROKERS - 1


@dataclass(frozen=True)
class Effort:
    """How much of the grid is measured."""

    topics: int
    interested: tuple[int, ...]
    ratios: tuple[float, ...]


FULL = Effort(100, tuple(range(1, BROKERS + 1)), tuple(step / 10 for step in range(1, 11)))
QUICK = Effort(40, (1, 4, 7), (0.1, 0.5, 1.0))


@dataclass(frozen=True)
class Cell:
    """One point of the grid."""

    interested: int  # brokers, of seven
    spr: float  # as asked for; the payload is in whole bytes, so what it really was is `true_spr`
    true_spr: float
    flooded_bytes: int  # in mode pf, publications to everywhere
    told_bytes: int  # in mode sf, subscriptions to everywhere
    forwarded_bytes: int  # in mode sf, publications to where they are wanted
    told_messages: int  # control messages that told them; fewer than one each where some shared one
    single_messages: int  # as many as one for each subscription on each link

    @property
    def measured(self) -> float:
        return (self.told_bytes + self.forwarded_bytes) / self.flooded_bytes

    @property
    def expected(self) -> float:
        return equation_5(self.interested, self.true_spr)

    @property
    def forwarding(self) -> float:
        """The part of the publications that crosses links; equation 5 without subscriptions."""
        return self.forwarded_bytes / self.flooded_bytes


async def measure_grid(effort: Effort, report: Callable[[str], None]) -> list[Cell]:
    """Publications to everywhere are measured once, since nobody's interest changes them."""
    flooded = await _flooded(effort, report)
    names = topics(effort.topics)
    cells: list[Cell] = []
    async with running_bed("linear", "sf") as bed:
        for interested in effort.interested:
            report(f"sf, {interested} of {BROKERS} brokers interested")
            last = interested - 1
            before = await bed.traffic()
            await bed.subscribe(last, names)
            settled = await bed.settled(told=len(names))
            told = settled - before
            for spr in effort.ratios:
                payload = payload_for(spr)
                before = settled
                await bed.publish(0, names, b"x" * payload)
                settled = await bed.settled(messages=before.messages + last * len(names))
                forwarded = (settled - before).bytes
                cells.append(
                    Cell(
                        interested,
                        spr,
                        spr_of(payload),
                        flooded[spr],
                        told.control_bytes,
                        forwarded,
                        told.control_messages,
                        LINKS * len(names),
                    )
                )
            await bed.unsubscribe(last, names)
            await bed.settled(told=0)
    return cells


async def _flooded(effort: Effort, report: Callable[[str], None]) -> dict[float, int]:
    """Bytes in mode pf, by SPR."""
    names = topics(effort.topics)
    found: dict[float, int] = {}
    async with running_bed("linear", "pf") as bed:
        settled = await bed.traffic()
        for spr in effort.ratios:
            report(f"pf, SPR {spr:g}")
            before = settled
            await bed.publish(0, names, b"x" * payload_for(spr))
            settled = await bed.settled(messages=before.messages + LINKS * len(names))
            found[spr] = (settled - before).bytes
    return found
