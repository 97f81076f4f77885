"""What the parts of one broker share: its tables, its settings, and who answers for policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.archive_port import ArchivePort
from gossamer.broker.chores import Chores
from gossamer.broker.conditions import Judgements
from gossamer.broker.locations import Locations
from gossamer.broker.loop_turns import LoopTurns
from gossamer.broker.memory_report import Usage
from gossamer.broker.mesh_port import SHARED_ROOM, SHARED_TOPICS, MeshPort
from gossamer.broker.named_areas import NamedAreas
from gossamer.broker.operators import Operators
from gossamer.broker.policy import Authenticator, Permissions
from gossamer.broker.ports import Tracer
from gossamer.broker.refusals import Refusals
from gossamer.broker.retained import Retained
from gossamer.broker.routes import RouteTable
from gossamer.broker.session_quotas import SessionQuotas
from gossamer.broker.settings import Settings
from gossamer.broker.timers import Timer, Timers
from gossamer.budget.division import ARCHIVE
from gossamer.budget.ledger import Ledger
from gossamer.plus.engine import Engine
from gossamer.session.counters import Counters
from gossamer.session.hub import Hub
from gossamer.session.journal import Journal
from gossamer.session.message import Message
from gossamer.session.message_bytes import packed_message
from gossamer.session.session import Session

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection
    from gossamer.broker.restore import Restoring


# Where a connection stands; the order matters: everything below OPEN has not logged in.
AWAITING_CONNECT: Final = 0
DECIDING: Final = 1  # somebody else decides about the login
OPEN: Final = 2
LEAVING: Final = 3  # the broker stops: what has begun is brought to its end, and nothing begins
CLOSED: Final = 4


class Core:
    """State only; the modules beside this one are the behaviour."""

    __slots__ = (
        "archive",
        "authenticator",
        "chores",
        "connections",
        "counters",
        "delayed_wills",
        "expiries",
        "faults",
        "hub",
        "is_meshed",
        "journal",
        "judgements",
        "last_token",
        "ledger",
        "locations",
        "neighbours",
        "operators",
        "permissions",
        "places",
        "policy_changes",
        "refusals",
        "restoring",
        "retained",
        "rooms",
        "routes",
        "session_quotas",
        "sessions",
        "settings",
        "shared",
        "started_at",
        "stopping",
        "timers",
        "tracer",
        "turns",
        "usage",
        "wall_offset",
    )

    def __init__(self, settings: Settings, journal: Journal, engine: Engine, now: float) -> None:
        self.settings = settings
        self.journal = journal
        self.counters = Counters()
        self.ledger = Ledger()
        self.archive = ArchivePort()  # none, until `Broker.begin_archiving`
        self.put_budgets_in_force()
        self.hub = Hub(journal, self.counters)
        self.hub.deliveries.account = self.ledger.deliveries
        self.hub.unsent = self.ledger.unsent
        self.routes = RouteTable(self.ledger.routes, self.ledger.subscriptions)
        self.retained = Retained(journal, self.counters, self.ledger.retained)
        # What brokers of a mesh keep for each other: it travels as retained messages do, and is
        # none of the clients'.
        shared_journal = RoomJournal(journal, SHARED_ROOM)
        self.shared = Retained(shared_journal, Counters(), self.ledger.mesh, keeps_stamps=True)
        self.refusals = Refusals()
        self.faults = self.hub.faults
        self.turns = LoopTurns()
        self.timers = Timers(self.faults, self.turns)
        # Timers of sessions whose clients are away, by client id.
        self.expiries: dict[str, Timer] = {}
        self.delayed_wills: dict[str, Timer] = {}
        self.chores = Chores()
        self.operators = Operators(self, engine)
        self.locations = Locations(self)
        self.places = NamedAreas(self)
        self.authenticator = Authenticator()
        self.permissions = Permissions()
        self.neighbours = MeshPort()
        self.is_meshed = False
        self.judgements: dict[str, Judgements] = {}  # by the client id of a neighbour
        self.tracer = Tracer()
        self.policy_changes = 0  # connections forget what they knew to be allowed when it grows
        # What rooms kept in an earlier life; each takes its own as it begins.
        self.rooms: dict[str, dict[str, bytes]] = {}
        self.restoring: Restoring | None = None  # until it has all that the store held
        self.sessions: dict[str, Session] = {}
        self.session_quotas = SessionQuotas()
        self.connections: dict[int, Connection] = {}  # by token
        self.usage = Usage(self.sessions, self.connections)
        self.last_token = 0
        self.started_at = now
        self.wall_offset = 0.0  # what the wall clock shows more than the time passed in
        self.stopping = False

    def join_mesh(self, neighbours: MeshPort) -> None:
        """From now on the broker has neighbours, or may have."""
        self.neighbours = neighbours
        self.is_meshed = True

    def put_budgets_in_force(self) -> None:
        """Those of the settings: what each table may hold, and each client of it."""
        settings = self.settings
        self.ledger.allow(
            settings.budgets, settings.client_share, settings.user_share, settings.address_share
        )
        self.archive.most_waiting = settings.budgets[ARCHIVE]

    def common_time(self, now: float) -> float:
        """For what brokers compare with each other: the wall clock's, unless that is ahead.

        A clock that is far ahead would win every comparison, at every broker and for ever; one that
        is behind is made up for by what was seen of others.
        """
        return min(now, now + self.wall_offset)

    def retained_for(self, topic: str) -> Retained:
        """The table that a retained message with this topic belongs to."""
        return self.shared if topic.startswith(SHARED_TOPICS) else self.retained


class RoomJournal(Journal):
    """Keeps a table of retained messages in a room of the store, apart from those of clients: their
    topics are the room's keys."""

    def __init__(self, journal: Journal, room: str) -> None:
        super().__init__()
        self._journal = journal
        self._room = room

    def retained_saved(self, message: Message, replaced: int) -> int:
        self._journal.keep(self._room, message.topic, packed_message(message))
        return 0

    def retained_removed(self, topic: str, stored: int) -> None:
        self._journal.drop(self._room, topic)


class Unfinished:
    """The rest of the work for one packet that is too much for one turn: it is done in parts, and
    others are served between. A connection has one at most.

    What follows the packet on its connection waits until it is done, so that a client sees its
    packets handled in their order. No answer is given before the end. What it holds meanwhile is
    charged; where there is no room for that, it is done at once.
    """

    def __init__(self, size: int) -> None:
        self.size = size  # bytes that the packet takes as long as it is not done

    def go_on(self, connection: Connection, now: float) -> bool:
        """Does the next part; True if it was the last."""
        return True
