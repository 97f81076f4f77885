"""`[mesh]`: this broker's name, whom it dials, and bridges to brokers of other makes."""

from typing import Annotated, Literal

from gossamer.mesh.bridges.bridge import INFLIGHT, MOST_INFLIGHT, BridgeSettings
from gossamer.mesh.bridges.loop_prevention import echoes
from gossamer.net.config.section import Bounds, Section, setting
from gossamer.net.config.value_types import Allowed, FilePath, Name
from gossamer.topics.names import TopicError, check_filter
from gossamer.wire.packets import V5, V311


class PeerTls(Section):
    """The certificate of this side, and the authorities that it trusts."""

    ca: FilePath | None = None
    """PEM file with the authorities that sign the neighbour's certificate."""
    certificate: FilePath | None = None
    """PEM file with this broker's own certificate chain."""
    key: FilePath | None = None
    """PEM file with its private key."""
    server_name: str | None = None
    """The name in the neighbour's certificate, if not the host's."""


_VERSIONS = {"5.0": V5, "3.1.1": V311}
_MOST_LEVELS = 200


class BridgeSection(Section):
    """A bridge: this broker is a client there. All brokers of the mesh use the same name for it."""

    name: Name
    """Its name, the same on every broker that links to it."""
    host: str
    """Its host name or address."""
    port: int = setting(default=1883, ge=1, le=65535)
    """Port."""
    protocol: Literal["5.0", "3.1.1"] = "5.0"
    """MQTT version. With 3.1.1, exports and imports must not overlap."""
    imports: tuple[str, ...] = ("#",)
    """Filters of what may be imported. Of these, only what the mesh wants is subscribed there."""
    exports: tuple[str, ...] = ()
    """Filters of what is exported. MQTT has no way to ask a broker what its clients want."""
    qos: Literal[0, 1, 2] = 2
    """Maximum QoS across the bridge."""
    inflight: int = setting(default=INFLIGHT, ge=1, le=MOST_INFLIGHT)
    """Unacknowledged QoS 1 and 2 messages in each direction (with 3.1.1, to the other broker only):
    if the owner of the bridge dies, no more than these cross twice."""
    username: str | None = None
    """The user name to log in with."""
    password_file: FilePath | None = None
    """File with the password to log in with."""
    tls: PeerTls | None = None
    """Dial with TLS."""

    def check(self) -> None:
        """Its filters are sound."""
        for filter in (*self.imports, *self.exports):
            try:
                check_filter(filter, _MOST_LEVELS)
            except TopicError as error:
                raise ValueError(f"{filter!r} is no filter: {error}") from None
        both = echoes(self.settings())
        if both:
            raise ValueError(
                f"exports and imports both have {both!r}, and 3.1.1 cannot tell an echo from a "
                'message: narrow one of them, or use protocol = "5.0"'
            )

    def settings(self) -> BridgeSettings:
        """The core's, without the password."""
        version = _VERSIONS[self.protocol]
        settings = BridgeSettings(self.name, version, self.imports, self.exports, self.qos)
        settings.inflight = self.inflight
        settings.username = self.username
        return settings


HostAndPort = Annotated[
    str, Bounds(pattern=r".+:[0-9]{1,5}"), Allowed('a host and a port such as "10.0.0.7:1883"')
]


class Peer(Section):
    """A neighbour to dial; only one of the two brokers needs to."""

    host: str
    """Its host name or address."""
    port: int = setting(default=1883, ge=1, le=65535)
    """The port of one of its listeners."""
    tls: PeerTls | None = None
    """Dial with TLS."""
    compression: Literal["none", "zstd"] | None = None
    """Whether this link is compressed, if not as `mesh.compression` says."""


class MeshSection(Section):
    """Brokers with the same mesh name and key (or trusted certificates) form a mesh."""

    name: Name
    """This broker's name, unique in the mesh."""
    mesh: str = setting(default="gossamer", min_length=1)
    """The name of the mesh."""
    mode: Literal["pf", "sf", "ssf", "bloom", "auto"] = "ssf"
    """How neighbours share interest: publication flooding, subscription flooding, selective
    subscription forwarding, Bloom summaries, or the best for each topic branch. `gossamer ctl
    mesh-mode` overrides it."""
    topology: Literal["graph", "tree"] = "graph"
    """Not needed any more: links may form any graph, in which the brokers maintain a tree. `tree`
    is still read, with a warning, and does the same."""
    silence_seconds: float = setting(default=1.5, ge=0.3, le=60.0)
    """Silence after which a neighbour that was sent something is considered down; on an idle link
    it takes up to twice as long."""
    key_file: FilePath | None = None
    """File with the key of the mesh (created by `gossamer mesh-key`)."""
    trust_certificates: tuple[str, ...] = ()
    """Names of neighbours that authenticate with a verified certificate."""
    aggregates: Literal["auto", "partial", "raw"] = "auto"
    """How aggregates are computed that clients of several brokers publish to: `partial`, each
    broker counts its own clients' part (windows, `$DAILYAVG/...`) or notes the last values (over
    topics, `$AVG/...`), and those cross the links; `raw`, every message crosses them; `auto`,
    partial for windows, and over topics what takes fewer bytes."""
    aggregates_seconds: float = setting(default=1.0, ge=0.05, le=60.0)
    """How often brokers tell each other the last values for an aggregate over topics, where
    `plus_every` does not ask for less; a result is late by as much."""
    compression: Literal["none", "zstd"] = "none"
    """Whether the links that this broker dials are compressed: fewer bytes, for more processor
    time. Both ends need the extra `gossamer[zstd]`; a neighbour without it gets plain bytes."""
    conditions: bool = True
    """Whether neighbours are told the rules and areas of subscriptions (`$GT;30/...`) in modes
    `ssf` and `auto`, so that only what passes them crosses the links; otherwise they are told
    filters alone."""
    roaming_seconds: float = setting(default=5.0, ge=0.0, le=60.0)
    """How long the CONNECT of a client waits for its session on another broker; 0 leaves sessions
    where they are. The same on all brokers of the mesh."""
    peer: tuple[Peer, ...] = ()
    """The neighbours to dial."""
    seeds: tuple[HostAndPort, ...] = ()
    """Names with a port, such as `brokers.example.net:1883`: every address of the name is dialled,
    and looked up again from time to time. TLS is as for the first peer."""

    stock: tuple[BridgeSection, ...] = ()
    """Bridges to brokers of other makes."""
