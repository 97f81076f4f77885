"""What the brokers' admin APIs tell: who is there, who wants what, what links carried."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gossamer.broker.mesh_port import BRIDGE_PREFIX, PEER_PREFIX
from gossamer.net.admin.client import AdminClient, AdminError, Unreachable
from gossamer.spark.pipelines.pipeline import AdminAccess, PipelineError

logger = logging.getLogger(__name__)

_PAGE: Final = 1_000  # the API's most
_NEIGHBOURS: Final = (PEER_PREFIX, BRIDGE_PREFIX)  # how the sessions of other brokers begin

SESSIONS: Final = "broker string, client string, connected boolean, queued long"
SUBSCRIPTIONS: Final = "broker string, client string, filter string, qos int"
LINKS: Final = (
    "broker string, neighbour string, mode string, connected boolean, messages_sent long, "
    "bytes_sent long, control_bytes_sent long"
)


@dataclass
class Facts:
    """Rows of the three tables, by the schemas above."""

    sessions: list[tuple[Any, ...]] = field(default_factory=list)
    subscriptions: list[tuple[Any, ...]] = field(default_factory=list)
    links: list[tuple[Any, ...]] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)  # brokers that did not answer


def ask_all(brokers: Sequence[str], admins: Sequence[AdminAccess]) -> Facts:
    """One admin API for each broker, in the same order. Raises PipelineError for a wrong token."""
    facts = Facts()
    names: dict[str, str] = {}  # in the mesh → in the archive
    for broker, admin in zip(brokers, admins, strict=True):
        client = AdminClient(admin.host, admin.port, admin.token)
        try:
            _ask(client, broker, names, facts)
        except Unreachable as problem:
            logger.warning("cannot reach the admin API of %s: %s", broker, problem)
            facts.silent.append(broker)
        except AdminError as problem:
            raise PipelineError(f"the admin API of {broker}: {problem}") from problem
    facts.links = [(link[0], names.get(link[1], link[1]), *link[2:]) for link in facts.links]
    return facts


def _ask(client: AdminClient, broker: str, names: dict[str, str], facts: Facts) -> None:
    for one in _pages(client, "/v1/sessions"):
        if not one["client_id"].startswith(_NEIGHBOURS):
            facts.sessions.append((broker, one["client_id"], one["connected"], one["queued"]))
    for one in _pages(client, "/v1/subscriptions"):
        if not one["client_id"].startswith(_NEIGHBOURS):
            facts.subscriptions.append((broker, one["client_id"], one["filter"], one["qos"]))
    try:
        mesh = client.call("GET", "/v1/mesh", {"limit": _PAGE})
    except Unreachable:
        raise
    except AdminError:
        return  # it stands alone
    names[mesh["name"]] = broker
    for one in mesh["entries"]:
        counts = (one["messages_sent"], one["bytes_sent"], one["control_bytes_sent"])
        facts.links.append((broker, one["neighbour"], mesh["mode"], one["connected"], *counts))


def _pages(client: AdminClient, path: str) -> Iterator[dict[str, Any]]:
    offset = 0
    while True:
        answer = client.call("GET", path, {"limit": _PAGE, "offset": offset})
        yield from answer["entries"]
        offset += _PAGE
        if offset >= answer["total"]:
            return
