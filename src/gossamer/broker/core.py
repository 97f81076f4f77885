"""What the parts of one broker share: its tables, its settings, and who answers for policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.broker.agenda import Agenda, Duty
from gossamer.broker.locations import Locations
from gossamer.broker.neighbours import SHARED_ROOM, SHARED_TOPICS, Neighbours
from gossamer.broker.operators import Operators
from gossamer.broker.policy import Authenticator, Permissions
from gossamer.broker.refusing import Refusals
from gossamer.broker.retained import Retained
from gossamer.broker.room_journal import RoomJournal
from gossamer.broker.routes import RouteTable
from gossamer.broker.session_quotas import SessionQuotas
from gossamer.broker.settings import Settings
from gossamer.broker.tally import Tally
from gossamer.broker.tracing import Tracer
from gossamer.budget.ledger import Ledger
from gossamer.plus.engine import Engine
from gossamer.session.counters import Counters
from gossamer.session.journal import Journal
from gossamer.session.outlet import Hub
from gossamer.session.session import Session

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection


class Core:
    """State only; the modules beside this one are the behaviour."""

    __slots__ = (
        "agenda",
        "authenticator",
        "connections",
        "counters",
        "delayed_wills",
        "expiries",
        "faults",
        "hub",
        "journal",
        "last_token",
        "ledger",
        "locations",
        "neighbours",
        "operators",
        "permissions",
        "policy_changes",
        "refusals",
        "retained",
        "rooms",
        "routes",
        "session_quotas",
        "sessions",
        "settings",
        "shared",
        "started_at",
        "stopping",
        "tally",
        "tracer",
        "wall_offset",
    )

    def __init__(self, settings: Settings, journal: Journal, engine: Engine, now: float) -> None:
        self.settings = settings
        self.journal = journal
        self.counters = Counters()
        self.ledger = Ledger()
        self.ledger.allow(
            settings.budgets, settings.client_share, settings.user_share, settings.address_share
        )
        self.hub = Hub(journal, self.counters)
        self.routes = RouteTable(self.ledger.routes, self.ledger.subscriptions)
        self.retained = Retained(journal, self.counters, self.ledger.retained)
        # What brokers of a mesh keep for each other: it travels as retained messages do, and is
        # none of the clients'.
        shared_journal = RoomJournal(journal, SHARED_ROOM)
        self.shared = Retained(shared_journal, Counters(), self.ledger.mesh, keeps_stamps=True)
        self.refusals = Refusals()
        self.faults = self.hub.faults
        self.agenda = Agenda(self.faults)
        # Timers of sessions whose clients are away, by client id.
        self.expiries: dict[str, Duty] = {}
        self.delayed_wills: dict[str, Duty] = {}
        self.operators = Operators(self, engine)
        self.locations = Locations(self)
        self.authenticator = Authenticator()
        self.permissions = Permissions()
        self.neighbours = Neighbours()
        self.tracer = Tracer()
        self.policy_changes = 0  # connections forget what they knew to be allowed when it grows
        # What rooms kept in an earlier life; each takes its own as it begins.
        self.rooms: dict[str, dict[str, bytes]] = {}
        self.sessions: dict[str, Session] = {}
        self.session_quotas = SessionQuotas()
        self.connections: dict[int, Connection] = {}  # by token
        self.tally = Tally(self.sessions, self.connections)
        self.last_token = 0
        self.started_at = now
        self.wall_offset = 0.0  # what the wall clock shows more than the time passed in
        self.stopping = False

    def common_time(self, now: float) -> float:
        """For what brokers compare with each other: the wall clock's, unless that is ahead.

        A clock that is far ahead would win every comparison, at every broker and for ever; one that
        is behind is made up for by what was seen of others.
        """
        return min(now, now + self.wall_offset)

    def retained_for(self, topic: str) -> Retained:
        """The table that a retained message with this topic belongs to."""
        return self.shared if topic.startswith(SHARED_TOPICS) else self.retained
