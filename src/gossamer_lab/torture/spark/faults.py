"""What a run must have left in the files: every acknowledged message, and every row once."""

from collections import Counter
from collections.abc import Iterable, Sequence

from gossamer_lab.torture.spark.publisher import ArchivePublisher

Row = tuple[int, bytes]  # offset and payload


def faults(rows: Iterable[Row], archived: int, publishers: Sequence[ArchivePublisher]) -> list[str]:
    """Every broken promise. `archived` is how many rows the archive has."""
    offsets: Counter[int] = Counter()
    payloads: Counter[bytes] = Counter()
    for offset, payload in rows:
        offsets[offset] += 1
        payloads[payload] += 1
    found = [f"offset {offset} is there {n} times" for offset, n in offsets.items() if n > 1]
    found += [f"{payload!r} is there {n} times" for payload, n in payloads.items() if n > 1]
    missing = [offset for offset in range(archived) if offset not in offsets]
    if missing:
        found.append(f"{len(missing)} rows of the archive are missing, the first is {missing[0]}")
    for publisher in publishers:
        lost = publisher.acknowledged - payloads.keys()
        if lost:
            found.append(f"{len(lost)} acknowledged messages are missing, such as {min(lost)!r}")
    strangers = [one for one in payloads if not any(known.has_sent(one) for known in publishers)]
    found += [f"{payload!r} was never published" for payload in strangers]
    return found
