"""The state of one distinct operator subscription, shared by all who subscribed to the same."""

from heapq import heapify, heappop, heappush
from typing import Final

from gossamer.budget.ledger import Account
from gossamer.plus.encodings import NO_ENCODINGS
from gossamer.plus.jobs import Jobs
from gossamer.plus.limits import OperatorLimits
from gossamer.plus.plan import OperatorPlan
from gossamer.plus.publication import BAD_TTL, BUSY, IMPLICIT_TTL, NO_ROOM, Publication
from gossamer.plus.values import INFINITY

# The first item of every saved part, which is a JSON list. A store with a later one is not opened.
SAVED_VERSION: Final = 1
# Where no broker sets a budget.
UNBOUNDED: Final = 1 << 62
# Entries without a point are swept out once there are more of them than others, and than this.
_FEW: Final = 64


def saved_version(part: bytes) -> int:
    """The version of a saved part, found without reading all of it; 0 for what is none."""
    digits = part[1 : part.find(b",")] if part.startswith(b"[") else b""
    return int(digits) if digits.isdigit() and len(digits) < 10 else 0


class OperatorResult:
    """What a subscriber gets. `forwarded` if it is the publication itself, on another topic."""

    __slots__ = ("forwarded", "payload", "topic", "user")

    def __init__(self, topic: str, payload: bytes, forwarded: bool = False) -> None:
        self.topic = topic
        self.payload = payload
        self.forwarded = forwarded
        self.user: list[tuple[str, str]] = _NO_PAIRS  # User Properties that tell of it


_NO_PAIRS: Final[list[tuple[str, str]]] = []


class OperatorState:
    """Takes publications in and gives results out.

    `due` is when it must be ticked, infinite for never. What it keeps over a restart is a set of
    named parts, and only the changed ones are given out to be saved. A part's name is a topic;
    the empty name stands for what concerns all topics.
    """

    def __init__(self, key: str, plan: OperatorPlan, services: "Services") -> None:
        self.key = key
        self.plan = plan
        self.services = services
        self.references = 0
        self.remembers = True  # whether it has values that are worth keeping
        self.due = INFINITY
        self.held = 0  # bytes of its values, charged to the account of the operators
        self.changed: set[str] = set()
        self.outer: OperatorState | None = None  # in whose name it goes on, if in another's

    def accept(self, publication: Publication, now: float) -> list[OperatorResult]:
        """A publication that matches one of the plan's filters."""
        processor = self.plan.processor
        if processor is None:
            return self.enter(publication, now)
        self.valid_until(publication, now)
        if not self.services.jobs.submit(self.key, processor.keyword, publication):
            self.services.skip(BUSY)
        return []

    def enter(self, publication: Publication, now: float) -> list[OperatorResult]:
        """A publication whose payload is what the operators read (a processor's answer, if any)."""
        raise NotImplementedError

    def begin(self, now: float) -> None:
        """Somebody subscribes to it, the first one."""

    def leave(self, topic: str, now: float) -> list[OperatorResult]:
        """The topic has published something that is outside the area of the subscription."""
        return []

    def tick(self, now: float) -> list[OperatorResult]:
        """Called once `due` has come."""
        return []

    def of_core(self, results: list[OperatorResult], now: float) -> list[OperatorResult]:
        """What becomes of the results of a state that goes on in this one's name."""
        return results

    def released(self) -> None:
        """Nobody holds it any more."""

    def last_results(self, now: float) -> list[OperatorResult]:
        """What a new subscriber is sent at once."""
        raise NotImplementedError

    def clock_set(self, now: float) -> None:
        """The wall clock was set, or (if it drives the engine itself) `now` is before the last."""

    def take_changes(self) -> list[tuple[str, bytes | None]]:
        """The parts that changed since the last call, with None for those that are gone."""
        changes = [(name, self.part(name)) for name in self.changed]
        self.changed.clear()
        return changes

    def reserve(self, size: int) -> bool:
        """Whether there is room for so much more; then it is charged."""
        if not self.has_room(size):
            self.services.account.refused += 1
            self.services.skip(NO_ROOM)
            return False
        self.weigh(size)
        return True

    def has_room(self, size: int) -> bool:
        account = self.services.account
        # One state may hold what one client may: it is the work of those who subscribe to it.
        return self.held + size <= account.client_most and account.held + size <= account.budget

    def weigh(self, change: int) -> None:
        """Charged in any case: it is bounded by what was reserved before."""
        self.held += change
        self.services.account.grow(change)

    def mark(self, name: str) -> None:
        """The part has changed."""
        if self.services.saves:
            if self.outer is not None:
                self.outer.mark(name)
                return
            if not self.changed:
                self.services.changed[self.key] = self
            self.changed.add(name)

    def part(self, name: str) -> bytes | None:
        """What to save under that name; None for nothing."""
        return None

    def restore(self, parts: list[tuple[str, bytes]], now: float) -> None:
        """Takes up what an earlier process saved. Parts that cannot be read are left out."""

    def valid_until(self, publication: Publication, now: float) -> float:
        services = self.services
        try:
            return publication.valid_until(now, services.implicit_ttl, services.wall_offset)
        except ValueError:
            services.skip(BAD_TTL)
            return publication.valid_until(now, services.implicit_ttl, services.wall_offset)


class Services:
    """What all states share: limits, counters, the timers of due times, the processors' jobs."""

    def __init__(
        self, implicit_ttl: float = IMPLICIT_TTL, limits: OperatorLimits | None = None
    ) -> None:
        self.implicit_ttl = implicit_ttl
        self.limits = limits if limits is not None else OperatorLimits()
        self.wall_offset = 0.0  # what the wall clock shows more than the times passed in
        self.encodings = NO_ENCODINGS
        self.saves = False  # whether somebody takes the changes and makes them last
        self.changed: dict[str, OperatorState] = {}  # by key: those with something to save
        self.skipped: dict[str, int] = {}
        self.account = Account("operators", UNBOUNDED)
        self.jobs = Jobs(self.limits.pending_jobs, self.account)
        self._timers: list[tuple[float, int, OperatorState]] = []
        self._scheduled = 0  # orders entries of the same time
        self._stale = 0  # entries of times that were changed since

    def charge(self, account: Account) -> None:
        """What states hold is charged there; set before there are any."""
        self.account = account
        self.jobs.account = account

    def skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def schedule(self, state: OperatorState, due: float) -> None:
        """In place of the time that it had, if any."""
        if state.due == due:
            return
        self.unschedule(state)
        state.due = due
        self._scheduled += 1
        heappush(self._timers, (due, self._scheduled, state))

    def unschedule(self, state: OperatorState) -> None:
        """It is due at no time; the list of timers does not keep it alive for long."""
        if state.due == INFINITY:
            return
        state.due = INFINITY
        self._stale += 1
        if self._stale > _FEW and 2 * self._stale > len(self._timers):
            self._timers = [entry for entry in self._timers if self._stands(entry)]
            heapify(self._timers)
            self._stale = 0

    def next_due(self) -> float:
        """Infinite if nothing is due at any time."""
        timers = self._timers
        while timers and not self._stands(timers[0]):
            heappop(timers)
            self._stale -= 1
        return timers[0][0] if timers else INFINITY

    def take_due(self, now: float) -> OperatorState | None:
        """The next state whose time has come; its `due` is no more."""
        if self.next_due() > now:
            return None
        state = heappop(self._timers)[2]
        state.due = INFINITY
        return state

    def _stands(self, entry: tuple[float, int, OperatorState]) -> bool:
        return entry[2].due == entry[0]
