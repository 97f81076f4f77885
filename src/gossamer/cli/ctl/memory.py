"""`gossamer ctl memory`: what holds how much memory, and how much it may hold."""

from gossamer.cli.ctl.api import DEFAULT_URL, Json, TokenFile, Url
from gossamer.cli.ctl.listing import show

COLUMNS = (
    "table",
    "bytes",
    "budget",
    "client_budget",
    "refused",
    "evicted",
    "largest_client",
    "largest_bytes",
)


def memory(url: Url = DEFAULT_URL, token_file: TokenFile = None, json: Json = False) -> None:
    """List the tables that clients can fill, with their bytes, budgets and largest holders."""
    show("/v1/memory", COLUMNS, url, token_file, json)
