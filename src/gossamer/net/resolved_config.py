"""A configuration with every file that it names, read and checked: ready to be put in force.

All files are read before anything changes, so that a wrong one leaves what is in force untouched.
"""

import ssl
from pathlib import Path

from gossamer.broker.policy import Permissions
from gossamer.broker.settings import Settings
from gossamer.mesh.bridges.bridge import BridgeSettings
from gossamer.mesh.settings import MeshSettings
from gossamer.net.archive_setup import archive_settings
from gossamer.net.auth.assembly import REPLAY, login_rules
from gossamer.net.auth.logins import LoginRules
from gossamer.net.budgets import budgets_of
from gossamer.net.config import Config, ConfigError, load
from gossamer.net.config.limits import Limits
from gossamer.net.config.listeners import Tls
from gossamer.net.config.mesh import Mesh as MeshSection
from gossamer.net.config.mesh import Stock as StockSection
from gossamer.net.offload_setup import offload_rule
from gossamer.net.rule_file import RulePermissions, load_rules
from gossamer.net.tls import client_context, server_context
from gossamer.session.queue_policy import POLICIES

# Shorter keys can be guessed by somebody who has seen one handshake.
MESH_KEY_LETTERS = 16


class ResolvedConfig:
    """Ready to be put in force."""

    def __init__(
        self,
        config: Config,
        logins: LoginRules,
        permissions: Permissions,
        contexts: dict[str, ssl.SSLContext],
        notes: list[str],
    ) -> None:
        self.config = config
        self.logins = logins
        self.permissions = permissions
        self.notes = notes  # what is allowed in the files, yet an operator should know
        self.contexts = contexts  # by the listener's name, and that of the replay service
        self.budgets = budgets_of(config.limits)
        self.mesh = mesh_settings(config.mesh)
        self.settings = {
            listener.name: settings_of(config, config.limits_of(listener))
            for listener in config.listener
        }


def read_resolved(config: Config) -> ResolvedConfig:
    """ConfigError with every problem of every file."""
    problems: list[str] = []
    notes: list[str] = []
    logins, permissions = None, Permissions()
    contexts: dict[str, ssl.SSLContext] = {}
    names = [listener.name for listener in config.listener]
    problems += [f"listener {name} is defined twice" for name in _repeated(names)]
    try:
        logins = login_rules(config)
    except ConfigError as error:
        problems += error.problems
    try:
        rules = config.permissions.file
        if rules is not None:
            book = load_rules(rules, config.permissions.cache)
            permissions = RulePermissions(book)
            notes += book.notes
    except ConfigError as error:
        problems += error.problems
    secured: dict[str, Tls | None] = {one.name: one.tls for one in config.listener}
    if config.archive is not None:
        secured[REPLAY] = config.archive.tls
    for name, tls in secured.items():
        if tls is not None:
            try:
                contexts[name] = server_context(tls)
            except ConfigError as error:
                problems += error.problems
    for read_section in (archive_settings, offload_rule):
        try:
            read_section(config)
        except ConfigError as error:
            problems += error.problems
    for peer in () if config.mesh is None else config.mesh.peer:
        if peer.tls is not None:
            try:
                client_context(peer.tls)
            except ConfigError as error:
                problems += error.problems
    names = [] if config.mesh is None else [bridge.name for bridge in config.mesh.stock]
    problems += [
        f"mesh.stock {name} is defined twice" for name in set(names) if names.count(name) > 1
    ]
    for bridge in () if config.mesh is None else config.mesh.stock:
        try:
            bridge_settings(bridge)
            if bridge.tls is not None:
                client_context(bridge.tls)
        except ConfigError as error:
            problems += error.problems
    if problems or logins is None:
        raise ConfigError(list(dict.fromkeys(problems)))  # two listeners may share a file
    return ResolvedConfig(config, logins, permissions, contexts, notes)


def mesh_settings(mesh: MeshSection | None) -> MeshSettings | None:
    """The core's; ConfigError if the key cannot be read or nothing proves a neighbour."""
    if mesh is None:
        return None
    key = ""
    if mesh.key_file is not None:
        try:
            key = mesh.key_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                [f"mesh.key_file = {mesh.key_file}: cannot be read; gossamer mesh-key makes one"]
            ) from error
        if len(key) < MESH_KEY_LETTERS:
            raise ConfigError(
                [f"mesh.key_file = {mesh.key_file}: too short; make one with gossamer mesh-key"]
            )
    elif not mesh.trust_certificates:
        raise ConfigError(
            [
                "mesh: neighbours need a proof of identity: set key_file (gossamer mesh-key makes "
                "one), or "
                'trust_certificates = ["name", …]'
            ]
        )
    settings = MeshSettings(mesh.name, mesh.mode, mesh.mesh, key)
    settings.certified_names = frozenset(mesh.trust_certificates)
    settings.roaming_seconds = mesh.roaming_seconds
    settings.topology = mesh.topology
    settings.silence = mesh.silence_seconds
    return settings


def bridge_settings(section: StockSection) -> BridgeSettings:
    """With the password; ConfigError if its file cannot be read."""
    settings = section.settings()
    if section.password_file is not None:
        try:
            settings.password = section.password_file.read_bytes().strip()
        except OSError as error:
            raise ConfigError(
                [f"mesh.stock.password_file = {section.password_file}: cannot be read"]
            ) from error
    return settings


def _repeated(names: list[str]) -> set[str]:
    return {name for name in names if names.count(name) > 1}


def load_resolved(path: Path) -> ResolvedConfig:
    """From the configuration file."""
    return read_resolved(load(path))


def settings_of(config: Config, limits: Limits) -> Settings:
    """What the core obeys; `limits` are those of one listener, or of all."""
    settings = Settings()
    settings.max_connections = limits.connections
    settings.max_connect_packet = limits.login_packet_size
    settings.max_packet = limits.packet_size
    settings.max_queued = limits.queue_messages
    settings.max_queued_bytes = limits.queue_bytes
    settings.max_queued_memory = limits.queue_memory
    settings.queue_policy = POLICIES[limits.queue_full]
    settings.max_inflight = limits.inflight
    settings.receive_maximum = limits.receive_maximum
    settings.max_subscriptions = limits.subscriptions
    settings.max_levels = limits.topic_levels
    settings.max_user_properties = limits.user_properties
    settings.max_topic_alias = limits.topic_aliases
    settings.max_retained = limits.retained_messages
    budgets = budgets_of(limits)
    settings.memory = budgets.memory.size
    settings.memory_source = budgets.memory.source
    settings.budgets = budgets.sizes
    settings.client_share = limits.client_share
    settings.user_share = limits.user_share
    settings.address_share = limits.address_share
    settings.max_session_expiry = int(limits.session_expiry)
    settings.max_sessions = limits.sessions
    settings.max_sessions_per_user = limits.sessions_per_user
    settings.max_lasting_per_user = limits.offline_sessions_per_user
    settings.client_ids = list(config.auth.client_ids)
    settings.max_keep_alive = limits.keep_alive or 0xFFFF
    settings.login_timeout = limits.connect_timeout
    settings.sys_interval = config.sys.interval
    settings.max_operators = config.plus.operators
    offload = config.plus.offload
    settings.offload_users = [] if offload is None else list(offload.users)
    settings.position_age = config.geo.position_age
    settings.fence_hysteresis = config.geo.hysteresis
    settings.fence_dwell = config.geo.dwell
    return settings
