"""Places for connections that have not yet said who they are, and for readers that have.

A stranger costs a thread or a task, and may be slow on purpose. So strangers have places of their
own, apart from those of readers that have logged in, and none of them is held for good: when all
are taken, the address that holds most of them loses its oldest to the newcomer. A stranger whose
request is complete is heard and is not cut any more. The time is passed in; any thread may call.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gossamer.broker.rates import network_of

# At once, from everywhere: many times what honest readers take, who are heard in milliseconds.
MOST_STRANGERS: Final = 32


@dataclass(slots=True, eq=False)
class LoginPlace:
    """One connection; `cut` ends it from any thread."""

    address: str
    at: float
    cut: Callable[[], None]
    is_heard: bool = False
    is_cut: bool = False


class LoginSlots:
    """`patience` are the seconds that a stranger may keep its place when others want it."""

    def __init__(self, patience: float, most: int = MOST_STRANGERS) -> None:
        self._patience = patience
        self._most = most
        self._lock = threading.Lock()
        self._by_address: dict[str, list[LoginPlace]] = {}  # the oldest first
        self.cut = 0  # since the start

    def __len__(self) -> int:
        return sum(map(len, self._by_address.values()))

    def enter(self, address: str, now: float, cut: Callable[[], None]) -> LoginPlace | None:
        """A place, if need be somebody else's; None if nobody can be cut yet."""
        newcomer = LoginPlace(network_of(address), now, cut)
        with self._lock:
            victim = None
            if len(self) >= self._most:
                victim = self._victim(now)
                if victim is None:
                    return None
                victim.is_cut = True
                self.cut += 1
                self._remove(victim)
            self._by_address.setdefault(newcomer.address, []).append(newcomer)
        if victim is not None:
            victim.cut()
        return newcomer

    def heard(self, stranger: LoginPlace) -> bool:
        """Its request is complete: it keeps its place until it leaves. False if it was cut."""
        with self._lock:
            stranger.is_heard = True
            return not stranger.is_cut

    def leave(self, stranger: LoginPlace) -> None:
        """May be called again, and for one that was cut."""
        with self._lock:
            self._remove(stranger)

    def _victim(self, now: float) -> LoginPlace | None:
        for held in sorted(self._by_address.values(), key=len, reverse=True):
            for stranger in held:
                if not stranger.is_heard and now - stranger.at >= self._patience:
                    return stranger
        return None

    def _remove(self, stranger: LoginPlace) -> None:
        held = self._by_address.get(stranger.address, [])
        if stranger in held:
            held.remove(stranger)
            if not held:
                del self._by_address[stranger.address]


class UserShares:
    """So many places, of which one user cannot take the last quarter."""

    def __init__(self, most: int) -> None:
        self.free = most
        self._of_one = most - most // 4
        self._lock = threading.Lock()
        self._taken: dict[str, int] = {}

    def take(self, who: str) -> bool:
        with self._lock:
            taken = self._taken.get(who, 0)
            if not self.free or taken >= self._of_one:
                return False
            self.free -= 1
            self._taken[who] = taken + 1
            return True

    def give_back(self, who: str) -> None:
        with self._lock:
            self.free += 1
            self._taken[who] -= 1
            if not self._taken[who]:
                del self._taken[who]
