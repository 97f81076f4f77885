"""Who is at the other end of a session: what permission rules speak of."""

from typing import Final

UNKNOWN_ADDRESS: Final = "?"  # of a session that came back from the store


class Identity:
    """As the login proved it; a new connection of the session brings a new one."""

    __slots__ = ("address", "client_id", "groups", "listener", "rights", "user")

    def __init__(self, client_id: str, user: str, address: str, listener: str) -> None:
        self.client_id = client_id
        self.user = user
        self.address = address
        self.listener = listener
        self.groups: list[str] = []
        self.rights: object = None  # what the permissions remember of this client
