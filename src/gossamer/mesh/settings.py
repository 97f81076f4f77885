"""What a broker knows about its mesh before it meets anybody."""

from typing import Final

# The modes by name: one tells nothing, three tell all, and one chooses between those ways.
MODES: Final = ("pf", "sf", "ssf", "bloom", "auto")
# How aggregates are computed that clients of several brokers publish to.
AGGREGATES: Final = ("auto", "partial", "raw")
# Those in which a neighbour names no filters.
WITHOUT_FILTERS: Final = ("pf", "bloom")
# Neighbours that are silent for so long are taken for gone.
KEEP_ALIVE_SECONDS: Final = 10
SILENCE_SECONDS: Final = 1.5

# What brokers say between each other, by version; one that does not name its own speaks the first.
FIRST: Final = 1
ENVELOPES: Final = 2  # directed messages of any size
SPEAKS: Final = ENVELOPES
# What may be on a link beside that, by name. It is where both ends have it; one that does not name
# any has none, and what it names that we do not know is not used.
PUBLISHERS: Final = "publishers"  # who published what says where it is
RUNS: Final = "runs"  # many messages as one
WINDOWS: Final = "windows"  # what one broker counted in a window of time
CONDITIONS: Final = "conditions"  # interests with rules and areas
VALUES: Final = "values"  # the last values of topics, some at once
CAPABILITIES: Final = frozenset((PUBLISHERS, RUNS, WINDOWS, VALUES, CONDITIONS))
# Whoever names this one is sent compressed bytes. The end that dials names it where its
# configuration wants that, the other one where it has the library.
ZSTD: Final = "zstd"
NOTHING: Final[frozenset[str]] = frozenset()


class MeshSettings:
    """`key` is shared by all brokers of the mesh, or certificates prove names, or both must."""

    def __init__(self, name: str, mode: str = "ssf", mesh: str = "gossamer", key: str = "") -> None:
        self.name = name  # this broker's, unique in the mesh
        self.mode = mode
        self.mesh = mesh
        self.key = key
        # Seconds of silence after which a neighbour is gone.
        self.silence = SILENCE_SECONDS
        # The neighbours that must show a verified certificate with their name; a certificate with
        # any other name is some client's.
        self.certified_names: frozenset[str] = frozenset()
        # What it introduces itself with; less to stay with what an earlier version knows.
        self.speaks = SPEAKS
        self.capabilities = CAPABILITIES
        # Whether clients see one broker: groups shared by all, sessions that follow their clients.
        self.is_joint = True
        # How long a CONNECT waits for a session that is on another broker; 0.0: none ever moves.
        self.roaming_seconds = 5.0
        # Whether brokers compute aggregates together, or send each other what they are of.
        self.aggregates = "auto"
        # Whether neighbours are told rules and areas, or filters alone.
        self.conditions = True
        # How often brokers tell each other the last values for an aggregate over topics.
        self.aggregates_seconds = 1.0
