"""Names by which brokers know messages; no client ever sees one.

A name says who let the message in, and the how-manyeth it was there: 16 bytes, 8 that chance gave
its broker at this start, and a counter. A *run*, many messages that go as one, has the name of its
first and behind it, in four bytes, how many there are: their names follow each other. What is sent
round to everybody once more (a *wave*) has the name of the wave before its own; the waves of a run
follow each other likewise.

    message  source counter              wave of it  source counter | source counter
    run      source counter count        wave of it  source counter | source counter count
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

NAME_BYTES: Final = 16
SOURCE_BYTES: Final = 8
_COUNT_BYTES: Final = 4
MOST_IN_RUN: Final = 65_535
_COUNTERS: Final = 1 << 8 * SOURCE_BYTES
RUN_NAME_BYTES: Final = NAME_BYTES + _COUNT_BYTES
LENGTHS: Final = (
    NAME_BYTES,
    2 * NAME_BYTES,
    RUN_NAME_BYTES,
    NAME_BYTES + RUN_NAME_BYTES,
)


@mypyc_attr(allow_interpreted_subclasses=True)
class MessageNamer:
    """Gives names. This one belongs to a broker whose messages need none."""

    def name(self, qos: int) -> bytes:
        """A new one for a message that is let in here."""
        return b""

    def run_name(self, qos: int, count: int) -> bytes:
        """A new one for so many messages; of a single one its name."""
        return b""


# What a name says -------------------------------------------------------------------------------


def is_name(name: bytes) -> bool:
    """Whether it has the form of one."""
    return (
        len(name) in LENGTHS
        and 0 < count_of(name) <= MOST_IN_RUN
        and all(first + count <= _COUNTERS for _, first, count in ranges(name))
    )


def is_wave(name: bytes) -> bool:
    return len(name) >= 2 * NAME_BYTES


def is_run(name: bytes) -> bool:
    return len(name) & 4 != 0


def own_name(name: bytes) -> bytes:
    """Without that of a wave."""
    return name[NAME_BYTES:] if is_wave(name) else name


def count_of(name: bytes) -> int:
    """Of how many messages it is the name."""
    return int.from_bytes(name[-_COUNT_BYTES:], "big") if is_run(name) else 1


def run_name(first: bytes, count: int) -> bytes:
    """Of so many messages, the first of which has this name."""
    return first if count == 1 else first + count.to_bytes(_COUNT_BYTES, "big")


def ranges(name: bytes) -> list[tuple[bytes, int, int]]:
    """The source, the first counter and the number of messages: of the wave, if it is one, and of
    the messages themselves."""
    count = count_of(name)
    return [
        (
            name[start : start + SOURCE_BYTES],
            int.from_bytes(name[start + SOURCE_BYTES : start + NAME_BYTES], "big"),
            count,
        )
        for start in range(0, len(name) - _COUNT_BYTES, NAME_BYTES)
    ]


def single_names(name: bytes) -> list[bytes]:
    """Of each message of a run."""
    if not is_run(name):
        return [name]
    parts = ranges(name)
    return [
        b"".join(
            [source + (first + place).to_bytes(SOURCE_BYTES, "big") for source, first, _ in parts]
        )
        for place in range(parts[0][2])
    ]
