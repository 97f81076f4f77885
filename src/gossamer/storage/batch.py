"""The changes of one transaction, coalesced: what came and went within it costs nothing."""

from typing import Final, Generic, TypeVar

from gossamer.archive.collector import Block
from gossamer.session.message import Message
from gossamer.storage.rows import Row, message_row
from gossamer.storage.schema import (
    DELIVERY,
    FLIGHT,
    INCOMING,
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

    def put(self, key: int, value: Value) -> None:
        self.puts[key] = value

    def delete(self, key: int) -> None:
        self.puts.pop(key, None)
        if key < self.first:
            self.deletes.add(key)

    def absorb(self, later: "Changes[Value]") -> None:
        """Become the changes of this batch followed by those of the later one."""
        for key in later.deletes:
            self.delete(key)
        self.puts.update(later.puts)
        self.next = later.next

    def successor(self) -> "Changes[Value]":
        return Changes(self.next)

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
    """One transaction: the changes of every table. Deletes are applied before puts."""

    __slots__ = (
        "blocks",
        "deliveries",
        "flights",
        "incoming",
        "kept",
        "lanes",
        "messages",
        "number",
        "operators",
        "retained",
        "sessions",
        "subscriptions",
        "waiting",
    )

    def __init__(
        self,
        number: int,
        messages: Changes[Message],
        sessions: Changes[Row],
        subscriptions: Changes[Row],
        deliveries: Changes[Row],
        incoming: Changes[Row],
        retained: Changes[Row],
        operators: Changes[Row],
        kept: Changes[Row],
        lanes: Changes[Row],
        flights: Changes[Row],
    ) -> None:
        self.number = number
        self.messages = messages  # as objects: a row is made only for those that stay
        self.sessions = sessions
        self.subscriptions = subscriptions
        self.deliveries = deliveries
        self.incoming = incoming
        self.retained = retained
        self.operators = operators
        self.kept = kept
        self.lanes = lanes
        self.flights = flights  # by lane
        self.waiting = LaneChanges()
        self.blocks: list[Block] = []  # for the archive

    def successor(self) -> "Batch":
        """The empty batch that follows."""
        return Batch(
            self.number + 1,
            self.messages.successor(),
            self.sessions.successor(),
            self.subscriptions.successor(),
            self.deliveries.successor(),
            self.incoming.successor(),
            Changes(self.messages.next),
            self.operators.successor(),
            self.kept.successor(),
            self.lanes.successor(),
            Changes(self.lanes.next),
        )

    def absorb(self, later: "Batch") -> None:
        """Take in the batch that follows: the two become one transaction with the later number."""
        self.number = later.number
        self.messages.absorb(later.messages)
        self.sessions.absorb(later.sessions)
        self.subscriptions.absorb(later.subscriptions)
        self.deliveries.absorb(later.deliveries)
        self.incoming.absorb(later.incoming)
        self.retained.absorb(later.retained)
        self.operators.absorb(later.operators)
        self.kept.absorb(later.kept)
        self.lanes.absorb(later.lanes)
        self.flights.absorb(later.flights)
        self.waiting.absorb(later.waiting)
        self.blocks += later.blocks

    def deletes(self) -> list[tuple[Table, list[int]]]:
        rest = [(table, sorted(changes.deletes)) for table, changes in self._rows()]
        gone = (WAITING, sorted(self.waiting.gone))
        return [(MESSAGE, sorted(self.messages.deletes)), *rest, gone]

    def cuts(self) -> list[tuple[int, int]]:
        """Keys of `waiting`: what is above the first and not above the second goes."""
        return [(lane * PLACES, lane * PLACES + place) for lane, place in self.waiting.cuts.items()]

    def puts(self) -> list[tuple[Table, list[Row]]]:
        """Rows to insert or replace, table by table."""
        messages = [message_row(key, message) for key, message in self.messages.puts.items()]
        rest = [(table, list(changes.puts.values())) for table, changes in self._rows()]
        return [(MESSAGE, messages), *rest, (WAITING, self.waiting.rows())]

    def _rows(self) -> tuple[tuple[Table, Changes[Row]], ...]:
        return (
            (SESSION, self.sessions),
            (SUBSCRIPTION, self.subscriptions),
            (DELIVERY, self.deliveries),
            (INCOMING, self.incoming),
            (RETAINED, self.retained),
            (OPERATOR, self.operators),
            (KEPT, self.kept),
            (LANE, self.lanes),
            (FLIGHT, self.flights),
        )

    def __len__(self) -> int:
        """The changes to the store's tables."""
        changed = len(self.messages) + sum(len(changes) for _, changes in self._rows())
        return changed + len(self.waiting)
