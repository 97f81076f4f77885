"""Cuts the C that mypyc writes into units that stand alone, so that few of them change by an edit.

mypyc declares everything of all modules in one header, numbers the literals of all modules in one
array and counts temporary names through: an edit of one module changes the C of nearly all. Here
each unit gets only those declarations that it uses, a small array of its own literals, and its own
count of names. Its text then changes only if its module does, or something that it uses; the object
file may be kept under the digest of that text, and cannot be wrong.

What does not look as expected raises: a declaration that is left out is an error of the C compiler,
never another program.
"""

import re
from collections.abc import Iterable
from pathlib import Path

_INCLUDE = re.compile(r"^#include .*$", re.MULTILINE)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
# Declared once in the header of types: a tuple behind a guard, or the struct of a class …
_TYPE = re.compile(
    r"^#ifndef MYPYC_DECLARED_(?P<tuple>\w+)\n.*?^#endif$"
    r"|^typedef struct \{\n.*?^\} (?P<struct>\w+);$",
    re.MULTILINE | re.DOTALL,
)
# … and in the other one: functions, types, globals, a line each.
_EXTERN = re.compile(r"^extern [^(;=\[]*?\b(?P<name>\w+)[\[(;].*$", re.MULTILINE)
_GUARD = re.compile(r"^#(?:ifndef|define) MYPYC_\w+_H$|^#endif$", re.MULTILINE)
_GLOBALS = "int CPyGlobalsInit(void);"

# Each begins with a fixed text: it is searched for twenty times as fast as a choice of two.
_LITERAL = re.compile(r"CPyStatics\[(\d+)\]")
_TEMPORARY = re.compile(r"__(tmp|LL)(\d+)\b")
_INCLUDED = re.compile(r"\n#include .*")
_FILLED = re.compile(r"if \(CPyStatics_Initialize\(.*\) < 0\) \{\n\s*return -1;\n\s*\}\n")
_FREED = re.compile(r"^\w+_dealloc\(\w+ \*self\)\n\{\n.*?^\}$", re.MULTILINE | re.DOTALL)
_TRASHCAN = re.compile(r"^ *CPy_TRASHCAN_(?:BEGIN|END)\(.*\)\n", re.MULTILINE)


class UnexpectedC(Exception):
    """mypyc writes something that is not known here: another version than the pinned one?"""


class Declarations:
    """What the two headers declare, in their order, each piece by its name."""

    def __init__(self, types: str, functions: str) -> None:
        self._pieces: dict[str, str] = {}
        left = self._take(_TYPE, types) + self._take(_EXTERN, functions)
        own = {f'#include "{name}"' for name in re.findall(r"__native\w*\.h", left)}
        found = dict.fromkeys(_INCLUDE.findall(left))
        self.head = "".join(f"{line}\n" for line in found if line not in own)
        for known in (_INCLUDE, _GUARD):
            left = known.sub("", left)
        left = left.replace(_GLOBALS, "").strip()
        if left:
            raise UnexpectedC(f"a header has {left.splitlines()[0]!r}")
        self._uses = {name: self._named_in(piece) - {name} for name, piece in self._pieces.items()}

    def _take(self, pattern: re.Pattern[str], text: str) -> str:
        """Keeps every piece that the pattern finds; what is left of the text."""
        for piece in pattern.finditer(text):
            name = next(name for name in piece.groupdict().values() if name)
            self._pieces[name] = piece.group()
        return pattern.sub("", text)

    def _named_in(self, text: str) -> set[str]:
        return set(_IDENTIFIER.findall(text)) & self._pieces.keys()

    def needed_by(self, text: str) -> str:
        """The pieces that a text names, and those that they name in turn."""
        needed: set[str] = set()
        waiting = self._named_in(text)
        while waiting:
            needed |= waiting
            waiting = set().union(*(self._uses[name] for name in waiting)) - needed
        pieces = [piece for name, piece in self._pieces.items() if name in needed]
        return "\n".join([_GLOBALS, *pieces])


def stand_alone(folder: Path, group: str) -> tuple[str, dict[str, str]]:
    """What all units of a group include, and the units, by name: the group's own has its name."""
    types = (folder / f"__native_{group}.h").read_text()
    functions = (folder / f"__native_internal_{group}.h").read_text()
    declared = Declarations(types, functions)
    units: dict[str, str] = {}
    literals: dict[str, list[int]] = {}
    for path in sorted(folder.glob("__native_*.c")):
        name = path.stem.removeprefix("__native_")
        text = _FREED.sub(_freed_at_once, _INCLUDED.sub("", "\n" + path.read_text()))
        if name != group:
            text, literals[name] = _numbered_alone(name, text)
        units[name] = declared.needed_by(text)
        if name in literals:
            units[name] += f"\nextern PyObject *{_array(name)}[{len(literals[name])}];"
        units[name] += text
    units[group] = _sharing(units[group], literals)
    return declared.head, units


def _freed_at_once(found: re.Match[str]) -> str:
    """The end of an object; without Python's trashcan where the collector does not know the object.

    mypyc writes the trashcan for acyclic classes too. Where more than fifty objects are taken apart
    inside each other, the trashcan puts the next one into a list that is linked through the
    collector's head of the object. An acyclic one has none: the sixteen bytes before it belong to
    something else.
    """
    body = found[0]
    return body if "PyObject_GC_UnTrack(self);" in body else _TRASHCAN.sub("", body)


def _numbered_alone(name: str, text: str) -> tuple[str, list[int]]:
    """The text with literals and temporary names in the order of this unit, and which literals."""
    literals: dict[str, int] = {}
    temporary: dict[str, int] = {}

    def literal(found: re.Match[str]) -> str:
        return f"{_array(name)}[{literals.setdefault(found[1], len(literals))}]"

    def numbered(found: re.Match[str]) -> str:
        before = found.string[found.start() - 1]
        if before.isalnum() or before == "_":
            return found[0]  # the end of a longer name, not one that mypyc counted
        return f"__{found[1]}{temporary.setdefault(found[2], len(temporary))}"

    text = _TEMPORARY.sub(numbered, _LITERAL.sub(literal, text))
    return text, [int(number) for number in literals]


def _sharing(text: str, literals: dict[str, list[int]]) -> str:
    """The unit of the group, filling every unit's array when the literals have been made."""
    filled = _FILLED.findall(text)
    if len(filled) != 1:
        raise UnexpectedC(f"the literals are made in {len(filled)} places")
    used = {name: numbers for name, numbers in literals.items() if numbers}
    arrays = [f"PyObject *{_array(name)}[{len(numbers)}];" for name, numbers in used.items()]
    steps = [
        f"    {_array(name)}[{at}] = CPyStatics[{number}];"
        for name, numbers in used.items()
        for at, number in enumerate(numbers)
    ]
    share = _function("share_literals", arrays, steps)
    start = text.index("int CPyGlobalsInit(void)\n{")
    text = text[:start] + share + text[start:]
    return text.replace(filled[0], f"{filled[0]}    share_literals();\n")


def _array(name: str) -> str:
    return f"CPyLiterals_{name}"


def _function(name: str, before: Iterable[str], body: Iterable[str]) -> str:
    return "\n".join([*before, f"static void {name}(void)", "{", *body, "}", "", ""])
