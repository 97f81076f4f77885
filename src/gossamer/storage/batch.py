"""The changes of one transaction, coalesced: what came and went within it costs nothing."""

from typing import Any, Final, Generic, TypeVar

from gossamer.session.message import Message
from gossamer.storage.rows import Row, message_row
from gossamer.storage.schema import (
    DELIVERY,
    INCOMING,
    INFLIGHT,
    KEPT,
    LANE,
    MESSAGE,
    OPERATOR,
    PLACES,
    RETAINED,
    SESSION,
    SUBSCRIPTION,
    WAITING,
    Table,
)

# The tables whose rows are collected as they are, in the order in which they are written.
_ROWS: Final = (
    *(SESSION, SUBSCRIPTION, DELIVERY, INCOMING),
    *(RETAINED, OPERATOR, KEPT, LANE, INFLIGHT),
)
# Two tables have the keys of another one, so that one says which of them are new.
_KEYS_OF: Final = {RETAINED: MESSAGE, INFLIGHT: LANE}

Value = TypeVar("Value")


class Changes(Generic[Value]):
    """Rows of one table to write and keys to delete.

    Keys only grow, so a key from `first` on was never committed: deleting it leaves no trace.
    """

    __slots__ = ("deletes", "first", "next", "puts")

    def __init__(self, first: int) -> None:
        self.first: Final = first
        self.next = first
        self.puts: dict[int, Value] = {}
        self.deletes: set[int] = set()

    def new_key(self) -> int:
        key = self.next
        self.next = key + 1
        return key

    def put(self, key: int, value: Value) -> None:
        self.puts[key] = value

    def delete(self, key: int) -> None:
        self.puts.pop(key, None)
        if key < self.first:
            self.deletes.add(key)

    def absorb(self, later: "Changes[Value]") -> None:
        """Become the changes of this batch followed by those of the later one."""
        # What the later one deletes may have been put here; what it puts comes after all deletes.
        for key in later.deletes:
            self.delete(key)
        self.puts.update(later.puts)
        self.next = later.next

    def __len__(self) -> int:
        return len(self.puts) + len(self.deletes)


class LaneChanges:
    """What is put into lanes and leaves them. Only what was committed can leave a lane one by one,
    so nothing is put here that also leaves; a lane that ends takes what is put here with it."""

    __slots__ = ("cuts", "ended", "gone", "puts")

    def __init__(self) -> None:
        self.puts: dict[int, list[Row]] = {}  # by lane
        self.cuts: dict[int, int] = {}  # lanes, and the places up to which they are cut
        self.gone: set[int] = set()  # keys of single deliveries
        self.ended: list[int] = []  # lanes; what is left of them is cleared later

    def end(self, lane: int) -> None:
        self.puts.pop(lane, None)
        self.cuts.pop(lane, None)
        self.ended.append(lane)

    def absorb(self, later: "LaneChanges") -> None:
        for lane in later.ended:
            self.end(lane)
        for lane, rows in later.puts.items():
            self.puts.setdefault(lane, []).extend(rows)
        self.cuts.update(later.cuts)
        self.gone |= later.gone

    def rows(self) -> list[Row]:
        return [row for rows in self.puts.values() for row in rows]

    def __len__(self) -> int:
        put = sum(len(rows) for rows in self.puts.values())
        return put + len(self.cuts) + len(self.gone) + len(self.ended)


class Batch:
    """One transaction: the changes of every table. Deletes are applied before puts: on a full disk
    they make the room that the puts need."""

    __slots__ = ("deliveries", "incoming", "joint", "messages", "number", "rows", "waiting")

    def __init__(self, number: int, first: dict[Table, int]) -> None:
        """`first` has the first key of each table that was never used, 1 where it is not named."""
        self.number = number
        self.messages: Changes[Message] = Changes(first.get(MESSAGE, 1))  # rows for those that stay
        self.rows: dict[Table, Changes[Row]] = {
            table: Changes(first.get(_KEYS_OF.get(table, table), 1)) for table in _ROWS
        }
        self.deliveries = self.rows[DELIVERY]  # these two are needed for every message
        self.incoming = self.rows[INCOMING]
        self.waiting = LaneChanges()
        self.joint: list[Any] = []  # of whoever shares the transaction: the archive's rows

    def successor(self) -> "Batch":
        """The empty batch that follows."""
        following = {table: changes.next for table, changes in self.rows.items()}
        following[MESSAGE] = self.messages.next
        return Batch(self.number + 1, following)

    def absorb(self, later: "Batch") -> None:
        """Take in the batch that follows: the two become one transaction with the later number."""
        self.number = later.number
        self.messages.absorb(later.messages)
        for table, changes in self.rows.items():
            changes.absorb(later.rows[table])
        self.waiting.absorb(later.waiting)
        self.joint += later.joint

    def deletes(self) -> list[tuple[Table, list[int]]]:
        rest = [(table, sorted(changes.deletes)) for table, changes in self.rows.items()]
        gone = (WAITING, sorted(self.waiting.gone))
        return [(MESSAGE, sorted(self.messages.deletes)), *rest, gone]

    def cuts(self) -> list[tuple[int, int]]:
        """Keys of `waiting`: what is above the first and not above the second goes."""
        return [(lane * PLACES, lane * PLACES + place) for lane, place in self.waiting.cuts.items()]

    def puts(self) -> list[tuple[Table, list[Row]]]:
        """Rows to insert or replace, table by table."""
        messages = [message_row(key, message) for key, message in self.messages.puts.items()]
        rest = [(table, list(changes.puts.values())) for table, changes in self.rows.items()]
        return [(MESSAGE, messages), *rest, (WAITING, self.waiting.rows())]

    def __len__(self) -> int:
        """The changes to the store's tables."""
        changed = len(self.messages) + sum(len(changes) for changes in self.rows.values())
        return changed + len(self.waiting)
