"""All stock brokers that this broker knows: who owns them, and what they are asked for."""

from __future__ import annotations

import logging
from typing import Final

from gossamer.broker.agenda import Duty
from gossamer.broker.ending import end_session
from gossamer.broker.neighbours import STOCK_PREFIX
from gossamer.mesh.mesh import Mesh
from gossamer.mesh.stock.claims import SAY_SECONDS, STOCK_WORD, Claims, encode_claims
from gossamer.mesh.stock.settings import StockSettings
from gossamer.mesh.stock.stock import Stock, stock_room
from gossamer.session.session import Session

logger = logging.getLogger(__name__)

# Time to hear of an owner before this broker makes itself one.
_GRACE_SECONDS: Final = 2.0
# Time for the mesh to learn what a new owner exports, before the old one lets go.
_HANDOVER_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.5


class Stocks:
    """Attach it to a mesh before the first link stands."""

    def __init__(self, mesh: Mesh, settings: list[StockSettings], now: float) -> None:
        self.mesh = mesh
        self.by_name: dict[str, Stock] = {}
        self.claims = Claims()
        self._shared: set[str] = set()  # filters of groups
        self._shared_seen = -1
        self._starts_at = now + _GRACE_SECONDS
        self._said = b""
        self._said_at = 0.0
        core = mesh.core
        self._end_unknown({STOCK_PREFIX + each.name for each in settings}, now)
        for each in settings:
            stock = Stock(core, each, mesh.settings.mesh, mesh.settings.name)
            self.by_name[each.name] = stock
            for session in core.sessions.values():
                if session is not stock.session:
                    for read in mesh.needed_by(session):
                        stock.wants.add(read)
        mesh.stocks = self
        mesh.flooding.handlers[STOCK_WORD] = self.hear
        core.agenda.add(now, _Look(self))

    def hear(self, broker: str, body: bytes, now: float) -> None:
        self.claims.hear(broker, body, now)

    def wanted(self, filter: str, by: Session) -> None:
        for stock in self.by_name.values():
            if stock.session is not by:
                stock.wants.add(filter)

    def unwanted(self, filter: str, by: Session) -> None:
        for stock in self.by_name.values():
            if stock.session is not by:
                stock.wants.remove(filter)

    def end_turn(self, now: float) -> None:
        # A neighbour among these does not name its filters.
        is_blind = bool(self.mesh.core.routes.peers)
        if self.mesh.directory.changes != self._shared_seen:
            self._look_at_groups()
        for stock in self.by_name.values():
            stock.wants.set_blind(is_blind)
            stock.tell(now)

    def _look_at_groups(self) -> None:
        """What shared groups read is told to no neighbour; every broker knows it by itself."""
        self._shared_seen = self.mesh.directory.changes
        shared = self.mesh.directory.filters() if self.mesh.settings.is_joint else set()
        for stock in self.by_name.values():
            for filter in sorted(shared - self._shared):
                stock.wants.add(filter)
            for filter in sorted(self._shared - shared):
                stock.wants.remove(filter)
        self._shared = shared

    def look(self, now: float) -> None:
        """Whoever should own them does; and the mesh hears of it."""
        if now >= self._starts_at:
            for stock in self.by_name.values():
                try:
                    self._settle(stock, now)
                except Exception as error:
                    self.mesh.core.faults.note("a stock broker", error, stock.name, now)
        reached = {
            name
            for name, stock in self.by_name.items()
            if stock.is_reached and now >= stock.yields_until
        }
        owned = {name for name in reached if self.by_name[name].is_owner}
        claims = encode_claims(reached, owned)
        if claims != self._said or abs(now - self._said_at) >= SAY_SECONDS:
            self._said = claims
            self._said_at = now
            self.mesh.flooding.say(STOCK_WORD, claims, now)

    def leave(self, now: float) -> None:
        """This broker stops: another may take its place at once."""
        self.mesh.flooding.say(STOCK_WORD, encode_claims(set(), set()), now)

    def _settle(self, stock: Stock, now: float) -> None:
        own = self.mesh.settings.name
        reaching = self.claims.reaching(stock.name, now)
        if stock.is_reached and now >= stock.yields_until:
            reaching.append(own)
        if not reaching:
            return  # nobody does better than whoever has it
        if min(reaching) == own:
            stock.own(now)
            return
        stock.stand_by(now)
        if stock.session.subscriptions and self.claims.is_owned(stock.name, now):
            stock.handed_over_at = stock.handed_over_at or now
            if now - stock.handed_over_at >= _HANDOVER_SECONDS:
                stock.hand_over()

    def _end_unknown(self, known: set[str], now: float) -> None:
        """What waits for a stock broker that is configured no more will never be sent."""
        core = self.mesh.core
        for client_id, session in list(core.sessions.items()):
            if client_id.startswith(STOCK_PREFIX) and client_id not in known:
                logger.warning("%s is configured no more: what waited for it is dropped", client_id)
                end_session(core, session, now)
                core.journal.drop_room(stock_room(client_id[len(STOCK_PREFIX) :]))


class _Look(Duty):
    def __init__(self, stocks: Stocks) -> None:
        self._stocks = stocks

    def fire(self, now: float) -> float:
        self._stocks.look(now)
        return now + _LOOK_SECONDS
