"""`[limits]`: how much one client, one address or one listener may take."""

from typing import Literal

from pydantic import Field

from gossamer.net.config.section import Section
from gossamer.net.config.units import Duration, Size

# A remaining length has at most four bytes of seven bits, and a header of at most five bytes.
LARGEST_PACKET = 268_435_455 + 5


class Limits(Section):
    """A listener may override any of these in its own `[listener.limits]`."""

    connections: int = Field(
        default=100_000,
        ge=1,
        description="Open connections, on all listeners, TLS handshakes among them; more push out "
        "one that has not logged in, or are told that there is no room.",
    )
    connections_per_address: int = Field(
        default=0, ge=0, description="Open connections from one address; 0 for no limit of its own."
    )
    connect_timeout: Duration = Field(
        default=10.0,
        gt=0,
        description="Time that a client has to be logged in (TLS, WebSocket, CONNECT and AUTH).",
    )
    packet_size: Size = Field(
        default=(1 << 20) + (64 << 10),
        ge=128,
        le=LARGEST_PACKET,
        description="Largest packet taken from a client; a megabyte of payload fits by default.",
    )
    login_packet_size: Size = Field(
        default=128 << 10,
        ge=128,
        le=LARGEST_PACKET,
        description="Largest packet taken from a client that has not logged in yet; a will of any "
        "size fits by default.",
    )
    receive_maximum: int = Field(
        default=1000,
        ge=1,
        le=65535,
        description="QoS 1 and 2 publications a client may have unacknowledged.",
    )
    inflight: int = Field(
        default=1000,
        ge=1,
        le=65535,
        description="QoS 1 and 2 deliveries unacknowledged by one client.",
    )
    queue_messages: int = Field(
        default=0,
        ge=0,
        description="QoS 1 and 2 messages that wait for one client; 0 leaves it to their bytes.",
    )
    queue_bytes: Size = Field(
        default=1 << 30,
        ge=1024,
        description="Bytes that wait for one client whose session lasts, in the store: topics, "
        "payloads, properties, and 100 for each message. See also `store.queue_share`.",
    )
    queue_memory: Size = Field(
        default=64 << 20,
        ge=1024,
        description="Bytes that wait for one client in memory: where there is no store, or its "
        "session ends with its connection. As `queue_bytes`, with some 500 for each message.",
    )
    queue_full: Literal["drop-newest", "drop-oldest", "refuse"] = Field(
        default="drop-newest",
        description="What a full queue does: keep what it has and drop what is new, let go of the "
        "oldest, or have publishers refused (durability.md says what each promises).",
    )
    outbox_bytes: Size = Field(
        default=1 << 20,
        ge=4096,
        description="Unsent bytes of one connection past which QoS 0 to it is dropped.",
    )
    subscriptions: int = Field(default=10_000, ge=1, description="Subscriptions of one client.")
    topic_levels: int = Field(
        default=200, ge=1, le=65536, description="Levels of a topic or filter."
    )
    topic_aliases: int = Field(
        default=1000,
        ge=0,
        le=65535,
        description="Topic aliases a client may set on one connection.",
    )
    user_properties: int = Field(
        default=100,
        ge=0,
        description="User properties in one packet, without geolocation; more end the connection.",
    )
    keep_alive: int = Field(
        default=0,
        ge=0,
        le=65535,
        description="Longest keep-alive in seconds; a client that asks for more (or for none) is "
        "given this one; 0 leaves it to the client.",
    )
    session_expiry: Duration = Field(
        default=30 * 86400.0,
        le=0xFFFFFFFF,
        description="Longest time that a session is kept for a client that is away.",
    )
    sessions: int = Field(
        default=1_000_000, ge=1, description="Sessions kept, of clients connected or away."
    )
    sessions_per_user: int = Field(
        default=0,
        ge=0,
        description="Sessions of one user, or of one address without a name; 0 for a half of "
        "`sessions`.",
    )
    offline_sessions_per_user: int = Field(
        default=0,
        ge=0,
        description="Of those, sessions that outlive their connections; 0 for no limit of their "
        "own. A session that is there can always be taken up again.",
    )
    retained_messages: int = Field(
        default=1_000_000, ge=0, description="Retained messages, in all."
    )
    route_bytes: Size = Field(
        default=64 << 20,
        ge=64 << 10,
        description="Memory for topics in use, with their receivers; a cache: the oldest go.",
    )
    grant_bytes: Size = Field(
        default=32 << 20,
        ge=64 << 10,
        description="Memory for what clients are known to be allowed; a cache.",
    )
    alias_bytes: Size = Field(
        default=32 << 20,
        ge=64 << 10,
        description="Memory for topic aliases, in both directions.",
    )
    packet_bytes: Size = Field(
        default=64 << 20,
        ge=64 << 10,
        description="Memory for packets of which a part has come; at least four of `packet_size`.",
    )
    session_bytes: Size = Field(
        default=256 << 20,
        ge=64 << 10,
        description="Memory for sessions with their client ids and wills, without queues.",
    )
    subscription_bytes: Size = Field(
        default=2048 << 20,
        ge=64 << 10,
        description="Memory for subscriptions, their filters and their tree.",
    )
    retained_bytes: Size = Field(
        default=1536 << 20,
        ge=64 << 10,
        description="Memory for retained messages: topics, payloads, properties.",
    )
    mesh_bytes: Size = Field(
        default=256 << 20,
        ge=64 << 10,
        description="Memory for what all brokers of a mesh keep for each other: some 2 KB for each "
        "session in the mesh that outlives its connection.",
    )
    operator_bytes: Size = Field(
        default=64 << 20,
        ge=64 << 10,
        description="Memory for operator subscriptions, their windows and values.",
    )
    geo_bytes: Size = Field(
        default=64 << 20,
        ge=64 << 10,
        description="Memory for areas, and for who is in them.",
    )
    client_share: float = Field(
        default=0.25,
        gt=0,
        le=1,
        description="Part of each of these budgets that one client may hold.",
    )
    user_share: float = Field(
        default=0.5, gt=0, le=1, description="Part that the clients of one user may hold."
    )
    address_share: float = Field(
        default=0.5, gt=0, le=1, description="Part that clients from one address may hold."
    )
    turn: Duration = Field(
        default=0.000_25,
        gt=0,
        description="Work on one connection's input after which the others have their turn.",
    )
