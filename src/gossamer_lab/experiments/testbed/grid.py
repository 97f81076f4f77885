"""The bytes behind Figure 10, on seven real brokers in a line.

T_PF and T_SF are measured apart: publications to everywhere, which nobody's interest changes; and
subscriptions to everywhere with publications to where they are wanted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gossamer_lab.experiments.testbed.bed import running_bed
from gossamer_lab.experiments.testbed.workload import BROKERS, payload_for, topics

LINKS = BROKERS - 1


@dataclass
class Told:
    """What subscriptions cost, and publications for each ratio of the two."""

    told_bytes: int = 0
    told_messages: int = 0  # fewer than `single_messages` where subscriptions shared one
    single_messages: int = 0  # one for each subscription on each link
    forwarded_bytes: list[int] = field(default_factory=list)


async def flooded_bytes(count: int, ratios: Sequence[float]) -> list[int]:
    """In mode pf, for each ratio; `count` topics are published once each."""
    names = topics(count)
    found: list[int] = []
    async with running_bed("linear", "pf") as bed:
        settled = await bed.traffic()
        for spr in ratios:
            before = settled
            await bed.publish(0, names, b"x" * payload_for(spr))
            settled = await bed.settled(messages=before.messages + LINKS * len(names))
            found.append((settled - before).bytes)
    return found


async def told(interested: int, count: int, ratios: Sequence[float]) -> Told:
    """In mode sf, with all subscribers at one broker so that so many are interested."""
    names = topics(count)
    found = Told(single_messages=LINKS * count)
    last = interested - 1
    async with running_bed("linear", "sf") as bed:
        before = await bed.traffic()
        await bed.subscribe(last, names)
        settled = await bed.settled(told=len(names))
        telling = settled - before
        found.told_bytes = telling.interest_bytes
        found.told_messages = telling.interest_messages
        for spr in ratios:
            before = settled
            await bed.publish(0, names, b"x" * payload_for(spr))
            settled = await bed.settled(messages=before.messages + last * len(names))
            found.forwarded_bytes.append((settled - before).bytes)
    return found
