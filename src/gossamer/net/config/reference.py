"""The reference of every key as Markdown, made from the models; `docs/configuration.md` has it."""

from typing import get_origin

from pydantic.fields import FieldInfo

from gossamer.net.config.describing import allowed, section_of
from gossamer.net.config.reporting import spelled
from gossamer.net.config.root import Config
from gossamer.net.config.section import Section


def reference() -> str:
    """One table a section, in the order of the file."""
    parts: list[str] = []
    for key, field in Config.model_fields.items():
        section = section_of(field)
        if section is not None:
            parts += _section(key, section, is_list=is_list_field(field))
    return "\n".join(parts)


def is_list_field(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is tuple


def _section(name: str, section: type[Section], *, is_list: bool = False) -> list[str]:
    title = f"[[{name}]]" if is_list else f"[{name}]"
    lines = [f"### `{title}`", "", (section.__doc__ or "").strip(), ""]
    lines += ["| key | default | may be | meaning |", "| --- | --- | --- | --- |"]
    inner: list[str] = []
    for key, field in section.model_fields.items():
        nested = section_of(field)
        if nested is None:
            lines.append(_row(key, field))
        elif key == "limits":
            lines.append(f"| `{key}` | | any key of `[limits]` | {field.description} |")
        else:
            inner += _section(f"{name}.{key}", nested, is_list=is_list_field(field))
    return [*lines, "", *inner]


def _row(key: str, field: FieldInfo) -> str:
    if field.is_required():
        default = "*required*"
    elif field.default is None:
        default = "*not set*"
    else:
        default = f"`{spelled(field.default)}`"
    return f"| `{key}` | {default} | {allowed(field)} | {field.description} |"
