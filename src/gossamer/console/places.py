"""What the map shows, gathered: tracks as they are seen, clients and fences as brokers tell."""

from typing import Any, Final

from gossamer.console.broker_watch import BrokerWatch
from gossamer.console.outlines import rings_of
from gossamer.console.tracks import Tracks
from gossamer.net.admin.client import AdminError

MOST_SHOWN: Final = 500  # tracks or clients at a time
MOST_FENCES: Final = 300
DIGITS: Final = 6


class Places:
    """Fences and positions are asked for seldom; tracks are always those of now."""

    def __init__(self) -> None:
        self.fences: list[dict[str, Any]] = []
        self.clients: list[dict[str, Any]] = []
        self.trouble = ""

    async def ask(self, brokers: list[BrokerWatch]) -> None:
        fences: list[dict[str, Any]] = []
        clients: list[dict[str, Any]] = []
        self.trouble = ""
        for broker in brokers:
            try:
                told = await broker.ask("GET", "/v1/fences", {"limit": MOST_FENCES})
                fences += [shown for one in told["entries"] if (shown := _fence(one)) is not None]
                told = await broker.ask("GET", "/v1/positions", {"limit": MOST_SHOWN})
                clients += [_client(one) for one in told["entries"]]
            except AdminError as error:
                self.trouble = f"{broker.name}: {error}"
        self.fences = fences[:MOST_FENCES]
        self.clients = clients[:MOST_SHOWN]

    def tracks(self, tracks: Tracks) -> list[dict[str, Any]]:
        """Those that moved last, and clients that were not seen to publish."""
        latest = list(tracks.by_topic.values())[-MOST_SHOWN:]
        shown = [
            {
                "label": track.topic,
                "name": track.topic.rpartition("/")[2],
                "points": [[round(lat, DIGITS), round(lon, DIGITS)] for lat, lon in track.points],
            }
            for track in latest
        ]
        seen = {tuple(one["points"][-1]) for one in shown}
        names = {one["name"] for one in shown}
        return shown + [
            client
            for client in self.clients
            if client["name"] not in names and tuple(client["points"][0]) not in seen
        ]


def _fence(entry: dict[str, Any]) -> dict[str, Any] | None:
    position = None if entry["lat"] is None else (entry["lat"], entry["lon"])
    rings = rings_of([(key, text) for key, text in entry["entries"]], position)
    if not rings:
        return None
    return {"label": f"{entry['client_id']}: {entry['filter']}", "rings": rings, "mine": False}


def _client(entry: dict[str, Any]) -> dict[str, Any]:
    point = [round(entry["lat"], DIGITS), round(entry["lon"], DIGITS)]
    return {"label": entry["client_id"], "name": entry["client_id"], "points": [point]}
