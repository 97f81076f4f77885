"""`[plus]`, `[geo]` and `[vision]`: subscriptions that compute, about places, and on images."""

from typing import Annotated, Any, Literal

from gossamer.net.config.section import After, Before, Section, setting
from gossamer.net.config.store import TopicFilter
from gossamer.net.config.value_types import Allowed, Duration, FilePath, Size
from gossamer.plus.encodings import ENCODINGS
from gossamer.plus.operators.windows import SessionWindow, SlidingWindow, Window
from gossamer.plus.plan import PlusError
from gossamer.plus.registry import DEFAULT_WINDOWS
from gossamer.plus.time_zones import TimeZone, zone_of
from gossamer.plus.values import parse_field
from gossamer.plus.vocabulary import Vocabulary
from gossamer.topics.names import check_filter
from gossamer.vision.pool import PoolLimits
from gossamer.vision.settings import PIXELS


class Offload(Section):
    """`docs/spark-howto.md` shows how to run the query; what they read must be archived."""

    operators: tuple[str, ...] = ()
    """Processors and aggregates, without the `$`: `["RECOGNIZE", "DAILYP95"]`."""
    windows: Duration = 0.0
    """Also all windows of at least this length; 0 for none."""
    users: tuple[str, ...] = setting(min_length=1)
    """Users that may read the requests and publish the results."""
    patience: Duration = 0.0
    """Time without a sign of a running query after which the broker computes its operator itself; 0
    for never."""


class WindowSection(Section):
    """A window of that name, in upper case, in addition to DAILY, HOURLY and QUARTERHOURLY:
    `[plus.windows]` with `MINUTE = "1 min"` adds `$MINUTEAVG` and so on. A length may stand alone;
    `FIVEMIN = { length = "5 min", hop = "1 min" }` slides, and `BATCH = { gap = "10 min" }` ends
    when nothing has come for so long."""

    length: Duration = 0.0
    """Of each window."""
    hop: Duration = 0.0
    """A window begins at each hop, so that they overlap; 0 for one after the other."""
    gap: Duration = 0.0
    """Instead of a length: a topic's window ends when nothing has come for so long."""

    def check(self) -> None:
        if bool(self.length) == bool(self.gap) or (self.hop and self.gap):
            raise ValueError(
                'a window has a length, perhaps with a hop, or a gap: { length = "5 min", '
                'hop = "1 min" } or { gap = "10 min" }'
            )

    def window(self, name: str, zone: TimeZone | None) -> Window:
        """ValueError if it cannot be."""
        if self.gap:
            return SessionWindow(name, self.gap)
        if self.hop:
            return SlidingWindow(name, self.length, self.hop, zone)
        return Window(name, self.length, zone)


def _as_section(value: Any) -> Any:
    return value if isinstance(value, dict | Section) else {"length": value}


def _windows_in(sections: dict[str, WindowSection], zone: TimeZone | None) -> tuple[Window, ...]:
    always = [Window(window.keyword, window.seconds, zone) for window in DEFAULT_WINDOWS]
    return (*always, *[section.window(name, zone) for name, section in sections.items()])


def _checked(sections: dict[str, WindowSection]) -> dict[str, WindowSection]:
    Vocabulary(_windows_in(sections, None))
    return sections


Windows = Annotated[
    dict[str, Annotated[WindowSection, Before(_as_section)]],
    After(_checked),
    Allowed('names in upper case with lengths, such as MINUTE = "1 min"'),
]


def _checked_zone(name: str) -> str:
    zone_of(name)
    return name


ZoneName = Annotated[
    str, After(_checked_zone), Allowed('a name of the IANA database such as "Europe/Berlin"')
]


def _checked_payloads(filters: dict[str, str]) -> dict[str, str]:
    for filter, encoding in filters.items():
        check_filter(filter)
        if encoding not in ENCODINGS:
            raise ValueError(f"{filter!r} = {encoding!r}: {', '.join(ENCODINGS)} are known")
    return filters


Payloads = Annotated[
    dict[str, str],
    After(_checked_payloads),
    Allowed('topic filters with "cbor", "sparkplug" or "auto", such as "plant/#" = "cbor"'),
]


def _checked_field(text: str) -> str:
    try:
        parse_field(text)
    except (PlusError, IndexError) as error:
        raise ValueError(str(error) or "it is empty") from None
    return text


FieldName = Annotated[
    str, After(_checked_field), Allowed("a field such as sensor.temp or /sensor/temp")
]


