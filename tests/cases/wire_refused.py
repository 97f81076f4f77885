"""Packets that nobody may send, and why they are refused: the table beside this file."""

from pathlib import Path

from tests.support.packet_bytes import spelled

REFUSED = Path(__file__).with_suffix(".txt")


def refused_cases() -> list[tuple[int, int, bytes, int, str]]:
    """The version, the first byte, the rest, the reason code and words of the complaint."""
    cases = []
    for line in REFUSED.read_text().splitlines():
        if line and not line.startswith("#"):
            version, head, body, reason, text = (cell.strip() for cell in line.split(" | ", 4))
            cases.append((int(version), int(head, 16), spelled(body), int(reason, 16), text))
    return cases
