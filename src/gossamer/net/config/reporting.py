"""The configuration as text: what is in force, what is seldom meant, the reference of all keys.

`docs/configuration.md` has the reference.
"""

import ast
import inspect
from itertools import pairwise
from pathlib import Path
from typing import Any, get_origin

from gossamer.net.config.listeners import Listener
from gossamer.net.config.loading import allowed, section_of
from gossamer.net.config.root import Config
from gossamer.net.config.section import Key, Section

LOOPBACK = ("127.", "::1", "localhost")
EVERY_ADDRESS = {"0.0.0.0", "::"}


def in_force(config: Config) -> list[str]:
    """Every listener as it will behave, then every other key with its value, as TOML."""
    lines: list[str] = []
    for listener in config.listener:
        methods = ", ".join(config.methods_of(listener)) or "none"
        lines += [
            f"# listener {listener.name}",
            f"#   log in by: {methods}; anonymous: {config.anonymous_on(listener)}",
        ]
        if listener.kind in ("ws", "wss"):
            any_page = "none but its own" if config.guards_origins(listener) else "any"
            lines.append(f"#   web pages of: {', '.join(listener.origins) or any_page}")
        if listener.proxy_protocol:
            lines.append(f"#   PROXY protocol from: {', '.join(listener.proxies)}")
        if listener.limits is not None:
            own = sorted(listener.limits.stated)
            lines.append("#   own limits: " + ", ".join(_pair(listener.limits, key) for key in own))
    for key in Config.keys:
        section = getattr(config, key)
        if isinstance(section, Section):
            lines += _table(f"[{key}]", key, section)
    return lines


def who_gets_in(config: Config, listener: Listener) -> str:
    """In words, for whoever starts the broker."""
    methods = ", ".join(config.methods_of(listener))
    ways = [f"who logs in by {methods}"] if methods else []
    anonymous = config.anonymous_on(listener)
    if anonymous == "always":
        ways.append("anybody without a login")
    elif anonymous == "local":
        ways.append("clients of this machine without a login")
    return ", and ".join(ways) or "nobody"


def clashes(config: Config) -> list[str]:
    """Ports that two parts of the broker want; whoever comes second would not start."""
    wanted: list[tuple[str, str, int]] = [
        (f"listener {one.name}", one.host, one.resolved_port)
        for one in config.listener
        if one.kind != "unix"
    ]
    if config.admin.enabled:
        wanted.append(("[admin]", config.admin.host, config.admin.port))
    archive = config.archive
    if archive is not None and archive.replay:
        wanted.append(("[archive] replay_port", archive.replay_host, archive.replay_port))
    return [
        f"{second}: port {port} is that of {first} already"
        for place, (second, host, port) in enumerate(wanted)
        for first, other_host, other_port in wanted[:place]
        if port == other_port != 0 and (host == other_host or {host, other_host} & EVERY_ADDRESS)
    ]


def warnings(config: Config) -> list[str]:
    """What is allowed, yet seldom meant."""
    found: list[str] = []
    for listener in config.listener:
        if listener.kind == "unix" or listener.host.startswith(LOOPBACK):
            continue
        anonymous, methods = config.anonymous_on(listener), config.methods_of(listener)
        if anonymous == "always":
            found.append(f"{listener.name}: anyone who can reach it gets in without a name")
        elif anonymous == "local" and not methods:
            found.append(
                f"{listener.name}: clients of other machines are refused: configure a login, "
                'or anonymous = "always"'
            )
        if methods and not listener.encrypted:
            found.append(
                f"{listener.name}: passwords cross the network unencrypted; use tls or wss"
            )
    if config.permissions.file is None and config.auth.configured:
        found.append("permissions.file: not set, so every user may read and write every topic")
    if config.admin.enabled and not config.admin.host.startswith(LOOPBACK):
        found.append("admin.host: the API speaks plain HTTP and is reachable from other machines")
    if config.mesh is not None and config.mesh.topology == "tree":
        found.append(
            'mesh.topology = "tree": not needed any more, since links may form any graph; remove '
            "the line on all brokers (those of version 0.1.0 that have it do not join this one)"
        )
    return found


def _table(title: str, name: str, section: Section) -> list[str]:
    fields = section.keys
    plain = [key for key, field in fields.items() if section_of(field) is None]
    lines = [title, *(_pair(section, key) for key in plain)]
    for key in fields:
        inner = getattr(section, key)
        inside = f"{name}.{key}"
        if isinstance(inner, Section):
            lines += _table(f"[{inside}]", inside, inner)
        elif isinstance(inner, dict) and section_of(fields[key]) is not None and inner:
            named = [f"{one} = {spelled(section)}" for one, section in inner.items()]
            lines += [f"[{inside}]", *named]
        elif isinstance(inner, tuple) and section_of(fields[key]) is not None:
            for one in inner:
                lines += _table(f"[[{inside}]]", inside, one)
    return lines


def _pair(section: Section, key: str) -> str:
    value = getattr(section, key)
    return f"# {key} is not set" if value is None else f"{key} = {spelled(value)}"


def spelled(value: Any) -> str:
    """A value as TOML spells it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | Path):
        return f'"{value}"'
    if isinstance(value, Section):
        stated = [f"{key} = {spelled(getattr(value, key))}" for key in sorted(value.stated)]
        return "{ " + ", ".join(stated) + " }"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(spelled(one) for one in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {spelled(one)}' for key, one in value.items()) + "}"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def reference() -> str:
    """One table a section, in the order of the file."""
    parts: list[str] = []
    for key, field in Config.keys.items():
        section = section_of(field)
        if section is not None:
            parts += _section(key, section, is_list=is_list_field(field))
    return "\n".join(parts)


def is_list_field(field: Key) -> bool:
    return get_origin(field.annotation) is tuple


def _section(name: str, section: type[Section], *, is_list: bool = False) -> list[str]:
    title = f"[[{name}]]" if is_list else f"[{name}]"
    lines = [f"### `{title}`", "", inspect.cleandoc(section.__doc__ or ""), ""]
    lines += ["| key | default | may be | meaning |", "| --- | --- | --- | --- |"]
    inner: list[str] = []
    meanings = _meanings(section)
    for key, field in section.keys.items():
        nested = section_of(field)
        if nested is None:
            lines.append(_row(key, field, meanings[key]))
        elif key == "limits":
            lines.append(f"| `{key}` | | any key of `[limits]` | {meanings[key]} |")
        else:
            of_names = ".NAME" if isinstance(field.default, dict) else ""
            inner += _section(f"{name}.{key}{of_names}", nested, is_list=is_list_field(field))
    return [*lines, "", *inner]


def _meanings(section: type[Section]) -> dict[str, str]:
    """The text below each key in the source, which costs nothing where nobody asks for it."""
    found: dict[str, str] = {}
    for model in reversed(section.__mro__):
        if issubclass(model, Section):
            (table,) = ast.parse(inspect.getsource(model)).body
            assert isinstance(table, ast.ClassDef)
            for key, text in pairwise(table.body):
                if isinstance(key, ast.AnnAssign) and isinstance(text, ast.Expr):
                    found[ast.unparse(key.target)] = " ".join(ast.literal_eval(text.value).split())
    return found


def _row(key: str, field: Key, meaning: str) -> str:
    if field.is_required:
        default = "*required*"
    elif field.default is None:
        default = "*not set*"
    else:
        default = f"`{spelled(field.default)}`"
    return f"| `{key}` | {default} | {allowed(field)} | {meaning} |"
