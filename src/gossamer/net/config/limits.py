"""`[limits]` and `[rates]`: how much a client, an address or a listener may take, how fast.

A publisher over its rate is read slower, not cut off; connects and logins over theirs are refused.
"""

from typing import Annotated, Literal

from gossamer.budget.division import MEMORY_SHARE
from gossamer.net.config.section import Bounds, Section, setting
from gossamer.net.config.value_types import Duration, Size

# A remaining length has at most four bytes of seven bits, and a header of at most five bytes.
LARGEST_PACKET = 268_435_455 + 5


# Of one table; where it is not set, `budget/division.py` says which part of the memory it is.
Budget = Annotated[Size, Bounds(least=64 << 10)]


class Limits(Section):
    """A listener may override any of these in its own `[listener.limits]`."""

    connections: int = setting(default=100_000, ge=1)
    """Open connections on all listeners, including TLS handshakes. A further one replaces one that
    has not logged in, or is refused."""
    connections_per_address: int = setting(default=0, ge=0)
    """Open connections from one address; 0 for no separate limit."""
    connect_timeout: Duration = setting(default=10.0, gt=0)
    """Time limit for a client to authenticate (TLS, WebSocket, CONNECT and AUTH)."""
    packet_size: Size = setting(default=(1 << 20) + (64 << 10), ge=128, le=LARGEST_PACKET)
    """Largest packet accepted from a client; by default a megabyte of payload fits."""
    login_packet_size: Size = setting(default=128 << 10, ge=128, le=LARGEST_PACKET)
    """Largest packet accepted before the login; by default a will of any size fits."""
    receive_maximum: int = setting(default=1000, ge=1, le=65535)
    """Unacknowledged QoS 1 and 2 publications that a client may have (Receive Maximum)."""
    inflight: int = setting(default=1000, ge=1, le=65535)
    """Unacknowledged QoS 1 and 2 deliveries to one client."""
    queue_messages: int = setting(default=0, ge=0)
    """QoS 1 and 2 messages queued for one client; 0 limits them by bytes only."""
    queue_bytes: Size = setting(default=1 << 30, ge=1024)
    """Bytes queued for one persistent session, in the store: topics, payloads, properties, and 100
    for each message. See also `store.queue_share`."""
    queue_memory: Size = setting(default=64 << 20, ge=1024)
    """Bytes queued for one client in memory: without a store, or if its session ends with its
    connection. As `queue_bytes`, with some 500 for each message."""
    queue_full: Literal["drop-newest", "drop-oldest", "refuse"] = "drop-newest"
    """What happens when a queue is full: new messages are dropped, the oldest are dropped, or
    publishers are refused (details in durability.md)."""
    outbox_bytes: Size = setting(default=1 << 20, ge=4096)
    """Unsent bytes of one connection above which QoS 0 messages to it are dropped."""
    subscriptions: int = setting(default=10_000, ge=1)
    """Subscriptions of one client."""
    topic_levels: int = setting(default=200, ge=1, le=65536)
    """Levels of a topic or filter."""
    topic_aliases: int = setting(default=1000, ge=0, le=65535)
    """Topic aliases that a client may set on one connection."""
    user_properties: int = setting(default=100, ge=0)
    """User properties in one packet, not counting geolocation; more close the connection."""
    keep_alive: int = setting(default=0, ge=0, le=65535)
    """Maximum keep alive in seconds; a client that requests more (or none) gets this one; 0 for no
    maximum."""
    session_expiry: Duration = setting(default=30 * 86400.0, le=0xFFFFFFFF)
    """Longest session expiry that a client can have."""
    sessions: int = setting(default=1_000_000, ge=1)
    """Sessions of connected and offline clients."""
    sessions_per_user: int = setting(default=0, ge=0)
    """Sessions of one user, or of one address without user names; 0 for half of `sessions`."""
    offline_sessions_per_user: int = setting(default=0, ge=0)
    """Of those, persistent sessions; 0 for no separate limit. An existing session can always be
    resumed."""
    retained_messages: int = setting(default=1_000_000, ge=0)
    """Total number of retained messages."""
    memory: Size = setting(default=0, ge=0)
    """Memory available to this broker; 0 for the machine's, or the limit of its control group if
    that is less. Budgets below that are not set are parts of it. With several brokers on one
    machine, set it for each."""
    memory_share: float = setting(default=MEMORY_SHARE, gt=0, le=1)
    """Part of the memory for all budgets together."""
    route_bytes: Budget | None = None
    """Memory for topics in use, with their receivers; a cache that evicts the oldest."""
    grant_bytes: Budget | None = None
    """Memory for cached permission decisions."""
    alias_bytes: Budget | None = None
    """Memory for topic aliases, in both directions."""
    packet_bytes: Budget | None = None
    """Memory for partially received packets; at least four of `packet_size`."""
    session_bytes: Budget | None = None
    """Memory for sessions with their client ids and wills, without queues."""
    subscription_bytes: Budget | None = None
    """Memory for subscriptions, their filters and their tree."""
    retained_bytes: Budget | None = None
    """Memory for retained messages: topics, payloads, properties."""
    mesh_bytes: Budget | None = None
    """Memory for the state that all brokers of a mesh share: some 2 KB for each persistent session
    in the mesh."""
    directed_bytes: Budget | None = None
    """Memory for messages to one broker of a mesh that wait on the way to it."""
    operator_bytes: Budget | None = None
    """Memory for operator subscriptions, their windows and values."""
    geo_bytes: Budget | None = None
    """Memory for areas and their visitors."""
    delivery_bytes: Budget | None = None
    """Memory for QoS 1 and 2 messages that wait for clients, or that they have not acknowledged, of
    all of them together; a message counts once. Past it they wait in the store, and where there is
    none `queue_full` decides."""
    unsent_bytes: Budget | None = None
    """Memory for output that clients have not read, of all that are more than 64 KiB behind. Past
    it they count as slow before `outbox_bytes`: QoS 0 to them is dropped."""
    archive_bytes: Budget | None = None
    """Memory for payloads to be archived; above it QoS 0 is not archived."""
    client_share: float = setting(default=0.25, gt=0, le=1)
    """Part of each of these budgets that one client may hold."""
    user_share: float = setting(default=0.5, gt=0, le=1)
    """Part that the clients of one user may hold."""
    address_share: float = setting(default=0.5, gt=0, le=1)
    """Part that clients from one address may hold."""
    turn: Duration = setting(default=0.000_25, gt=0)
    """Time spent on the input of one connection before the others get their turn."""


class Rates(Section):
    """Rates are per second unless stated otherwise; 0 means no limit."""

    connects_per_address: float = setting(default=0, ge=0)
    """New connections from one address."""
    publishes_per_client: float = setting(default=0, ge=0)
    """Publications of one connection."""
    publishes_per_address: float = setting(default=0, ge=0)
    """Publications from one address."""
    bytes_per_client: float = setting(default=0, ge=0)
    """Bytes read from one connection."""
    bytes_per_address: float = setting(default=0, ge=0)
    """Bytes read from one address."""
    burst: Duration = setting(default=5.0, gt=0)
    """Burst: how many seconds' worth of a rate may come at once."""
    failed_logins_per_minute: float = setting(default=30, ge=0)
    """Failed logins from one address per minute; more have to wait."""
