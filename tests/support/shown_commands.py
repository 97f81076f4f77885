"""The commands that guides show: found in their code blocks, word by word."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Where one command of a shell line ends.
_ENDS = {"&", "&&", "|", ";", ">", ">>", "<", "2>"}


@dataclass(frozen=True)
class Shown:
    """One `gossamer …` with where it is shown."""

    page: Path
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page.name}: {' '.join(self.words)}"


def blocks_of(page: Path) -> list[str]:
    """The texts of fenced shell blocks and of indented ones."""
    text = page.read_text(encoding="utf-8")
    fenced = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    indented = re.findall(r"(?:^    .*\n)+", rest, re.MULTILINE)
    return [*fenced, *indented]


def commands_of(page: Path) -> list[Shown]:
    """Every command line of ours in a page's blocks; placeholders in capitals stay."""
    found = []
    for block in blocks_of(page):
        for line in block.replace("\\\n", " ").splitlines():
            for words in _commands(_words(line)):
                if words[0] == "gossamer" and len(words) > 1:
                    found.append(Shown(page, tuple(words[1:])))
    return found


def _commands(words: list[str]) -> Iterator[list[str]]:
    own: list[str] = []
    for word in [*words, ";"]:
        if word not in _ENDS:
            own.append(word)
        elif own:
            yield own
            own = []


def _words(line: str) -> list[str]:
    line = line.strip().removeprefix("$ ").replace("<(", " ; ").replace(")", " ")
    lexer = shlex.shlex(line, posix=True, punctuation_chars="&|;<>")
    lexer.whitespace_split = True
    lexer.commenters = "#" if not re.search(r"'[^']*#[^']*'", line) else ""
    try:
        words = list(lexer)
    except ValueError:
        return []
    # A comment after a quoted `#`: it begins with a word of its own.
    return words[: words.index("#")] if "#" in words else words
