"""`gossamer ctl mesh-choices`: what mode `auto` chose for each branch of topics, and why."""

from gossamer.cli.ctl.api import DEFAULT_URL, Json, TokenFile, Url
from gossamer.cli.ctl.listing import show

COLUMNS = (
    "branch",
    "mode",
    "ratio",
    "ibr",
    "spr",
    "interested",
    "brokers",
    "published_bytes",
    "subscribed_bytes",
)


def mesh_choices(url: Url = DEFAULT_URL, token_file: TokenFile = None, json: Json = False) -> None:
    """List the branches that mode auto has measured, each with its choice and the numbers."""
    show("/v1/mesh/choices", COLUMNS, url, token_file, json)
