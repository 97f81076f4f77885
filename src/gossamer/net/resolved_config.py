"""A configuration with every file that it names, read and checked: ready to be put in force.

All files are read before anything changes, so that a wrong one leaves what is in force untouched.
Below are the settings of the core and its rooms, made from the sections that describe them.
"""

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, TypeVar

from gossamer.archive.folder import FOLDER_NAME, ArchiveSettings
from gossamer.broker.permission_rules import RuleBook
from gossamer.broker.policy import Permissions
from gossamer.broker.settings import Settings
from gossamer.mesh.bridges.bridge import BridgeSettings
from gossamer.mesh.settings import ZSTD, MeshSettings
from gossamer.net.auth.from_config import REPLAY, login_rules
from gossamer.net.auth.logins import LoginRules
from gossamer.net.budgets import Budgets, budgets_of
from gossamer.net.config import Config, ConfigError, load
from gossamer.net.config.auth import PermissionsSection
from gossamer.net.config.limits import Limits
from gossamer.net.config.listeners import Tls
from gossamer.net.config.mesh import BridgeSection, MeshSection
from gossamer.net.config.plus import windows_of
from gossamer.net.place_file import load_places
from gossamer.net.rule_file import RulePermissions, load_rules
from gossamer.net.tls import client_context, server_context
from gossamer.plus.offload import OffloadRule
from gossamer.plus.registry import AGGREGATES
from gossamer.plus.vocabulary import Vocabulary
from gossamer.session.queue_policy import POLICIES
from gossamer.storage.files import default_folder
from gossamer.topics.names import TopicError, check_name
from gossamer.vision.registry import installed_places
from gossamer.wire.compression import can_compress

A = TypeVar("A")
T = TypeVar("T")

# Shorter keys can be guessed by somebody who has seen one handshake.
MESH_KEY_LETTERS: Final = 16
# In an archive, of a broker without a mesh.
DEFAULT_NAME: Final = "broker"
# What the core obeys as it is written in `[limits]`: its name there, and the key.
LIMIT_KEYS: Final = {
    "max_connections": "connections",
    "max_connect_packet": "login_packet_size",
    "max_packet": "packet_size",
    "max_queued": "queue_messages",
    "max_queued_bytes": "queue_bytes",
    "max_queued_memory": "queue_memory",
    "max_inflight": "inflight",
    "receive_maximum": "receive_maximum",
    "max_subscriptions": "subscriptions",
    "max_levels": "topic_levels",
    "max_user_properties": "user_properties",
    "max_topic_alias": "topic_aliases",
    "max_retained": "retained_messages",
    "client_share": "client_share",
    "user_share": "user_share",
    "address_share": "address_share",
    "max_sessions": "sessions",
    "max_sessions_per_user": "sessions_per_user",
    "max_lasting_per_user": "offline_sessions_per_user",
    "login_timeout": "connect_timeout",
}


@dataclass(frozen=True)
class ResolvedConfig:
    """Ready to be put in force."""

    config: Config
    logins: LoginRules
    permissions: Permissions
    contexts: dict[str, ssl.SSLContext]  # by the listener's name, and that of the replay service
    notes: list[str]  # what is allowed in the files, yet an operator should know
    mesh: MeshSettings | None
    places: dict[str, str] = field(default_factory=dict)  # GeoJSON by name

    @cached_property
    def budgets(self) -> Budgets:
        return budgets_of(self.config.limits)

    @cached_property
    def settings(self) -> dict[str, Settings]:
        """By the listener's name."""
        return {
            listener.name: settings_of(self.config, self.config.limits_of(listener))
            for listener in self.config.listener
        }


def load_resolved(path: Path) -> ResolvedConfig:
    """From the configuration file."""
    return read_resolved(load(path))


def read_resolved(config: Config) -> ResolvedConfig:
    """ConfigError with every problem of every file."""
    problems: list[str] = []

    def tried(read: Callable[[A], T], of: A) -> T | None:
        """None, and its problems are noted, if it cannot be read."""
        try:
            return read(of)
        except ConfigError as error:
            problems.extend(error.problems)
            return None

    def distinct(kind: str, names: list[str]) -> None:
        repeated = [name for name in names if names.count(name) > 1]
        problems.extend(f"{kind} {name} is defined twice" for name in repeated)

    distinct("listener", [listener.name for listener in config.listener])
    logins = tried(login_rules, config)
    book = tried(_rules, config.permissions)
    secured: dict[str, Tls | None] = {one.name: one.tls for one in config.listener}
    if config.archive is not None:
        secured[REPLAY] = config.archive.tls
    read = {name: tried(server_context, tls) for name, tls in secured.items() if tls is not None}
    contexts = {name: context for name, context in read.items() if context is not None}
    tried(archive_settings, config)
    tried(offload_rule, config)
    tried(check_catch_up, config)
    places = None if config.geo.places is None else tried(load_places, config.geo.places)
    tried(_check_places_topic, config.geo.places_topic)
    mesh = None
    if config.mesh is not None:
        mesh = tried(mesh_settings, config.mesh)
        distinct("mesh.stock", [bridge.name for bridge in config.mesh.stock])
        for bridge in config.mesh.stock:
            tried(bridge_settings, bridge)
        tried(_check_compression, config.mesh)
        for tls in [one.tls for one in config.mesh.peer] + [one.tls for one in config.mesh.stock]:
            if tls is not None:
                tried(client_context, tls)
    if problems or logins is None:
        raise ConfigError(*dict.fromkeys(problems))  # two listeners may share a file
    permissions = Permissions() if book is None else RulePermissions(book)
    notes = [] if book is None else book.notes
    return ResolvedConfig(config, logins, permissions, contexts, notes, mesh, places or {})


