"""The broker's limits, each with its default; the configuration fills them in."""

from typing import Final

from gossamer.budget.division import ASSUMED_MEMORY, divided
from gossamer.budget.ledger import ADDRESS_SHARE, CLIENT_SHARE, USER_SHARE
from gossamer.session.queue_policy import DROP_NEWEST

# The largest packet that MQTT has: header, length and 268,435,455 bytes.
LARGEST_PACKET: Final = 268_435_460


class Settings:
    """What the core obeys. Changed as a whole at a reload, never field by field."""

    def __init__(self) -> None:
        self.max_connections = 100_000
        # Before CONNECT has succeeded a stranger may make us hold no more than this: the longest
        # will (65,535 bytes) and everything beside it.
        self.max_connect_packet = 131_072
        self.max_packet = 1_048_576 + 65_536  # a megabyte of payload and its header
        # QoS 1 and 2 messages that wait for one session: how many (0 if only bytes count), and
        # their bytes, where the store holds what is too much for memory and where memory holds all.
        self.max_queued = 0
        self.max_queued_bytes = 1 << 30
        self.max_queued_memory = 64 << 20
        self.queue_policy = DROP_NEWEST
        self.max_inflight = 1_000  # of ours towards a client that names no Receive Maximum
        self.receive_maximum = 1_000  # of a client's towards us
        self.max_subscriptions = 10_000  # of one session
        self.max_operators = 10_000  # distinct operator subscriptions of all sessions
        self.offload_users: list[str] = []  # who may answer for operators that are left to others
        self.max_levels = 200
        self.max_user_properties = 100  # in one packet, without those that say where
        self.max_topic_alias = 1_000
        self.max_retained = 1_000_000
        self.max_session_expiry = 0xFFFFFFFF
        self.max_sessions = 1_000_000
        self.max_sessions_per_user = 0  # 0: the user's or the address's share of them
        self.max_lasting_per_user = 0  # of those, sessions that outlive connections; 0: all
        self.client_ids: list[str] = []  # templates of the ids that users may have; none: any
        self.max_keep_alive = 0xFFFF
        self.login_timeout = 10.0  # seconds from accept to an accepted CONNECT
        self.sys_interval = 10.0  # seconds between `$SYS` reports, 0 for none
        self.position_age = 3600.0  # seconds after which a client's position is none, 0 for never
        self.fence_hysteresis = 10.0  # metres outside an area at which a visitor has left it
        self.fence_dwell = 60.0  # seconds in an area after which a visitor stays there
        self.vehicle_property = ""  # the User Property that names a visitor, "" for its client id
        self.memory = ASSUMED_MEMORY  # bytes that the broker may count on
        self.memory_source = "an assumption"  # whose limit that is
        self.budgets = divided(ASSUMED_MEMORY)  # bytes for each account of the ledger
        self.client_share = CLIENT_SHARE  # of each of them, for one client
        self.user_share = USER_SHARE
        self.address_share = ADDRESS_SHARE
        self.response_information = ""  # answered to clients that request it


def peer_settings() -> Settings:
    """For a neighbour: what it sends was limited where it was published, and must pass."""
    settings = Settings()
    settings.max_packet = LARGEST_PACKET
    settings.max_levels = 65_535
    settings.max_user_properties = 65_535
    return settings
