"""What the compiler translates to something other than what the source says, kept out of the core.

mypyc 2.4 gives a local name one type. A second `except … as error` of another class in the same
function then fails on the assignment itself, and the fault that was to be caught goes on upwards.

The fields of a data class are looked up as types when its module is imported, `from __future__
import annotations` or not. A class that is only imported for the type checker may not be there
yet, and the import ends in a segmentation fault.

An attribute that a function has set to None is None to the compiler until that function assigns
it again, whatever functions it calls meanwhile: reading it then is a TypeError.

A slice of bytes whose end is before its start is empty to Python, and a SystemError to compiled
code: where a stranger's numbers say where it begins, they are compared first.

Its `acyclic` classes corrupted memory until their trashcan was taken out (`_freed_at_once` in
`tools/core_units.py`, held by `test_core_build.py`). What the collector does not see, it cannot
free: a cycle through such a class has to be broken by the code, which `tests/leaks` holds.
"""

import ast
import re
from pathlib import Path

import pytest

from tools.compile_core import compiled_sources

TRAP = """
def read(data):
    try:
        parse(data)
    except KeyError as error:
        note(error)
    except Exception as error:
        give_up(error)
"""


def names_with_two_classes(source: str) -> list[str]:
    found = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        classes: dict[str, set[str]] = {}
        for handler in ast.walk(function):
            if isinstance(handler, ast.ExceptHandler) and handler.name and handler.type:
                classes.setdefault(handler.name, set()).add(ast.unparse(handler.type))
        found += [f"{function.name}: {name}" for name, of in classes.items() if len(of) > 1]
    return found


def test_the_trap_is_seen() -> None:
    assert names_with_two_classes(TRAP) == ["read: error"]


@pytest.mark.parametrize("path", compiled_sources(), ids=lambda path: path.stem)
def test_a_caught_exception_has_a_name_of_its_own(path: Path) -> None:
    assert names_with_two_classes(path.read_text()) == []


LATE_FIELD = """
if TYPE_CHECKING:
    from elsewhere import Later


@dataclass(frozen=True)
class Value:
    now: int
    later: "list[Later] | None"
"""


def fields_of_late_types(source: str) -> list[str]:
    tree = ast.parse(source)
    late = {
        alias.asname or alias.name
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for statement in block.body
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for alias in statement.names
    }
    return [
        f"{each.name}.{ast.unparse(field.target)}"
        for each in ast.walk(tree)
        if isinstance(each, ast.ClassDef)
        and any("dataclass" in ast.unparse(decorator) for decorator in each.decorator_list)
        for field in each.body
        if isinstance(field, ast.AnnAssign)
        and late & set(re.findall(r"\w+", ast.unparse(field.annotation)))
    ]


def test_a_field_of_a_late_type_is_seen() -> None:
    assert fields_of_late_types(LATE_FIELD) == ["Value.later"]


@pytest.mark.parametrize("path", compiled_sources(), ids=lambda path: path.stem)
def test_the_types_of_fields_are_there_when_a_module_is_imported(path: Path) -> None:
    assert fields_of_late_types(path.read_text()) == []


STALE_NONE = """
def merge(session, items):
    newer = session.queue
    session.queue = None
    restore(session, items)
    session.queue = [*(session.queue or ()), *newer]
    return session.queue
"""


def attributes_read_after_none(source: str) -> list[str]:
    """By the lines of each function: what is assigned in a branch counts as assigned."""
    found: list[str] = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        steps: list[tuple[int, int, str, bool]] = []  # line, read before written, name, is None
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                steps.append((node.lineno, 0, ast.unparse(node), False))
            elif isinstance(node, ast.Assign):
                is_none = isinstance(node.value, ast.Constant) and node.value.value is None
                last = node.end_lineno or node.lineno
                for target in node.targets:
                    if isinstance(target, ast.Attribute):
                        steps.append((last, 1, ast.unparse(target), is_none))
        none: set[str] = set()
        for _, is_write, name, is_none in sorted(steps):
            if not is_write and name in none:
                found.append(f"{function.name}: {name}")
            elif is_write and is_none:
                none.add(name)
            elif is_write:
                none.discard(name)
    return found


# Assigned in one branch only, with nothing called before it is read.
LEFT_AT_ONCE = {"end_connection: record.will", "_whole_text: self._text"}


def test_the_stale_none_is_seen() -> None:
    assert attributes_read_after_none(STALE_NONE) == ["merge: session.queue"]


@pytest.mark.parametrize("path", compiled_sources(), ids=lambda path: path.stem)
def test_no_attribute_is_read_after_it_was_set_to_none(path: Path) -> None:
    assert set(attributes_read_after_none(path.read_text())) <= LEFT_AT_ONCE
