"""`gossamer ctl mesh`: the broker's neighbours, and what each link carries."""

from gossamer.cli.ctl.api import DEFAULT_URL, Json, TokenFile, Url
from gossamer.cli.ctl.listing import show

COLUMNS = (
    "neighbour",
    "state",
    "cost",
    "interests_told",
    "interests_held",
    "messages_received",
    "messages_sent",
    "bytes_received",
    "bytes_sent",
    "queued",
)


def mesh(url: Url = DEFAULT_URL, token_file: TokenFile = None, json: Json = False) -> None:
    """List the links to other brokers (with --json, control traffic too)."""
    show("/v1/mesh", COLUMNS, url, token_file, json)
