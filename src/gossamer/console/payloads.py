"""What a payload is, as far as its bytes tell, and how a person reads it.

Images are told by their first bytes, never by what the publisher calls them, and only kinds that
carry no scripts are shown as such.
"""

import base64
import json
from dataclasses import dataclass
from typing import Final

from gossamer.plus.values import read_number

LONGEST_TEXT: Final = 64 * 1024  # shown of one message
LONGEST_JSON: Final = 1024 * 1024
LARGEST_IMAGE: Final = 4 * 1024 * 1024
BINARY_SHOWN: Final = 512
BYTES_A_LINE: Final = 16
LONGEST_NUMBER: Final = 64
NUMBER_STARTS: Final = b" \t\r\n-0123456789"  # most payloads are told by their first byte

IMAGES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


@dataclass(frozen=True)
class Shown:
    """`kind` is empty, number, json, text, image or binary; an image's text is a data URL."""

    kind: str
    text: str


def as_number(payload: bytes) -> float | None:
    """The number that the payload is, as JSON writes numbers."""
    if payload[:1] not in NUMBER_STARTS or not payload or len(payload) > LONGEST_NUMBER:
        return None
    value = read_number(payload)
    return value if value - value == 0.0 else None


def image_type(payload: bytes) -> str:
    """Empty if it is none."""
    for beginning, kind in IMAGES:
        if payload.startswith(beginning):
            return kind
    return "image/webp" if payload[:4] == b"RIFF" and payload[8:12] == b"WEBP" else ""


def show(payload: bytes) -> Shown:
    if not payload:
        return Shown("empty", "")
    if as_number(payload) is not None:
        return Shown("number", payload.decode().strip())
    kind = image_type(payload)
    if kind and len(payload) <= LARGEST_IMAGE:
        return Shown("image", f"data:{kind};base64,{base64.b64encode(payload).decode()}")
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        return Shown("binary", _dump(payload))
    pretty = _pretty(text)
    return Shown("text", _cut(text)) if pretty is None else Shown("json", _cut(pretty))


def preview(payload: bytes, length: int = 60) -> str:
    """One short line."""
    if not payload:
        return "(empty)"
    kind = image_type(payload)
    if kind:
        return f"{kind}, {len(payload):,} bytes"
    try:
        text = " ".join(payload[: 4 * length].decode(errors="strict").split())
    except UnicodeDecodeError:
        return f"{len(payload):,} bytes"
    return text if len(text) <= length else text[: length - 1] + "…"


def _pretty(text: str) -> str | None:
    if len(text) > LONGEST_JSON or not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


def _cut(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}\n… {len(text) - LONGEST_TEXT:,} more characters"


def _dump(payload: bytes) -> str:
    lines = [
        f"{place:04x}  {payload[place : place + BYTES_A_LINE].hex(' ')}"
        for place in range(0, min(len(payload), BINARY_SHOWN), BYTES_A_LINE)
    ]
    if len(payload) > BINARY_SHOWN:
        lines.append(f"… {len(payload) - BINARY_SHOWN:,} more bytes")
    return "\n".join(lines)
