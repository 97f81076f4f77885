"""`gossamer ctl sessions`: who is connected, and who left a session behind."""

from gossamer.cli.ctl.api import DEFAULT_URL, Json, TokenFile, Url
from gossamer.cli.ctl.listing import show

COLUMNS = (
    "client_id",
    "user",
    "address",
    "connected",
    "subscriptions",
    "queued",
    "queued_bytes",
    "full",
    "dropped",
    "inflight",
)


def sessions(url: Url = DEFAULT_URL, token_file: TokenFile = None, json: Json = False) -> None:
    """List sessions."""
    show("/v1/sessions", COLUMNS, url, token_file, json)
