"""Sessions that follow their clients: whoever a client connects to claims its session.

The rule: subscriptions, queue, position and received identifiers of both directions move as one
thing, and have one owner at every instant. The broker that has the session owns it until the
transaction in which it hands it over; from then on the directed messages of that transfer are the
session; the broker that they reach owns it with the transaction that installs it. Who has owned it
keeps no part of it: it passes on what still comes, as long as the owner has the subscription.
`docs/mesh-reference.md` has the steps, with what is durable and what a crash at each leads to.

The broker that has it hears of the claim, ends its connection (0x8E) and hands everything over; the
client's CONNECT is answered when that is done, or when it takes too long. Then the client begins
with a new session, and what the old one kept comes to it when the brokers reach each other.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from gossamer.broker.session_end import disconnect_session, end_session
from gossamer.broker.session_start import AcceptedLogin, resume
from gossamer.broker.timers import Timer
from gossamer.mesh.directed.message import NO_MESSAGE, DirectedMessage
from gossamer.mesh.directed.router import DirectedHandler
from gossamer.mesh.link import Link
from gossamer.mesh.roaming.departed import TAKEN_OVER, TRANSFER_QOS, DepartedSessions
from gossamer.mesh.roaming.incoming import IncomingSessions
from gossamer.mesh.roaming.register import ClaimListener, Presence, SessionClaim, SessionRegister
from gossamer.mesh.roaming.transfer_state import ARRIVING, HERE, TransferStates
from gossamer.session.session import Session
from gossamer.wire import reasons

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

logger = logging.getLogger(__name__)

# The directed message of a broker that was asked for a session and has none.
NOTHING: Final = "nothing"


class Roaming(ClaimListener):
    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self._core = mesh.core
        self._own = mesh.settings.name
        self.transfers: TransferStates = TransferStates(mesh.core)
        self.claims: SessionRegister = SessionRegister(mesh, self)
        self.departed_sessions: DepartedSessions = DepartedSessions(mesh, self.transfers)
        self.incoming_sessions = IncomingSessions(self)
        self._waiting: dict[str, AcceptedLogin] = {}
        self._insisted: set[str] = set()  # of those who wait: their claims were repeated once
        self._expected: set[str] = set()  # claimed from others, and not come yet
        self.presence: Presence = Presence(mesh)
        self._ended: dict[str, dict[str, None]] = {}  # filters of this turn, by client id
        self._stuck: dict[str, None] = {}  # sessions of others, to which no way leads yet
        self._seen_changes = -1
        mesh.router.handlers[NOTHING] = Nothing(self)

    def load(self, now: float) -> None:
        """What the store kept."""
        self.transfers.load()
        self.incoming_sessions.names.load()
        for claim in self.claims.all(now):
            is_own = claim.owner == self._own and claim.prior != ""
            if is_own and claim.client_id not in self._core.sessions:
                self._expected.add(claim.client_id)
        for session in list(self._core.sessions.values()):
            if session.is_peer or not session.persistent:
                continue
            where = self.transfers.of(session)
            if where.is_away():
                self.departed_sessions.restore(session, now)
                continue
            if where.state != HERE:
                self.incoming_sessions.restore(session, now)
                self.departed_sessions.came(session)  # when it did is not known any more
            self.claims.here(session.client_id)
            self._stuck[session.client_id] = None

    # Logins -------------------------------------------------------------------------------------

    def refuses(self, client_id: str, user: str, now: float) -> bool:
        claim = self.claims.find(client_id, now)
        return claim is not None and claim.owner != "" and claim.user != user

    def fetches(self, login: AcceptedLogin, now: float) -> bool:
        if login.is_assigned or login.connect.clean_start:
            return False
        client_id = login.client_id
        claim = self.claims.find(client_id, now)
        if claim is None or not claim.owner:
            return False
        session = self._core.sessions.get(client_id)
        is_here = session is not None and self.transfers.of(session).is_here()
        if claim.owner != self._own:
            self._claim(login.client_id, login.user, claim.cleared, claim.owner, now)
        elif not claim.prior:
            return False
        if is_here:
            return False
        earlier = self._waiting.get(client_id)
        if earlier is not None:
            earlier.connection.fail(reasons.SESSION_TAKEN_OVER, "", now)
        self._insisted.discard(client_id)
        self._waiting[client_id] = login
        self._core.timers.add(now + self.mesh.settings.roaming_seconds, WaitEnd(self, login))
        return True

    def arrived(self, client_id: str, now: float) -> None:
        """Its session is here, or there is none: whoever waits for it goes on."""
        self._expected.discard(client_id)
        claim = self.claims.find(client_id, now)
        if claim is not None and claim.owner != self._own:
            self.claimed(claim, now)
        login = self._waiting.pop(client_id, None)
        if login is not None:
            resume(login, now)

    def wait_ended(self, login: AcceptedLogin, now: float) -> None:
        if self._waiting.get(login.client_id) is login:
            del self._waiting[login.client_id]
            resume(login, now)

    def entered(self, login: AcceptedLogin, session: Session, now: float) -> None:
        if login.is_assigned:
            return
        client_id = session.client_id
        micros = self.mesh.next_micros(now)
        self.presence.came(client_id, micros)
        where = self.transfers.of(session)
        if where.is_away():
            self.departed_sessions.forget(client_id)
            where.state = HERE
        if not where.since:
            where.since = micros
        self.transfers.save(session)
        claim = self.claims.find(client_id, now)
        cleared = 0 if claim is None else claim.cleared
        is_claimed = claim is not None and claim.owner == self._own
        if login.connect.clean_start:
            cleared = where.since
            is_claimed = False
        if session.persistent:
            if not is_claimed:
                self._claim(client_id, session.user, cleared, "", now)
            return
        if login.connect.clean_start and claim is not None:
            self.claims.write(SessionClaim(client_id, "", session.user, micros, cleared, ""), now)
        self.presence.tell(session, now)

    def ended(self, session: Session, now: float) -> None:
        client_id = session.client_id
        self.incoming_sessions.names.forget(session)
        self.departed_sessions.before.pop(client_id, None)
        where = self.transfers.of(session)
        self.transfers.forget(session)
        if where.is_away():
            self.departed_sessions.forget(client_id)
            return
        for broker in where.passing:
            self.tell_ended(broker, client_id, [], now)
        claim = self.claims.find(client_id, now)
        if claim is not None and claim.owner == self._own:
            self.claims.remove(client_id, now)

    def unsubscribed(self, session: Session, filter: str) -> None:
        if self.transfers.passing(session):
            self._ended.setdefault(session.client_id, {})[filter] = None

    # Claims of others ---------------------------------------------------------------------------

    def claimed(self, claim: SessionClaim, now: float) -> None:
        client_id = claim.client_id
        self._stuck.pop(client_id, None)
        if claim.owner == self._own:
            return
        login = self._waiting.get(client_id)
        if login is not None:
            if client_id not in self._insisted:
                # It may not have known of that one; whoever is really newer insists after us.
                self._insisted.add(client_id)
                self._claim(client_id, login.user, claim.cleared, claim.owner, now)
                return
            del self._waiting[client_id]
            text = f"this client has connected to {claim.owner}; try again if it has not"
            login.connection.fail(reasons.SERVER_BUSY, text, now)
        session = self._core.sessions.get(client_id)
        if session is None:
            self._answer_nothing(claim, now)
            return
        where = self.transfers.of(session)
        if where.is_away() or where.state == ARRIVING:
            return
        if session.user != claim.user:
            logger.warning(
                "client id %r is in use by two users, here and on %s", client_id, claim.owner
            )
            return
        if self.presence.since(client_id) > claim.at:
            self._claim(client_id, session.user, claim.cleared, claim.owner, now)
        elif not claim.owner or where.since < claim.cleared:
            disconnect_session(self._core, session, reasons.SESSION_TAKEN_OVER, "", now)
            if self._core.sessions.get(client_id) is session:
                end_session(self._core, session, now)
        elif not self.departed_sessions.give(session, claim.owner, now):
            self._stuck[client_id] = None
        elif client_id not in self._core.sessions:
            self._answer_nothing(claim, now)

    def unclaimed(self, client_id: str, now: float) -> None:
        session = self._core.sessions.get(client_id)
        if session is None or not session.persistent:
            return
        if not self.transfers.of(session).is_away():
            self._claim(client_id, session.user, 0, "", now)

    def end_turn(self, now: float) -> None:
        if self._ended:
            self._tell_ended(now)
        self.departed_sessions.end_turn(now)
        self.incoming_sessions.names.end_turn()
        if self._stuck and self._seen_changes != self.mesh.reachability.changes:
            self._seen_changes = self.mesh.reachability.changes
            for client_id in list(self._stuck):
                claim = self.claims.find(client_id, now)
                if claim is None:
                    del self._stuck[client_id]
                else:
                    self.claimed(claim, now)

    def _tell_ended(self, now: float) -> None:
        """Who passes messages on for these subscriptions is to do so no more."""
        ended, self._ended = self._ended, {}
        for client_id, filters in ended.items():
            session = self._core.sessions.get(client_id)
            if session is None:
                continue
            gone = [filter for filter in filters if filter not in session.subscriptions]
            for broker in self.transfers.passing(session) if gone else ():
                self.tell_ended(broker, client_id, gone, now)

    def tell_ended(self, broker: str, client_id: str, filters: list[str], now: float) -> None:
        """To one that passes messages on: no more for these filters; for nothing, if there are
        none."""
        fields: dict[str, object] = {
            "client": client_id,
            "source": self._own,
            "ended": filters,
            "ends": not filters,
        }
        directed = DirectedMessage(TAKEN_OVER, broker, fields, NO_MESSAGE)
        self.mesh.router.send(directed, TRANSFER_QOS, now)

    def _claim(self, client_id: str, user: str, cleared: int, prior: str, now: float) -> None:
        if prior:
            self._expected.add(client_id)
        at = self.mesh.next_micros(now)
        self.claims.write(SessionClaim(client_id, self._own, user, at, cleared, prior), now)

    def _answer_nothing(self, claim: SessionClaim, now: float) -> None:
        if claim.prior == self._own and claim.owner and claim.client_id not in self._expected:
            directed = DirectedMessage(
                NOTHING, claim.owner, {"client": claim.client_id}, NO_MESSAGE
            )
            self.mesh.router.send(directed, TRANSFER_QOS, now)


class Nothing(DirectedHandler):
    def __init__(self, roaming: Roaming) -> None:
        self._roaming = roaming

    def check(self, directed: DirectedMessage) -> None:
        directed.text("client")

    def run(self, directed: DirectedMessage, origin: Link, now: float) -> None:
        self._roaming.arrived(directed.text("client"), now)


class WaitEnd(Timer):
    """A session that cannot be had in time is done without."""

    def __init__(self, roaming: Roaming, login: AcceptedLogin) -> None:
        self._roaming = roaming
        self._login = login

    def fire(self, now: float) -> float:
        self._roaming.wait_ended(self._login, now)
        return 0.0
