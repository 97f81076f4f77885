"""The seam to the mesh: what the core tells it, and what it answers. The base has no neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.policy import Exchange, Origin
from gossamer.geo.earth import Point
from gossamer.session.message import Message
from gossamer.session.publisher import NEIGHBOUR_PREFIX
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver, Subscription

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection
    from gossamer.broker.geofences import LocatedSubscription
    from gossamer.broker.operator_subscriptions import Operation
    from gossamer.broker.session_start import AcceptedLogin
    from gossamer.plus.counted_windows import CountedWindows
    from gossamer.plus.entered_values import EnteredValues

# Client ids of neighbours begin with this, and no client's may.
PEER_PREFIX: Final = NEIGHBOUR_PREFIX
# And those of the sessions that wait for brokers of other makes with this, likewise.
BRIDGE_PREFIX: Final = "$stock/"
# The method of enhanced authentication that neighbours use.
PEER_METHOD: Final = "GOSSAMER-MESH-1"
# Topics that never leave the broker they are published on.
LOCAL_TOPICS: Final = ("$SYS/", "$gossamer/")
CONTROL_TOPIC: Final = "$gossamer/mesh"
# Behind everything that a broker has sent on a link: see `mesh/tree/agreement.py`.
MARKER_TOPIC: Final = "$gossamer/settle"

# What is to be done with a message that came over a link.
REPEATED: Final = 0  # nothing: it came before, by another way
NEW: Final = 1  # what is done with any message
REBROADCAST: Final = 2  # it is delivered here, and goes to every neighbour
PASSED: Final = 3  # it was delivered here before, and goes to every neighbour
MIXED: Final = 4  # the messages of this run are to be asked for one by one
# What is for one broker only, and reaches it by way of others.
DIRECTED_TOPIC: Final = "$gossamer/errand"
# The same in a form that holds any of them. A broker that does not know it refuses the message, and
# the link stands.
ENVELOPE_TOPIC: Final = "$gossamer/envelope"
DIRECTED_TOPICS: Final = (DIRECTED_TOPIC, ENVELOPE_TOPIC)
# What every broker keeps for all of them; clients neither read nor write it.
SHARED_TOPICS: Final = "$mesh/"
# The room of the store that has it.
SHARED_ROOM: Final = "mesh/shared"


class NeighbourInterest:
    """What is wanted behind one neighbour, where it has not named that in filters. The mesh knows
    in which form it was advertised; routes ask for topics, and places and values can follow."""

    __slots__ = ("subscription",)

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription  # the neighbour's, to all that matches

    def matches(self, topic: str) -> bool:
        """Asked once for each route, when it is refreshed; a change must make routes stale."""
        return False


class Need:
    """What other brokers were told that one subscription needs. If that follows its client, it
    holds while the client is within `margin` metres of the `centre`."""

    __slots__ = ("at", "centre", "interests", "margin")

    def __init__(
        self, interests: tuple[str, ...], centre: Point | None, margin: float, at: float
    ) -> None:
        self.interests = interests
        self.centre = centre
        self.margin = margin
        self.at = at


class MeshPort:
    """A broker that stands alone."""

    def wanted(self, interest: str, by: Session) -> None:
        """A session subscribed to the filter, or to what a condition lets through of it
        (`broker/conditions.py`)."""

    def unwanted(self, interest: str, by: Session) -> None:
        """A session does not subscribe to that any more."""

    def unsubscribed(self, session: Session, filter: str) -> None:
        """A session let go of the subscription that it made by this filter."""

    def needs(self, subscription: Subscription) -> tuple[str, ...]:
        """The interests in what other brokers must send here for this subscription; the same as
        long as it is entered, but for what the three methods below say that changed."""
        return subscription.reads()

    def moved(self, subscription: LocatedSubscription, now: float) -> None:
        """The client that this one follows is somewhere else."""

    def areas_changed(self, subscription: LocatedSubscription) -> None:
        """A place that it names is elsewhere now, or gone."""

    def rights_changed(self) -> None:
        """Others may see now where clients are."""

    def operation_opened(self, operation: Operation, now: float) -> None:
        """Somebody will subscribe to an operator that nobody here had subscribed to."""

    def counted(self, state: CountedWindows, now: float) -> None:
        """What was counted for others before this moment is all there now."""

    def noted(self, state: EnteredValues, now: float) -> None:
        """Values from before this moment are among those that others have to be told."""

    def operation_closed(self, operation: Operation) -> None:
        """Nobody has subscribed to it for a while."""

    def clock_set(self, now: float) -> None:
        """The wall clock shows another time than it would have."""

    def group_changed(self, name: str) -> None:
        """A member came to this shared group or left it."""

    def presence_changed(self, session: Session) -> None:
        """The session's client came or went."""

    def check_directed(self, message: Message) -> None:
        """ProtocolError if what a neighbour passed on is malformed; nothing has changed then."""

    def directed(
        self, session: Session, message: Message, is_rebroadcast: bool, now: float
    ) -> None:
        """A neighbour passed something on that is for one broker only."""

    def refuses_client(self, client_id: str, user: str, now: float) -> bool:
        """Whether the id belongs to somebody else, on another broker."""
        return False

    def has_room(self, client_id: str, now: float) -> bool:
        """Whether the mesh knows of the client's session, or can know of one more."""
        return True

    def fetches(self, login: AcceptedLogin, now: float) -> bool:
        """Whether the login must wait until its session is here; `resume` it then."""
        return False

    def entered(self, login: AcceptedLogin, session: Session, now: float) -> None:
        """A client is connected."""

    def ended(self, session: Session, now: float) -> None:
        """A session is no more."""

    def begin_exchange(self, origin: Origin) -> Exchange | None:
        """Somebody who says it is a neighbour wants to prove it."""
        return None

    def refuses(self, name: str) -> str:
        """Why the connection of a neighbour that has proved its name is not wanted; "" if it is."""
        return ""

    def opened(self, connection: Connection, now: float) -> None:
        """A neighbour's connection stands."""

    def closed(self, connection: Connection, now: float) -> None:
        """A neighbour's connection is gone."""

    def control(self, connection: Connection, payload: bytes, now: float) -> None:
        """A neighbour sent a control message."""

    def admit(self, by: Session, message: Message, now: float) -> tuple[int, Message]:
        """What to do with a message from this neighbour, and it, perhaps by another name."""
        return NEW, message

    def admit_run(self, by: Session, message: Message, now: float) -> int:
        """The same for a run; nothing was noted of it if the answer is MIXED."""
        return NEW

    def set_aside(self, connection: Connection, what: str, now: float) -> None:
        """A message of a neighbour's could not be taken in, and never will be."""

    def refused(self, connection: Connection, packet_id: int, reason: int, now: float) -> None:
        """A neighbour does not take the message that it was sent by this identifier, and never
        will."""

    def marker(self, connection: Connection, payload: bytes, now: float) -> None:
        """A neighbour's marker came, behind everything that it had sent before."""

    def stamped(self, message: Message, now: float) -> Message:
        """The message as it travels between brokers when it is retained."""
        return message

    def serve_owed(self, session: Session, now: float) -> None:
        """A neighbour takes more of the retained messages that it lacks."""

    def links(self) -> list[Receiver]:
        """The neighbours that get what is for all, connected or not."""
        return []

    def end_turn(self, now: float) -> None:
        """The chunk is handled: tells the neighbours what changed in it."""
