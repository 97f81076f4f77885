"""Which segments have to go: by age, and by the size of all of them. The oldest go first."""

from collections.abc import Sequence

from gossamer.storage.archive.catalog import Segment, size_of, times_of
from gossamer.storage.archive.settings import ArchiveSettings

MICROSECONDS = 1_000_000


def expired(
    segments: Sequence[Segment], settings: ArchiveSettings, now_micros: int
) -> list[Segment]:
    """Those to remove. Never the last one, which is being written; and never one that is newer
    than one that stays, so that what is left has no gap."""
    oldest = now_micros - int(settings.retention_seconds * MICROSECONDS)
    total = sum(map(size_of, segments))
    found: list[Segment] = []
    for segment in segments[:-1]:
        times = times_of(segment)
        is_old = settings.retention_seconds > 0 and times is not None and times[1] < oldest
        is_too_much = 0 < settings.retention_bytes < total
        if not is_old and not is_too_much:
            break
        found.append(segment)
        total -= size_of(segment)
    return found
