"""What became of each line of the other broker's configuration."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gossamer.net.config.loading import read_text

UNKNOWN: Final = "unknown here; see docs/configuration.md"


@dataclass(frozen=True)
class ReportLine:
    """One setting as it was written."""

    file: Path
    number: int
    key: str
    value: str

    def place(self) -> str:
        return f"{self.file.name}:{self.number}"


def lines_of(path: Path) -> Iterator[ReportLine]:
    """The settings of a file, without its comments."""
    for number, text in enumerate(read_text(path).splitlines(), 1):
        text = text.strip()
        if text and not text.startswith("#"):
            key, _, value = text.partition(" ")
            yield ReportLine(path, number, key, value.strip())


@dataclass
class MigrationReport:
    """Lines by what happened to them; every line of the source is in exactly one list."""

    taken: list[tuple[ReportLine, str]] = field(default_factory=list)  # with what it became
    needless: list[tuple[ReportLine, str]] = field(
        default_factory=list
    )  # with why it is not needed
    missing: list[tuple[ReportLine, str]] = field(default_factory=list)  # with the way out
    advice: list[str] = field(default_factory=list)  # what differs though the setting is the same

    def is_all_unknown(self) -> bool:
        """Whether there are lines, and none that any Mosquitto would understand."""
        is_said = any(line.number for line, _ in self.taken)  # a listener that nobody wrote has 0
        return (
            bool(self.missing)
            and not (is_said or self.needless)
            and all(way == UNKNOWN for _, way in self.missing)
        )

    def text(self) -> str:
        """For a person to read, what needs a decision first."""
        parts: list[str] = []
        for title, rows in (
            ("No counterpart: decide what to do", self.missing),
            ("Converted", self.taken),
            ("No longer needed", self.needless),
        ):
            if rows:
                parts += [f"{title}:", ""]
                parts += [f"  {line.place()}  {_shown(line)}  -> {text}" for line, text in rows]
                parts.append("")
        if self.advice:
            parts += ["Differences to know about:", "", *(f"  {text}" for text in self.advice), ""]
        return "\n".join(parts)


def _shown(line: ReportLine) -> str:
    secret = "password" in line.key and not line.key.endswith("_file")
    return f"{line.key} {'…' if secret else line.value}".strip()
