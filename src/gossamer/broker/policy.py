"""The seam to authentication and permissions: the core asks, a shell's classes answer.

The base classes permit everything; `net/` derives the real ones from the configuration.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mypy_extensions import mypyc_attr

from gossamer.broker.settings import Settings
from gossamer.budget.ledger import Account
from gossamer.session.identity import Identity
from gossamer.wire.packets import Connect
from gossamer.wire.reasons import BAD_AUTHENTICATION_METHOD, SUCCESS


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Where a connection comes from, as the shell knows it before a byte is read."""

    address: str
    listener: str
    certificate_user: str = ""  # subject of a verified client certificate
    settings: Settings | None = None  # the listener's own limits, if it has any


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """The answer to a login: `reason` is SUCCESS or the code to refuse with."""

    reason: int = SUCCESS
    user: str = ""
    text: str = ""
    groups: list[str] = field(default_factory=list)
    peer: str = ""  # the name of the broker that has proved to be a neighbour


@dataclass(frozen=True, slots=True, eq=False)
class AuthStep:
    """One answer in an AUTH exchange: more data, or a verdict with final data."""

    data: bytes
    verdict: Verdict | None = None


@mypyc_attr(allow_interpreted_subclasses=True)
class Exchange:
    """One enhanced authentication (SCRAM and the like) in progress."""

    def step(self, data: bytes) -> AuthStep:
        return AuthStep(b"", Verdict(BAD_AUTHENTICATION_METHOD))


@mypyc_attr(allow_interpreted_subclasses=True)
class Authenticator:
    """Who may connect."""

    def authenticate(self, token: int, connect: Connect, origin: Origin) -> Verdict | None:
        """A verdict, or None when it comes later through `Broker.decide(token, verdict, now)`."""
        return Verdict(SUCCESS, connect.username or origin.certificate_user)

    def begin_exchange(self, method: str, origin: Origin) -> Exchange | None:
        """Enhanced authentication by this method, or None if there is no such method."""
        return None


@mypyc_attr(allow_interpreted_subclasses=True)
class Permissions:
    """Who may do what; asked with the topic or filter as it is really read or written."""

    def __init__(self) -> None:
        self.restricts = False  # False: every answer is yes, and need not be asked for
        self.guards_positions = False  # whether some may not see where others are

    def charge(self, account: Account) -> None:
        """What it remembers of its answers is charged there."""

    def close(self) -> None:
        """Others are in force now."""

    def may_publish(self, client: Identity, topic: str) -> bool:
        return True

    def may_subscribe(self, client: Identity, filter: str, is_shared: bool) -> bool:
        """Asked with the filter that is read: without `$share/…`."""
        return True

    def least_participants(self, client: Identity, filter: str) -> int:
        """How many topics of the filter must take part in an aggregate that the client may have,
        though it may not read them; 0 if it may have none."""
        return 0

    def may_receive(self, client: Identity, topic: str) -> bool:
        """Whether a message may reach the client, whichever subscription brings it."""
        return True

    def may_locate(self, client: Identity, user: str) -> bool:
        """Whether the client may see where this user's clients are."""
        return True

    def may_read_everything(self, client: Identity, filters: Sequence[str]) -> bool:
        """Whether nothing on these topics, or in any ordinary one, is kept from the client: no
        topic, and nobody's position."""
        return True

    def may_have_published(self, user: str, client_id: str, topic: str) -> bool:
        """Whether what was retained in this name may still be shown."""
        return True


@mypyc_attr(allow_interpreted_subclasses=True)
class RateMeter:
    """Rate limits of one connection: asked with what arrived, answers how long to stop reading."""

    def pause_after(self, messages: int, size: int, now: float) -> float:
        """Seconds to read nothing more from this client; 0.0 to go on."""
        return 0.0
