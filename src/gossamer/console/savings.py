"""Before and after: what would be sent without the mesh's interests, operators and places.

Operators, places, and what rules and areas keep off links are counted by the brokers as they work;
of each link also by itself. The mesh's *before* is an estimate:
flooding, which sends what clients publish over every link of the tree once, at the size that a
message has on the links.
"""

from dataclasses import dataclass

from gossamer.console.broker_watch import BrokerWatch


@dataclass(frozen=True)
class Saving:
    """Bytes since the brokers were started."""

    name: str
    before: float
    after: float
    meaning: str

    @property
    def part(self) -> float:
        """What is saved, from 0 to 1; below 0 if it costs more than it saves."""
        return 1.0 - self.after / self.before if self.before > 0.0 else 0.0


@dataclass(frozen=True)
class LinkSaving:
    """What one broker sent to a neighbour, and what it judged and kept back."""

    label: str
    sent: int
    kept_back: int
    kept_back_bytes: int


def link_savings(brokers: list[BrokerWatch]) -> list[LinkSaving]:
    """Of each direction of each link, the one that was spared most first."""
    found = [
        LinkSaving(
            f"{broker.name} → {link['neighbour']}",
            link["messages_sent"],
            link.get("rejected_messages", 0),  # a broker of an earlier version judges nothing
            link.get("rejected_bytes", 0),
        )
        for broker in brokers
        if broker.mesh is not None
        for link in broker.mesh["entries"]
    ]
    return sorted(found, key=lambda one: (-one.kept_back_bytes, one.label))


def savings(brokers: list[BrokerWatch]) -> list[Saving]:
    def total(name: str) -> float:
        return sum(broker.readings.get(name, 0.0) for broker in brokers)

    members = sum(1 for broker in brokers if broker.mesh is not None)
    # Every broker counts what comes over its links among what it receives.
    published = total("messages_received_total") - total("link_messages_received_total")
    carried = total("link_messages_sent_total")
    payload = total("link_bytes_sent_total") - total("link_control_bytes_sent_total")
    flooded = max(0.0, published) * max(0, members - 1)
    return [
        Saving(
            "Mesh",
            flooded * payload / carried if carried else 0.0,
            total("link_bytes_sent_total"),
            "Before: every publication flooded over every link. After: what the links carried.",
        ),
        Saving(
            "Rules and areas on links",
            payload + total("link_rejected_bytes_total"),
            payload,
            "Before: every message on a topic that is wanted. After: those that some rule or area "
            "behind the link lets through; the rest is kept back where it was published.",
        ),
        Saving(
            "MQTT+",
            total("operators_bytes_read_total"),
            total("operators_bytes_sent_total"),
            "Before: the messages that subscribers would compute from. After: the results.",
        ),
        Saving(
            "Geofences",
            total("located_bytes_read_total"),
            total("located_bytes_sent_total"),
            "Before: messages that match by topic. After: those that also match by area.",
        ),
    ]