def _check_places_topic(topic: str) -> None:
    try:
        if topic:
            check_name(topic)
    except TopicError as error:
        raise ConfigError(f"geo.places_topic = {topic!r}: {error}") from error
    if topic.startswith("$"):
        raise ConfigError(f"geo.places_topic = {topic!r}: clients do not publish there")


def _rules(section: PermissionsSection) -> RuleBook | None:
    return None if section.file is None else load_rules(section.file, section.cache)


def mesh_settings(mesh: MeshSection) -> MeshSettings:
    """The core's; ConfigError if the key cannot be read or nothing proves a neighbour."""
    key = ""
    if mesh.key_file is not None:
        try:
            key = mesh.key_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"mesh.key_file = {mesh.key_file}: cannot be read; gossamer mesh-key makes one"
            ) from error
        if len(key) < MESH_KEY_LETTERS:
            raise ConfigError(
                f"mesh.key_file = {mesh.key_file}: too short; make one with gossamer mesh-key"
            )
    elif not mesh.trust_certificates:
        raise ConfigError(
            "mesh: neighbours need a proof of identity: set key_file (gossamer mesh-key makes "
            "one), or "
            'trust_certificates = ["name", …]'
        )
    settings = MeshSettings(mesh.name, mesh.mode, mesh.mesh, key)
    settings.certified_names = frozenset(mesh.trust_certificates)
    settings.roaming_seconds = mesh.roaming_seconds
    settings.silence = mesh.silence_seconds
    settings.aggregates = mesh.aggregates
    settings.conditions = mesh.conditions
    settings.aggregates_seconds = mesh.aggregates_seconds
    return settings


def _check_compression(mesh: MeshSection) -> None:
    wanted = (mesh.compression, *(peer.compression for peer in mesh.peer))
    if ZSTD in wanted and not can_compress():
        raise ConfigError(
            "mesh: compression = \"zstd\" needs a library: pip install 'gossamer[zstd]'"
        )


def bridge_settings(section: BridgeSection) -> BridgeSettings:
    """With the password; ConfigError if its file cannot be read."""
    settings = section.settings()
    if section.password_file is not None:
        try:
            settings.password = section.password_file.read_bytes().strip()
        except OSError as error:
            raise ConfigError(
                f"mesh.stock.password_file = {section.password_file}: cannot be read"
            ) from error
    return settings


def archive_settings(config: Config) -> ArchiveSettings | None:
    """None without an archive; ConfigError if it has no place."""
    section = config.archive
    if section is None:
        return None
    store = config.store
    folder = section.folder
    if folder is None:
        if store.kind == "memory":
            raise ConfigError("archive.folder: needed by a broker that keeps nothing else")
        folder = (store.folder or default_folder()) / FOLDER_NAME
    name = section.name or (config.mesh.name if config.mesh is not None else DEFAULT_NAME)
    return ArchiveSettings(
        folder=Path(folder),
        broker=name,
        sealed_uri=section.uri or "",
        segment_bytes=section.segment_size,
        segment_seconds=section.segment_age,
        retention_seconds=section.retention_age,
        retention_bytes=section.retention_size,
        on_full=section.on_full,
        syncs=store.sync == "full",
    )


def check_catch_up(config: Config) -> None:
    """Raises ConfigError."""
    if config.plus.catch_up and config.archive is None:
        raise ConfigError("plus.catch_up: operators catch up from the archive; add [archive]")


def offload_rule(config: Config) -> OffloadRule | None:
    """None if the broker computes everything itself. Raises ConfigError."""
    section = config.plus.offload
    if section is None:
        return None
    if config.archive is None:
        raise ConfigError("plus.offload: whoever answers reads the archive; add [archive]")
    temporal = Vocabulary(windows_of(config.plus)).temporal
    known = {*AGGREGATES, *temporal, *installed_places()}
    problems = [
        f"plus.offload.operators: {keyword!r} is no aggregate and no processor"
        for keyword in section.operators
        if keyword not in known
    ]
    if problems:
        raise ConfigError(*problems)
    return OffloadRule(
        list(section.operators),
        section.windows,
        list(config.archive.filters),
        section.patience,
    )


def settings_of(config: Config, limits: Limits) -> Settings:
    """What the core obeys; `limits` are those of one listener, or of all."""
    settings = Settings()
    for name, key in LIMIT_KEYS.items():
        setattr(settings, name, getattr(limits, key))
    settings.queue_policy = POLICIES[limits.queue_full]
    settings.max_session_expiry = int(limits.session_expiry)
    settings.max_keep_alive = limits.keep_alive or 0xFFFF
    budgets = budgets_of(limits)
    settings.memory = budgets.memory.size
    settings.memory_source = budgets.memory.source
    settings.budgets = budgets.sizes
    settings.client_ids = list(config.auth.client_ids)
    settings.sys_interval = config.sys.interval
    settings.max_operators = config.plus.operators
    offload = config.plus.offload
    settings.offload_users = [] if offload is None else list(offload.users)
    settings.position_age = config.geo.position_age
    settings.fence_hysteresis = config.geo.hysteresis
    settings.fence_dwell = config.geo.dwell
    settings.vehicle_property = config.geo.vehicle_property
    return settings