class Plus(Section):
    """`docs/plus.md` describes the operators."""

    ttl: Duration = setting(default=3600.0, gt=0)
    """How long a value is valid if its publisher does not set it."""
    windows: Windows = setting(default={})
    """Windows in addition to DAILY, HOURLY and QUARTERHOURLY."""
    timezone: ZoneName = "UTC"
    """Time zone of the windows: DAILY begins at its midnight, and follows daylight saving."""
    operators: int = setting(default=10_000, ge=0)
    """Distinct operator subscriptions of all clients."""
    topics: int = setting(default=100_000, ge=1)
    """Topics per operator."""
    last_results: int = setting(default=10_000, ge=0)
    """Topics per rule whose last result is kept for later subscribers."""
    payloads: Payloads = setting(default={})
    """How operators read payloads that are not plain text or JSON: as `cbor`, as `sparkplug`, or as
    their content type says (`auto`). The first filter that matches counts. The same on every broker
    of a mesh."""
    remember: tuple[TopicFilter, ...] = ()
    """Topic filters of what is remembered before anybody subscribes: last values, and the open
    windows; `["#"]` for everything that clients publish."""
    remember_fields: tuple[FieldName, ...] = ()
    """Fields of JSON payloads whose windows are remembered too, beside numeric payloads."""
    remember_topics: int = setting(default=10_000, ge=1)
    """Topics that are remembered."""
    remember_bytes: Size = setting(default=128 << 20, ge=1 << 16)
    """Memory for them; it is part of `limits.operator_bytes`."""
    catch_up: bool = False
    """Whether new operators read from this broker's archive what was published before: the open
    window, or the values of the last `ttl`. The archive must have all that they read."""
    catch_up_rows: int = setting(default=1_000_000, ge=1)
    """Rows that one operator reads at most; with more it begins without them, and says so."""
    offload: Offload | None = None
    """Operators that Spark computes; none by default."""

    def check(self) -> None:
        """What the broker says of itself is not remembered."""
        for filter in self.remember:
            if filter.startswith("$"):
                raise ValueError(f"remember: {filter!r} is not what clients publish")


def windows_of(plus: Plus) -> tuple[Window, ...]:
    """Those that are always there, and those of the configuration, in its time zone."""
    return _windows_in(plus.windows, zone_of(plus.timezone))


class Geo(Section):
    """Subscriptions may set another hysteresis and another dwell time."""

    position_age: Duration = 3600.0
    """Time after which a client's position is dropped; 0 for never."""
    hysteresis: float = setting(default=10.0, ge=0)
    """Distance from an area, in metres, at which a visitor has left it."""
    dwell: Duration = setting(default=60.0, gt=0)
    """Time in an area after which the dwell event is sent."""
    places: FilePath | None = None
    """GeoJSON file with areas that subscriptions and messages can name (`gpl_area=yard`): a
    FeatureCollection whose features have a `name` among their properties."""
    places_topic: str = ""
    """Clients that retain GeoJSON on a topic below this one make a place of its last level:
    `site/places` makes `yard` of `site/places/yard`. The same on every broker of a mesh; "" for no
    such topic."""
    vehicle_property: str = ""
    """User Property in which publishers name the vehicle that a position is of; fence events then
    name it in place of the client. The same on every broker of a mesh."""


class Detector(Section):
    """Your own detector instead of the installed one."""

    file: FilePath
    """An ONNX or TFLite model."""
    labels: FilePath | None = None
    """File with the class names, one per line; a TFLite file may contain its own."""
    person: str = "person"
    """The class that `$CNTPPL` counts."""
    score: float = setting(default=0.5, gt=0, le=1)
    """Minimum score of a detection."""
    size: int = setting(default=640, ge=32, le=4096)
    """Width and height in pixels of the input of an ONNX model."""
    scaling: Literal["bytes", "unit", "signed"] = "unit"
    """Colour range of a model with float input: 0 to 255, 0 to 1, or -1 to 1."""


class Vision(Section):
    """`docs/vision.md` describes the processors."""

    enabled: bool = True
    """Whether processors are enabled."""
    models: FilePath | None = None
    """Folder of the models; by default where `gossamer models install` puts them."""
    detector: Detector | None = None
    """A model of your own."""
    workers: int = setting(default=PoolLimits.workers, ge=1, le=64)
    """Maximum number of processes; they start when there is work."""
    timeout: Duration = setting(default=10.0, gt=0)
    """Time limit for one image."""
    memory: Size = setting(default=512 << 20, ge=64 << 20)
    """Memory limit of one worker, in addition to the models."""
    pixels: int = setting(default=PIXELS, ge=1)
    """Maximum number of pixels; larger images are refused before they are decoded."""
    queue: int = setting(default=PoolLimits.queue, ge=1)
    """Maximum queue of images; more are dropped."""
    queue_bytes: Size = setting(default=PoolLimits.queue_bytes, ge=1)
    """Maximum size of that queue in bytes."""
    busy_at: float = setting(default=PoolLimits.busy_at, gt=0, le=1)
    """Part of that queue in use from which on new subscriptions to processors are refused for a
    while; what is subscribed already goes on."""
